// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/telemetry/metrics.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"

enum kind { KIND_COUNTER, KIND_GAUGE, KIND_HISTOGRAM };
static const char *const kind_names[] = {"counter", "gauge", "histogram"};

static const int64_t bounds_us[] = {
    100,    250,    500,     1000,    2500,    5000,     10000,    25000,    50000,    100000,
    250000, 500000, 1000000, 2500000, 5000000, 10000000, 25000000, 50000000, 100000000};
enum { BOUND_COUNT = ARRAY_COUNT(bounds_us) };

struct histogram {
    int64_t count[BOUND_COUNT + 1]; // each bucket by itself; the last is what is past all bounds
    int64_t sum_us;
};

struct family {
    struct list node;
    struct list series; // of struct metric, in the order of making
    char *name, *help;  // owned
    enum kind kind;
};

struct metric {
    struct list node;
    char *labels; // owned
    int64_t value;
    struct histogram *histogram; // owned; NULL but for histograms
};

struct metrics {
    struct list families;
    struct table *family_by_name;
};

struct metrics *metrics_new(void)
{
    struct metrics *m = memory_new(sizeof *m);
    list_init(&m->families);
    m->family_by_name = table_new();
    return m;
}

static void series_free(struct metric *series)
{
    list_remove(&series->node);
    free(series->labels);
    free(series->histogram);
    free(series);
}

static void family_free(struct family *f)
{
    LIST_EACH(node, &f->series)
    series_free(LIST_ENTRY(node, struct metric, node));
    list_remove(&f->node);
    free(f->name);
    free(f->help);
    free(f);
}

void metrics_free(struct metrics *m)
{
    if (m == NULL)
        return;
    LIST_EACH(node, &m->families)
    family_free(LIST_ENTRY(node, struct family, node));
    table_free(m->family_by_name);
    free(m);
}

static struct family *family_get(struct metrics *m, enum kind kind, const char *name,
                                 const char *help)
{
    struct family *f = table_get(m->family_by_name, span_from_string(name));
    if (f != NULL) {
        assert(f->kind == kind);
        return f;
    }
    f = memory_new(sizeof *f);
    f->name = memory_copy_string(name);
    f->help = memory_copy_string(help);
    f->kind = kind;
    list_init(&f->series);
    list_append(&m->families, &f->node);
    table_put(m->family_by_name, span_from_string(name), f);
    return f;
}

static struct metric *series_get(struct metrics *m, enum kind kind, const char *name,
                                 const char *labels, const char *help)
{
    struct family *f = family_get(m, kind, name, help);
    LIST_EACH(node, &f->series)
    {
        struct metric *series = LIST_ENTRY(node, struct metric, node);
        if (strcmp(series->labels, labels) == 0)
            return series;
    }
    struct metric *series = memory_new(sizeof *series);
    series->labels = memory_copy_string(labels);
    if (kind == KIND_HISTOGRAM)
        series->histogram = memory_new(sizeof *series->histogram);
    list_append(&f->series, &series->node);
    return series;
}

struct metric *metric_counter(struct metrics *m, const char *name, const char *labels,
                              const char *help)
{
    return series_get(m, KIND_COUNTER, name, labels, help);
}

struct metric *metric_gauge(struct metrics *m, const char *name, const char *labels,
                            const char *help)
{
    return series_get(m, KIND_GAUGE, name, labels, help);
}

struct metric *metric_histogram(struct metrics *m, const char *name, const char *labels,
                                const char *help)
{
    return series_get(m, KIND_HISTOGRAM, name, labels, help);
}

void metric_add(struct metric *series, int64_t by)
{
    series->value += by;
}

void metric_set(struct metric *series, int64_t value)
{
    series->value = value;
}

int64_t metric_value(const struct metric *series)
{
    return series->value;
}

void metric_observe_us(struct metric *series, int64_t us)
{
    struct histogram *h = series->histogram;
    size_t at = 0;
    assert(h != NULL);
    while (at < BOUND_COUNT && us > bounds_us[at])
        at++;
    h->count[at]++;
    h->sum_us += us > 0 ? us : 0;
    series->value++;
}

enum { SECONDS_SIZE = 48 };

// "0.00025", "2.5", "100": decimal without an exponent or trailing zeros.
static void format_seconds(int64_t us, char out[SECONDS_SIZE])
{
    int64_t fraction = us % 1000000;
    int digits = 6;
    for (; digits > 0 && fraction % 10 == 0; digits--)
        fraction /= 10;
    if (digits == 0)
        snprintf(out, SECONDS_SIZE, "%lld", (long long)(us / 1000000));
    else
        snprintf(out, SECONDS_SIZE, "%lld.%0*lld", (long long)(us / 1000000), digits,
                 (long long)fraction);
}

static int write_bucket(const struct family *f, const struct metric *series, const char *bound,
                        int64_t count, struct buffer *out)
{
    return buffer_printf(out, "%s_bucket{%s%sle=\"%s\"} %lld\n", f->name, series->labels,
                         series->labels[0] != '\0' ? "," : "", bound, (long long)count);
}

static int write_plain(const char *name, const char *suffix, const char *labels, const char *value,
                       struct buffer *out)
{
    const char *open = labels[0] != '\0' ? "{" : "";
    const char *close = labels[0] != '\0' ? "}" : "";
    return buffer_printf(out, "%s%s%s%s%s %s\n", name, suffix, open, labels, close, value);
}

static int write_histogram(const struct family *f, const struct metric *series, struct buffer *out)
{
    const struct histogram *h = series->histogram;
    int64_t count = 0;
    int rc = 0;
    char text[SECONDS_SIZE];
    for (size_t i = 0; i < BOUND_COUNT && rc == 0; i++) {
        count += h->count[i];
        format_seconds(bounds_us[i], text);
        rc = write_bucket(f, series, text, count, out);
    }
    count += h->count[BOUND_COUNT];
    if (rc == 0)
        rc = write_bucket(f, series, "+Inf", count, out);
    format_seconds(h->sum_us, text);
    if (rc == 0)
        rc = write_plain(f->name, "_sum", series->labels, text, out);
    snprintf(text, sizeof text, "%lld", (long long)count);
    return rc != 0 ? rc : write_plain(f->name, "_count", series->labels, text, out);
}

static int write_family(const struct family *f, struct buffer *out)
{
    int rc = buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name,
                           kind_names[f->kind]);
    LIST_EACH(node, &f->series)
    {
        const struct metric *series = LIST_ENTRY(node, struct metric, node);
        char value[24];
        if (rc != 0)
            return rc;
        snprintf(value, sizeof value, "%lld", (long long)series->value);
        rc = f->kind == KIND_HISTOGRAM ? write_histogram(f, series, out)
                                       : write_plain(f->name, "", series->labels, value, out);
    }
    return rc;
}

int metrics_write(const struct metrics *m, struct buffer *out)
{
    LIST_EACH(node, &m->families)
    {
        int rc = write_family(LIST_ENTRY(node, struct family, node), out);
        if (rc != 0)
            return rc;
    }
    return 0;
}
