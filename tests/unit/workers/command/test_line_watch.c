// SPDX-License-Identifier: Apache-2.0
// Lines found in a stream that arrives cut anywhere (G-43).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/memory.h"
#include "workers/command/line_watch.h"

static struct buffer found;

static void on_found(void *ctx, const struct line_found *f)
{
    (void)ctx;
    buffer_printf(&found, "%u@%llu:%.*s;", f->pattern, (unsigned long long)f->offset,
                  (int)(f->line.size < 20 ? f->line.size : 20), f->line.data);
}

static const char *watch_in_pieces(const char *const *patterns, size_t count, struct span text,
                                   size_t piece)
{
    struct span spans[LINE_WATCH_PATTERNS_MAX];
    struct line_watch *w;
    struct failure why;
    for (size_t i = 0; i < count; i++)
        spans[i] = span_from_string(patterns[i]);
    assert_int_equal(line_watch_new(spans, count, &w, &why), 0);
    buffer_fini(&found);
    buffer_init(&found, 1 << 20);
    for (size_t at = 0; at < text.size; at += piece)
        line_watch_feed(w, span_slice(text, at, at + piece), on_found, NULL);
    line_watch_end(w, on_found, NULL);
    line_watch_free(w);
    buffer_append_char(&found, '\0');
    return buffer_span(&found).data;
}

static void the_first_pattern_that_matches_a_line_counts_however_the_stream_is_cut(void **state)
{
    static const char *const patterns[] = {"^error", "rr", "\\bend$"};
    static const char text[] = "fine\nerror: x\nan err\n\nthe end\nhalf an err";
    (void)state;
    for (size_t piece = 1; piece < sizeof text; piece++)
        assert_string_equal(watch_in_pieces(patterns, 3, span_from_string(text), piece),
                            "0@5:error: x;1@14:an err;2@22:the end;1@30:half an err;");
}

static void a_line_without_end_is_let_by_and_what_follows_is_seen(void **state)
{
    static const char *const patterns[] = {"needle"};
    enum { LONG = 3 << 20 };
    (void)state;
    char *text = memory_new(LONG + 64);
    memset(text, 'x', LONG);
    memcpy(text + 100, "needle", 6); // seen: it stands within the beginning
    memcpy(text + LONG, "\nneedle two\n", 12);
    for (size_t piece = 1000; piece < LONG * 2; piece = piece * 7 + 1) {
        const char *told = watch_in_pieces(patterns, 1, span_of(text, LONG + 12), piece);
        assert_string_equal(told, "0@0:xxxxxxxxxxxxxxxxxxxx;0@3145729:needle two;");
    }
    memset(text + 100, 'x', 6);
    memcpy(text + LINE_WATCH_BYTES + 10, "needle", 6); // not looked at
    assert_string_equal(watch_in_pieces(patterns, 1, span_of(text, LONG + 12), 4096),
                        "0@3145729:needle two;");
    free(text);
}

static void a_pattern_that_would_take_for_ever_does_not(void **state)
{
    static const char *const patterns[] = {"(a+)+$", "b"};
    char text[400];
    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 2] = 'b';
    text[sizeof text - 1] = '\n';
    assert_string_equal(watch_in_pieces(patterns, 2, span_of(text, sizeof text), 64),
                        "1@0:aaaaaaaaaaaaaaaaaaaa;");
}

static void a_bad_pattern_is_told_by_its_number(void **state)
{
    const struct span patterns[] = {SPAN_LITERAL("fine"), SPAN_LITERAL("(open")};
    struct line_watch *w;
    struct failure why = {0};
    (void)state;
    assert_int_equal(line_watch_new(patterns, 2, &w, &why), FAULT_INVALID);
    assert_non_null(strstr(why.text, "pattern 1: missing closing parenthesis"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_pattern_that_matches_a_line_counts_however_the_stream_is_cut),
        cmocka_unit_test(a_line_without_end_is_let_by_and_what_follows_is_seen),
        cmocka_unit_test(a_pattern_that_would_take_for_ever_does_not),
        cmocka_unit_test(a_bad_pattern_is_told_by_its_number),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buffer_fini(&found);
    return failed;
}
