// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"

static struct json *parse(const char *text)
{
    struct json *j;
    struct failure why = {0};
    int rc = json_parse(span_from_string(text), NULL, &j, &why);
    if (rc != 0)
        print_error("%s: %s\n", text, why.text);
    assert_int_equal(rc, 0);
    return j;
}

static void assert_refused(struct span text, int fault, const char *said)
{
    struct json *j;
    struct failure why = {0};
    assert_int_equal(json_parse(text, NULL, &j, &why), fault);
    assert_null(j);
    if (strstr(why.text, said) == NULL)
        fail_msg("\"%.*s\": said \"%s\", not \"%s\"", SPAN_ARGS(text), why.text, said);
}

static void every_node_keeps_its_bytes_as_written(void **state)
{
    (void)state;
    struct json *j =
        parse(" {\"id\" : 12345678901234567890.0E+1, \"x\":[1 , {\"y\":\"\\u0000\"}] } ");
    assert_true(span_is(json_raw(j, json_get(j, 0, "id")), "12345678901234567890.0E+1"));
    int x = json_get(j, 0, "x");
    assert_true(span_is(json_raw(j, x), "[1 , {\"y\":\"\\u0000\"}]"));
    assert_int_equal(json_count(j, x), 2);
    int y = json_get(j, json_at(j, x, 1), "y");
    assert_true(span_is(json_raw(j, y), "\"\\u0000\""));
    assert_true(span_is(json_key_raw(j, y), "y"));
    assert_int_equal(json_parent(j, json_parent(j, y)), x);
    json_free(j);
}

static void look_ups_on_what_is_absent_are_absent(void **state)
{
    (void)state;
    struct json *j = parse("[1,{}]");
    int none = json_get(j, json_get(j, json_at(j, 0, 7), "a"), "b");
    assert_int_equal(none, JSON_NONE);
    assert_int_equal(json_type(j, none), JSON_ABSENT);
    assert_int_equal(json_first(j, none), JSON_NONE);
    assert_int_equal(json_next(j, none), JSON_NONE);
    assert_int_equal(json_first(j, 1), JSON_NONE);
    assert_int_equal(json_count(j, 1), 0);
    assert_true(span_is_absent(json_raw(j, none)));
    assert_true(span_is_absent(json_key_raw(j, 1)));
    int64_t n;
    assert_false(json_i64(j, none, &n));
    json_free(j);
}

static void a_key_is_found_however_it_is_spelled_and_the_last_one_wins(void **state)
{
    (void)state;
    struct json *j = parse("{\"name\":1,\"na\\u006de\":2,\"\\ud83d\\ude00\":3,\"\":4}");
    int64_t n = 0;
    assert_true(json_i64(j, json_get(j, 0, "name"), &n));
    assert_int_equal(n, 2);
    assert_true(json_i64(j, json_get(j, 0, "\xf0\x9f\x98\x80"), &n));
    assert_int_equal(n, 3);
    assert_true(json_i64(j, json_get(j, 0, ""), &n));
    assert_int_equal(n, 4);
    assert_int_equal(json_get(j, 0, "nam"), JSON_NONE);
    assert_int_equal(json_object_duplicate(j, 0), json_get(j, 0, "name"));
    json_free(j);
}

static void different_lone_surrogates_are_different_keys(void **state)
{
    (void)state;
    struct json *j = parse("{\"\\ud800\":1,\"\\ud801\":2,\"\\udc00\":3}");
    assert_int_equal(json_object_duplicate(j, 0), JSON_NONE);
    json_free(j);
    j = parse("{\"\\ud800\":1,\"a\":2,\"\\uD800\":3}");
    assert_int_equal(json_object_duplicate(j, 0), json_next(j, json_next(j, json_first(j, 0))));
    json_free(j);
}

static void a_duplicate_is_found_among_a_hundred_thousand_keys(void **state)
{
    (void)state;
    struct buffer b;
    buffer_init(&b, 4 << 20);
    buffer_append_char(&b, '{');
    for (int i = 0; i < 100000; i++)
        buffer_printf(&b, "\"k%d\":0,", i);
    buffer_append_string(&b, "\"k77\":1}");
    struct json *j;
    assert_int_equal(json_parse(buffer_span(&b), NULL, &j, NULL), 0);
    assert_int_equal(json_object_duplicate(j, 0), json_get(j, 0, "k77"));
    json_free(j);
    buffer_fini(&b);
}

static void errors_name_line_column_and_what_was_expected(void **state)
{
    (void)state;
    assert_refused(SPAN_LITERAL(""), FAULT_PARSE, "line 1, column 1: the text ends where a value");
    assert_refused(SPAN_LITERAL("{\n \"a\": tru }"), FAULT_PARSE,
                   "line 2, column 7: expected a value");
    assert_refused(SPAN_LITERAL("[1,\n\n  2 3]"), FAULT_PARSE,
                   "line 3, column 5: expected ',' or ']'");
    assert_refused(SPAN_LITERAL("{\"\xc3\xa4\" 1}"), FAULT_PARSE,
                   "column 6: expected ':', found '1'");
    assert_refused(SPAN_LITERAL("\xef\xbb\xbf{}"), FAULT_PARSE, "found byte 0xef");
}

static void what_rfc_8259_forbids_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "[1,]",      "{\"a\":1,}", "[,1]",
        "{,}",       "{\"a\"}",    "{a:1}",
        "'a'",       "01",         "-",
        "1.",        ".5",         "+1",
        "1e",        "1e+",        "0x1",
        "NaN",       "nul",        "truee",
        "[",         "{",          "]",
        "{}{}",      "1 2",        "\"a",
        "\"\t\"",    "\"\\x\"",    "\"\\u12g4\"",
        "\"\\u12\"", "\"\\",       "[1}",
        "{\"a\":1]", "// c\n1",    "{\"a\":1 \"b\":2}",
        "[1\v]",     "\"\\u",      "--1",
        "-a",        "Infinity",   "[\"a\",\n",
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_refused(span_from_string(bad[i]), FAULT_PARSE, "line ");
    assert_refused(span_of("\0", 1), FAULT_PARSE, "byte 0x00");
    assert_refused(span_of("\"a\0b\"", 5), FAULT_PARSE, "control character");
}

static void bytes_that_are_not_utf8_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",
        "\xc0\xaf",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xc3",
        "\xe2\x82",
        "\xf0\x9f\x98",
        "aaaaaaaaaaaa\xfe",
        "\xe2\x28\xa1",
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        char text[40];
        snprintf(text, sizeof text, "[\"%s\"]", bad[i]);
        assert_refused(span_from_string(text), FAULT_PARSE, "not UTF-8");
    }
    json_free(parse("\"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f"
                    "\xbf\xbf\""));
}

static void limits_hold_for_bytes_values_and_depth(void **state)
{
    (void)state;
    struct json *j;
    struct json_limits tight = {.bytes = 12, .tokens = 4, .depth = 2};
    assert_int_equal(json_parse(SPAN_LITERAL("[1,2,3]"), &tight, &j, NULL), 0);
    json_free(j);
    assert_int_equal(json_parse(SPAN_LITERAL("[1,2,3,4]"), &tight, &j, NULL), FAULT_TOO_LARGE);
    assert_int_equal(json_parse(SPAN_LITERAL("[[]]"), &tight, &j, NULL), 0);
    json_free(j);
    assert_int_equal(json_parse(SPAN_LITERAL("[[[]]]"), &tight, &j, NULL), FAULT_TOO_LARGE);
    assert_int_equal(json_parse(SPAN_LITERAL("            1"), &tight, &j, NULL), FAULT_TOO_LARGE);
}

static void a_million_open_brackets_use_no_stack(void **state)
{
    (void)state;
    size_t depth = 1000000;
    char *text = memory_new(2 * depth);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    struct json *j;
    struct json_limits wide = {.bytes = 4U << 20, .tokens = 2U << 20, .depth = 2U << 20};
    assert_refused(span_of(text, 2 * depth), FAULT_TOO_LARGE, "column 513");
    assert_int_equal(json_parse(span_of(text, 2 * depth), &wide, &j, NULL), 0);
    assert_int_equal(json_raw(j, (int)depth - 1).size, 2);
    json_free(j);
    free(text);
}

static void integers_are_exact_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool fits;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"5.0", true, 5},
        {"5e0", true, 5},
        {"1.5e1", true, 15},
        {"1.5", false, 0},
        {"100e-2", true, 1},
        {"1e-1", false, 0},
        {"0e99999999999999999999", true, 0},
        {"1e99999999999999999999", false, 0},
        {"0.000e-5", true, 0},
        {"12300.00e-2", true, 123},
        {"-1e3", true, -1000},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"922337203685477580.7e1", true, INT64_MAX},
        {"1e19", false, 0},
        {"10000000000000000000000e-22", true, 1},
        {"1e-99999999999999999999", false, 0},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct json *j = parse(rows[i].text);
        int64_t value = 77;
        if (json_i64(j, 0, &value) != rows[i].fits || value != (rows[i].fits ? rows[i].value : 77))
            fail_msg("%s gave %lld", rows[i].text, (long long)value);
        json_free(j);
    }
}

static void doubles_are_finite(void **state)
{
    (void)state;
    double value = 0;
    struct json *j =
        parse("[1e999, 0.1, -2.5e-3, "
              "1.00000000000000000000000000000000000000000000000000000000000000000001]");
    assert_false(json_double(j, json_at(j, 0, 0), &value));
    assert_true(json_double(j, json_at(j, 0, 1), &value) && value == 0.1);
    assert_true(json_double(j, json_at(j, 0, 2), &value) && value == -2.5e-3);
    assert_true(json_double(j, json_at(j, 0, 3), &value) && value == 1.0);
    json_free(j);
}

static void strings_are_unescaped(void **state)
{
    (void)state;
    struct json *j =
        parse("[\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00\", \"\\ud800x\\udc00\","
              "\"\\u0000\", \"plain\"]");
    struct buffer b;
    struct span plain;
    buffer_init(&b, 1000);
    assert_true(json_string(j, json_at(j, 0, 0), &b));
    assert_true(span_is(buffer_span(&b), "a\"\\/\b\f\n\r\t\xc3\xa4\xf0\x9f\x98\x80"));
    buffer_clear(&b);
    assert_true(json_string(j, json_at(j, 0, 1), &b));
    assert_true(span_is(buffer_span(&b), "\xef\xbf\xbdx\xef\xbf\xbd"));
    buffer_clear(&b);
    assert_true(json_string(j, json_at(j, 0, 2), &b));
    assert_true(span_equals(buffer_span(&b), span_of("\0", 1)));
    assert_false(json_string_plain(j, json_at(j, 0, 0), &plain));
    assert_true(json_string_plain(j, json_at(j, 0, 3), &plain) && span_is(plain, "plain"));
    assert_true(json_string_is(j, json_at(j, 0, 3), "plain"));
    assert_false(json_string_is(j, json_at(j, 0, 3), "plai"));
    struct arena *arena = arena_new(4096);
    assert_true(json_string_arena(j, json_at(j, 0, 2), arena, &plain) && plain.size == 1);
    arena_free(arena);
    buffer_fini(&b);
    json_free(j);
}

static void a_pointer_leads_to_the_node(void **state)
{
    (void)state;
    struct json *j = parse("{\"a/b\":[0,{\"~\":true}]}");
    struct buffer b;
    buffer_init(&b, 1000);
    int node = json_get(j, json_at(j, json_get(j, 0, "a/b"), 1), "~");
    assert_int_equal(json_pointer(j, node, &b), 0);
    assert_true(span_is(buffer_span(&b), "/a~1b/1/~0"));
    buffer_clear(&b);
    assert_int_equal(json_pointer(j, 0, &b), 0);
    assert_int_equal(buffer_size(&b), 0);
    buffer_fini(&b);
    json_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_keeps_its_bytes_as_written),
        cmocka_unit_test(look_ups_on_what_is_absent_are_absent),
        cmocka_unit_test(a_key_is_found_however_it_is_spelled_and_the_last_one_wins),
        cmocka_unit_test(different_lone_surrogates_are_different_keys),
        cmocka_unit_test(a_duplicate_is_found_among_a_hundred_thousand_keys),
        cmocka_unit_test(errors_name_line_column_and_what_was_expected),
        cmocka_unit_test(what_rfc_8259_forbids_is_refused),
        cmocka_unit_test(bytes_that_are_not_utf8_are_refused),
        cmocka_unit_test(limits_hold_for_bytes_values_and_depth),
        cmocka_unit_test(a_million_open_brackets_use_no_stack),
        cmocka_unit_test(integers_are_exact_or_refused),
        cmocka_unit_test(doubles_are_finite),
        cmocka_unit_test(strings_are_unescaped),
        cmocka_unit_test(a_pointer_leads_to_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
