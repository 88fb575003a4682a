// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "workers/command/output.h"

static void check(const struct output *o, const char *expected)
{
    struct buffer text;
    buffer_init(&text, 4096);
    assert_int_equal(output_write(o, &text), 0);
    assert_int_equal(buffer_size(&text), strlen(expected));
    assert_memory_equal(buffer_span(&text).data, expected, strlen(expected));
    buffer_fini(&text);
}

static void output_within_the_limit_is_kept_whole(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= 10; piece++) {
        struct output o;
        output_init(&o, 10);
        for (size_t at = 0; at < 10; at += piece)
            output_add(&o, span_slice(SPAN_LITERAL("0123456789"), at, at + piece));
        assert_false(output_is_cut(&o));
        check(&o, "0123456789");
        output_fini(&o);
    }
}

static void beginning_and_end_are_kept_and_the_cut_is_counted(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= 26; piece++) {
        struct output o;
        output_init(&o, 10);
        for (size_t at = 0; at < 26; at += piece)
            output_add(&o, span_slice(SPAN_LITERAL("abcdefghijklmnopqrstuvwxyz"), at, at + piece));
        assert_true(output_is_cut(&o));
        check(&o, "abcde\n[... 16 of 26 bytes of output left out here ...]\nvwxyz");
        output_fini(&o);
    }
}

static void characters_are_not_torn_by_the_cut(void **state)
{
    (void)state;
    struct output o;
    output_init(&o, 10);
    output_add(&o, SPAN_LITERAL("ab\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"));
    check(&o, "ab\xe2\x82\xac\n[... 9 of 17 bytes of output left out here ...]\n\xe2\x82\xac");
    output_fini(&o);
    output_init(&o, 8);
    output_add(&o, SPAN_LITERAL("abc\xc3\xa9xxxx\xc3\xa9zyx"));
    check(&o, "abc\n[... 8 of 14 bytes of output left out here ...]\nzyx");
    output_fini(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_within_the_limit_is_kept_whole),
        cmocka_unit_test(beginning_and_end_are_kept_and_the_cut_is_counted),
        cmocka_unit_test(characters_are_not_torn_by_the_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
