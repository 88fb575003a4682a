// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/telemetry/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *text_of(const struct metrics *m, struct buffer *out)
{
    buffer_clear(out);
    assert_int_equal(metrics_write(m, out), 0);
    assert_int_equal(buffer_append_char(out, '\0'), 0);
    return buffer_span(out).data;
}

static void series_of_one_name_stand_under_one_head(void **state)
{
    (void)state;
    struct buffer out;
    buffer_init(&out, 1 << 20);
    struct metrics *m = metrics_new();
    metric_add(metric_counter(m, "requests_total", "route=\"mcp\"", "Requests."), 2);
    metric_set(metric_gauge(m, "live", "", "Live ones."), -3);
    metric_add(metric_counter(m, "requests_total", "route=\"v1\"", "Requests."), 1);
    metric_add(metric_counter(m, "requests_total", "route=\"mcp\"", "Requests."), 5);
    assert_string_equal(text_of(m, &out), "# HELP requests_total Requests.\n"
                                          "# TYPE requests_total counter\n"
                                          "requests_total{route=\"mcp\"} 7\n"
                                          "requests_total{route=\"v1\"} 1\n"
                                          "# HELP live Live ones.\n"
                                          "# TYPE live gauge\n"
                                          "live -3\n");
    metrics_free(m);
    buffer_fini(&out);
}

static void a_histogram_counts_each_observation_in_all_wider_buckets(void **state)
{
    (void)state;
    struct buffer out;
    buffer_init(&out, 1 << 20);
    struct metrics *m = metrics_new();
    struct metric *h = metric_histogram(m, "d_seconds", "kind=\"warm\"", "How long.");
    metric_observe_us(h, 100);
    metric_observe_us(h, 2400000);
    metric_observe_us(h, 200000000);
    const char *text = text_of(m, &out);
    assert_non_null(strstr(text, "d_seconds_bucket{kind=\"warm\",le=\"0.0001\"} 1\n"));
    assert_non_null(strstr(text, "d_seconds_bucket{kind=\"warm\",le=\"1\"} 1\n"));
    assert_non_null(strstr(text, "d_seconds_bucket{kind=\"warm\",le=\"2.5\"} 2\n"));
    assert_non_null(strstr(text, "d_seconds_bucket{kind=\"warm\",le=\"100\"} 2\n"));
    assert_non_null(strstr(text, "d_seconds_bucket{kind=\"warm\",le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(text, "d_seconds_sum{kind=\"warm\"} 202.4001\n"));
    assert_non_null(strstr(text, "d_seconds_count{kind=\"warm\"} 3\n"));
    assert_int_equal(metric_value(h), 3);
    metrics_free(m);
    buffer_fini(&out);
}

static void output_past_the_buffers_limit_is_told(void **state)
{
    (void)state;
    struct buffer out;
    buffer_init(&out, 64);
    struct metrics *m = metrics_new();
    metric_histogram(m, "d_seconds", "", "How long.");
    assert_int_equal(metrics_write(m, &out), FAULT_TOO_LARGE);
    metrics_free(m);
    buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_of_one_name_stand_under_one_head),
        cmocka_unit_test(a_histogram_counts_each_observation_in_all_wider_buckets),
        cmocka_unit_test(output_past_the_buffers_limit_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
