// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/mcp/header_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_decodes(const char *value, const char *expected)
{
    struct arena *arena = arena_new(4096);
    struct span out = SPAN_NONE;
    int fault = mcp_header_decode(span_from_string(value), arena, &out, NULL);
    assert_int_equal(fault, expected != NULL ? 0 : FAULT_INVALID);
    if (expected != NULL)
        assert_true(span_is(out, expected));
    arena_free(arena);
}

static void literals_stay_as_they_are(void **state)
{
    (void)state;
    assert_decodes("  run\t ", "run");
    assert_decodes("a b\tc", "a b\tc");
    assert_decodes("=?base64?", "=?base64?");
    assert_decodes("=?BASE64?cnVu?=", "=?BASE64?cnVu?=");
    assert_decodes("cnVu", "cnVu");
    assert_decodes("a\x01z", NULL);
    assert_decodes("r\xc3\xbcn", NULL);
}

static void marked_values_are_base64_of_utf8(void **state)
{
    (void)state;
    assert_decodes("=?base64?cnVu?=", "run");
    assert_decodes("=?base64?csO8bg==?=", "r\xc3\xbcn");
    assert_decodes("=?base64?"
                   "?=",
                   "");
    assert_decodes("=?base64?csO8bg?=", NULL);
    assert_decodes("=?base64?csO8bg=?=", NULL);
    assert_decodes("=?base64?cn Vu?=", NULL);
    assert_decodes("=?base64?cn-_?=", NULL);
    assert_decodes("=?base64?/w==?=", NULL); // 0xff is no UTF-8
}

static void what_is_encoded_decodes_to_the_same(void **state)
{
    (void)state;
    static const char *const values[] = {
        "run", "", " edge", "r\xc3\xbcn", "=?base64?x?=", "a\nb", "\t", "a b", "\x7f"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct buffer out;
        buffer_init(&out, 256);
        assert_int_equal(mcp_header_encode(span_from_string(values[i]), &out), 0);
        struct arena *arena = arena_new(4096);
        struct span back = SPAN_NONE;
        assert_int_equal(mcp_header_decode(buffer_span(&out), arena, &back, NULL), 0);
        assert_true(span_is(back, values[i]));
        arena_free(arena);
        buffer_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_stay_as_they_are),
        cmocka_unit_test(marked_values_are_base64_of_utf8),
        cmocka_unit_test(what_is_encoded_decodes_to_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
