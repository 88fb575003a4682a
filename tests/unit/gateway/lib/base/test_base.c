// SPDX-License-Identifier: Apache-2.0
// The small files of base: span, buffer, arena, encode, failure, clock.
#include "gateway/lib/base/buffer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/random.h"

static void a_buffer_keeps_its_content_when_an_append_does_not_fit(void **state)
{
    (void)state;
    struct buffer b;
    buffer_init(&b, 10);
    assert_int_equal(buffer_append_string(&b, "12345678"), 0);
    assert_int_equal(buffer_append_string(&b, "abc"), FAULT_TOO_LARGE);
    assert_true(span_is(buffer_span(&b), "12345678"));
    buffer_consume(&b, 5);
    assert_int_equal(buffer_append_string(&b, "abcdefg"), 0);
    assert_true(span_is(buffer_span(&b), "678abcdefg"));
    assert_int_equal(buffer_append_char(&b, 'x'), FAULT_TOO_LARGE);
    buffer_fini(&b);
}

static void a_buffer_is_a_queue_in_bounded_memory(void **state)
{
    (void)state;
    struct buffer b;
    buffer_init(&b, 4096);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(buffer_append_string(&b, "seventeen bytes.."), 0);
        assert_memory_equal(buffer_span(&b).data, "seventeen", 9);
        buffer_consume(&b, 17);
    }
    assert_true(b.capacity <= 4096);
    buffer_fini(&b);
}

static void an_arena_says_no_past_its_limit(void **state)
{
    (void)state;
    struct arena *a = arena_new(100000);
    for (int i = 0; i < 9; i++)
        assert_non_null(arena_try_alloc(a, 10000));
    assert_null(arena_try_alloc(a, 20000));
    struct span copy = arena_copy(a, SPAN_LITERAL("text"));
    assert_string_equal(copy.data, "text");
    assert_string_equal(arena_printf(a, "%d-%s", 7, "x"), "7-x");
    arena_free(a);
}

static void encodings_round_trip_and_refuse_second_spellings(void **state)
{
    (void)state;
    unsigned char bytes[64], back[64];
    for (size_t size = 0; size < sizeof bytes; size++) {
        char text[130];
        size_t got = 0;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)(i * 37 + size);
        size_t length = base64url_encode(span_of(bytes, size), text);
        assert_int_equal(length, base64url_size(size));
        assert_true(base64url_decode(span_of(text, length), back, &got));
        assert_int_equal(got, size);
        assert_memory_equal(bytes, back, size);
        length = base64_encode(span_of(bytes, size), text);
        assert_int_equal(length, base64_size(size));
        assert_true(base64_decode(span_of(text, length), back, &got));
        assert_memory_equal(bytes, back, size);
        hex_encode(span_of(bytes, size), text);
        assert_true(hex_decode(span_of(text, size * 2), back, size));
        assert_memory_equal(bytes, back, size);
    }
    size_t got;
    assert_false(base64url_decode(SPAN_LITERAL("QR"), back, &got)); // stray bits
    assert_false(base64url_decode(SPAN_LITERAL("QQ=="), back, &got));
    assert_false(base64url_decode(SPAN_LITERAL("Q"), back, &got));
    assert_false(base64_decode(SPAN_LITERAL("QQ"), back, &got));
    assert_false(hex_decode(SPAN_LITERAL("0g"), back, 1));
}

static void queries_and_percent_signs_are_read_as_they_were_sent(void **state)
{
    (void)state;
    char text[64];
    size_t size = 0;
    percent_encode(SPAN_LITERAL("a b/\xc3\xbc~%"), text);
    assert_string_equal(text, "a%20b%2F%C3%BC~%25");
    assert_true(percent_decode(span_from_string(text), text, &size)); // in place
    assert_true(span_is(span_of(text, size), "a b/\xc3\xbc~%"));
    assert_true(percent_decode(SPAN_LITERAL("a+b"), text, &size));
    assert_true(span_is(span_of(text, size), "a+b"));
    assert_false(percent_decode(SPAN_LITERAL("100%"), text, &size));
    assert_false(percent_decode(SPAN_LITERAL("%4"), text, &size));
    assert_false(percent_decode(SPAN_LITERAL("%g0"), text, &size));

    struct span query = SPAN_LITERAL("path=1&xpath=2&path=3=4&path&pathx=5");
    assert_true(span_is(query_value(query, "path"), "3=4"));
    assert_true(span_is_absent(query_value(query, "pat")));
    assert_true(span_is_absent(query_value(SPAN_NONE, "path")));
    assert_int_equal(query_value(SPAN_LITERAL("path="), "path").size, 0);
}

static void a_failure_tells_the_place_and_keeps_the_cause(void **state)
{
    (void)state;
    struct failure why;
    errno = ENOENT;
    assert_int_equal(failure_errno(&why, "open %s", "/x"), FAULT_NOT_FOUND);
    assert_int_equal(failure_prefix(&why, "mount %s", "root"), FAULT_NOT_FOUND);
    assert_string_equal(why.text, "mount root: open /x: No such file or directory");
    assert_string_equal(fault_name(why.fault), "NOT_FOUND");
    assert_int_equal(fault_http_status(FAULT_QUOTA), 429);
    assert_true(fault_is_retryable(FAULT_UNAVAILABLE));
}

static void spans_split_trim_and_count(void **state)
{
    (void)state;
    struct span rest = SPAN_LITERAL("a,,b");
    assert_true(span_is(span_split(&rest, ','), "a"));
    assert_true(span_is(span_split(&rest, ','), ""));
    assert_true(span_is(span_split(&rest, ','), "b"));
    assert_true(span_is_absent(rest));
    assert_true(span_is(span_trim(SPAN_LITERAL(" \t x y\t")), "x y"));
    uint64_t n = 5;
    assert_true(span_to_u64(SPAN_LITERAL("18446744073709551615"), &n));
    assert_true(n == UINT64_MAX);
    assert_false(span_to_u64(SPAN_LITERAL("18446744073709551616"), &n));
    assert_false(span_to_u64(SPAN_LITERAL("-1"), &n));
    assert_true(span_equals_nocase(SPAN_LITERAL("Mcp-Session-ID"), SPAN_LITERAL("mcp-session-id")));
}

static void wall_time_is_written_in_utc(void **state)
{
    (void)state;
    char text[CLOCK_TEXT_SIZE];
    clock_format_wall(1764544205123, text);
    assert_string_equal(text, "2025-11-30T23:10:05.123Z");
}

static void ids_of_a_series_differ_and_two_series_have_nothing_in_common(void **state)
{
    (void)state;
    struct id_series a = {0}, b = {0};
    char first[ID_SIZE], next[ID_SIZE], other[ID_SIZE];
    id_next(&a, first);
    id_next(&b, other);
    assert_memory_not_equal(first, other, 16);
    for (int i = 0; i < 1000; i++) {
        id_next(&a, next);
        assert_int_equal(strlen(next), ID_SIZE - 1);
        assert_true(strcmp(first, next) < 0); // counted upwards
        memcpy(first, next, sizeof first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_keeps_its_content_when_an_append_does_not_fit),
        cmocka_unit_test(a_buffer_is_a_queue_in_bounded_memory),
        cmocka_unit_test(an_arena_says_no_past_its_limit),
        cmocka_unit_test(encodings_round_trip_and_refuse_second_spellings),
        cmocka_unit_test(queries_and_percent_signs_are_read_as_they_were_sent),
        cmocka_unit_test(a_failure_tells_the_place_and_keeps_the_cause),
        cmocka_unit_test(spans_split_trim_and_count),
        cmocka_unit_test(wall_time_is_written_in_utc),
        cmocka_unit_test(ids_of_a_series_differ_and_two_series_have_nothing_in_common),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
