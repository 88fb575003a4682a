// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/telemetry/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/lib/base/failure.h"

static char text[16384];

static const char *written(int fd)
{
    ssize_t size = pread(fd, text, sizeof text - 1, 0);
    assert_true(size >= 0);
    text[size] = '\0';
    return text;
}

static int log_to_memory(void)
{
    int fd = memfd_create("log", MFD_CLOEXEC);
    assert_true(fd >= 0);
    log_open("test", LOG_INFO, fd);
    return fd;
}

static void a_line_carries_time_level_event_and_fields(void **state)
{
    (void)state;
    int fd = log_to_memory();
    struct failure why;
    failure_set(&why, FAULT_IO, "open: no");
    LOG(LOG_WARN, "a.b", LOG_STRING("s", "x\"y\\\n\x1b"), LOG_I64("n", INT64_MIN),
        LOG_BOOL("yes", true), LOG_SPAN("none", SPAN_NONE), LOG_FAILURE(&why));
    const char *line = written(fd);
    assert_memory_equal(line, "{\"time\":\"2", 10);
    assert_string_equal(strstr(line, ",\"level\""),
                        ",\"level\":\"warn\",\"program\":\"test\",\"event\":\"a.b\","
                        "\"s\":\"x\\\"y\\\\\\n\\u001b\",\"n\":-9223372036854775808,\"yes\":true,"
                        "\"none\":null,\"fault\":\"IO\",\"error\":\"open: no\"}\n");
    close(fd);
}

static void levels_below_the_least_are_not_written(void **state)
{
    (void)state;
    int fd = log_to_memory();
    LOG(LOG_DEBUG, "quiet");
    assert_string_equal(written(fd), "");
    assert_false(log_is_on(LOG_DEBUG));
    LOG(LOG_INFO, "loud");
    assert_non_null(strstr(written(fd), "\"event\":\"loud\"}\n"));
    close(fd);
}

static void bad_utf8_becomes_replacement_characters(void **state)
{
    (void)state;
    int fd = log_to_memory();
    LOG(LOG_INFO, "e", LOG_STRING("s", "\xff\xc3\xa4\xed\xa0\x80\xe2\x82"));
    assert_non_null(strstr(written(fd), "\"s\":\"\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd"
                                        "\xef\xbf\xbd\xef\xbf\xbd\"}"));
    close(fd);
}

static void a_line_is_bounded_and_still_ends_as_json(void **state)
{
    (void)state;
    int fd = log_to_memory();
    char *big = malloc(100000);
    memset(big, '\x01', 100000);
    struct span s = span_of(big, 100000);
    LOG(LOG_INFO, "e", LOG_SPAN("a", s), LOG_SPAN("b", s), LOG_STRING("c", "d"));
    const char *line = written(fd);
    assert_true(strlen(line) <= 4096);
    assert_non_null(strstr(line, "\",\"cut\":true}\n"));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    free(big);
    close(fd);
}

static void a_full_pipe_drops_lines_and_tells_how_many(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    log_open("test", LOG_INFO, fds[1]);
    for (int i = 0; i < 4000; i++)
        LOG(LOG_INFO, "filling");
    while (read(fds[0], text, sizeof text) > 0)
        continue;
    LOG(LOG_INFO, "after");
    ssize_t size = read(fds[0], text, sizeof text - 1);
    assert_true(size > 0);
    text[size] = '\0';
    assert_non_null(strstr(text, "\"event\":\"after\",\"dropped\":"));
    close(fds[0]);
    close(fds[1]);
}

static void a_reader_that_does_not_read_holds_nobody_up_and_learns_what_it_missed(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    log_open("test", LOG_INFO, fds[1]);
    alarm(20); // a write that blocks would last for ever
    for (int i = 0; i < 5000; i++)
        LOG(LOG_INFO, "flood", LOG_I64("n", i));
    alarm(0);
    size_t lines = 0;
    ssize_t size = read(fds[0], text, sizeof text - 1);
    for (ssize_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    assert_true(lines > 10 && text[0] == '{');
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    while (read(fds[0], text, sizeof text - 1) > 0)
        continue;
    LOG(LOG_INFO, "after");
    size = read(fds[0], text, sizeof text - 1);
    assert_true(size > 0);
    text[size] = '\0';
    assert_non_null(strstr(text, "\"event\":\"after\",\"dropped\":"));
    close(fds[0]);
    close(fds[1]);
}

static void a_budget_of_lines_counts_what_it_leaves_out(void **state)
{
    (void)state;
    struct log_budget b = {0};
    int64_t not_logged = -1, left_out = 0;
    for (int i = 0; i < 10; i++)
        left_out += !log_budget_take(&b, 5000 + i, 3, &not_logged);
    assert_int_equal(left_out, 7);
    assert_int_equal(not_logged, 0);
    assert_true(log_budget_take(&b, 6000, 3, &not_logged)); // the next second
    assert_int_equal(not_logged, 7);
    assert_true(log_budget_take(&b, 6001, 3, &not_logged));
    assert_int_equal(not_logged, 0); // told once
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_carries_time_level_event_and_fields),
        cmocka_unit_test(levels_below_the_least_are_not_written),
        cmocka_unit_test(bad_utf8_becomes_replacement_characters),
        cmocka_unit_test(a_line_is_bounded_and_still_ends_as_json),
        cmocka_unit_test(a_full_pipe_drops_lines_and_tells_how_many),
        cmocka_unit_test(a_budget_of_lines_counts_what_it_leaves_out),
        cmocka_unit_test(a_reader_that_does_not_read_holds_nobody_up_and_learns_what_it_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
