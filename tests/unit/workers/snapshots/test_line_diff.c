// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "workers/snapshots/line_diff.h"

static void shows(const char *before, const char *after, const char *expected)
{
    struct buffer out;
    buffer_init(&out, 1 << 20);
    assert_int_equal(line_diff(span_from_string(before), span_from_string(after), &out), 0);
    buffer_append_char(&out, '\0');
    assert_string_equal(buffer_span(&out).data, expected);
    buffer_fini(&out);
}

static void hunks_are_those_of_diff_u(void **state)
{
    (void)state;
    shows("", "", "");
    shows("a\nb\n", "a\nb\n", "");
    shows("", "a\n", "@@ -0,0 +1,1 @@\n+a\n");
    shows("a\n", "", "@@ -1,1 +0,0 @@\n-a\n");
    shows("a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nc\nd\nX\nf\ng\nh\n",
          "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n");
    shows("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n",
          "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -9,4 +10,3 @@\n 9\n 10\n 11\n-12\n");
}

static void a_missing_line_end_is_told(void **state)
{
    (void)state;
    shows("a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
    shows("a", "a\nb",
          "@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n"
          "\\ No newline at end of file\n");
}

// Applies the hunks to `before`: what comes out must be `after`.
static void apply(struct span before, struct span diff, struct buffer *out)
{
    size_t at = 0; // lines of before that are done
    while (diff.size > 0) {
        struct span line = span_split(&diff, '\n');
        unsigned long first, count;
        if (sscanf(line.data, "@@ -%lu,%lu", &first, &count) == 2) {
            for (size_t wanted = count > 0 ? first - 1 : first; at < wanted; at++) {
                struct span kept = span_split(&before, '\n');
                buffer_append(out, kept);
                buffer_append_char(out, '\n');
            }
        } else if (line.size > 0 && (line.data[0] == ' ' || line.data[0] == '-')) {
            struct span old = span_split(&before, '\n');
            assert_true(span_equals(old, span_slice(line, 1, line.size)));
            at++;
            if (line.data[0] == ' ') {
                buffer_append(out, old);
                buffer_append_char(out, '\n');
            }
        } else if (line.size > 0 && line.data[0] == '+') {
            buffer_append(out, span_slice(line, 1, line.size));
            buffer_append_char(out, '\n');
        }
    }
    if (!span_is_absent(before))
        buffer_append(out, before);
}

static void random_text(unsigned *seed, size_t lines, unsigned kinds, struct buffer *out)
{
    buffer_init(out, 1 << 20);
    for (size_t i = 0; i < lines; i++) {
        *seed = *seed * 1103515245 + 12345;
        buffer_printf(out, "%u\n", (*seed >> 16) % kinds);
    }
}

static void every_diff_leads_from_one_text_to_the_other(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (unsigned round = 0; round < 600; round++) {
        struct buffer before, after, diff, result;
        size_t lines = round % 50 == 0 ? 3000 : round % 40;
        random_text(&seed, lines, 2 + round % 9, &before);
        random_text(&seed, (lines * 3 + round) % 3500, 2 + round % 7, &after);
        buffer_init(&diff, 1 << 20);
        buffer_init(&result, 1 << 20);
        assert_int_equal(line_diff(buffer_span(&before), buffer_span(&after), &diff), 0);
        apply(buffer_span(&before), buffer_span(&diff), &result);
        assert_true(span_equals(buffer_span(&result), buffer_span(&after)));
        buffer_fini(&before);
        buffer_fini(&after);
        buffer_fini(&diff);
        buffer_fini(&result);
    }
}

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    struct buffer out;
    buffer_init(&out, 64);
    static char large[8192];
    memset(large, '\n', sizeof large - 1);
    assert_int_equal(line_diff(SPAN_LITERAL(""), span_of(large, 8000), &out), FAULT_TOO_LARGE);
    buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hunks_are_those_of_diff_u),
        cmocka_unit_test(a_missing_line_end_is_told),
        cmocka_unit_test(every_diff_leads_from_one_text_to_the_other),
        cmocka_unit_test(what_does_not_fit_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
