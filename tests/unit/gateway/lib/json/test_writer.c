// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/json/writer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
    struct buffer out;
    struct json_writer w;
};

static void start(struct fixture *f, size_t limit)
{
    buffer_init(&f->out, limit);
    json_writer_init(&f->w, &f->out);
}

static void assert_written(struct fixture *f, const char *wanted)
{
    assert_int_equal(json_writer_finish(&f->w), 0);
    buffer_append_char(&f->out, '\0');
    assert_string_equal(buffer_span(&f->out).data, wanted);
    buffer_fini(&f->out);
}

static void commas_stand_where_they_belong(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, 1000);
    json_object_open(&f.w);
    json_write_member_i64(&f.w, "a", INT64_MIN);
    json_write_key(&f.w, "b");
    json_array_open(&f.w);
    json_object_open(&f.w);
    json_object_close(&f.w);
    json_write_u64(&f.w, UINT64_MAX);
    json_write_null(&f.w);
    json_write_raw(&f.w, SPAN_LITERAL("[1 ]"));
    json_array_close(&f.w);
    json_write_member_string(&f.w, "left out", NULL);
    json_write_member_bool(&f.w, "c", true);
    json_object_close(&f.w);
    assert_written(
        &f, "{\"a\":-9223372036854775808,\"b\":[{},18446744073709551615,null,[1 ]],\"c\":true}");
}

static void any_bytes_become_a_valid_string(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, 1000);
    json_array_open(&f.w);
    json_write_string(&f.w, span_of("\"\\/\b\f\n\r\t\0\x1f\x7f", 11));
    json_write_string(&f.w, SPAN_LITERAL("\xc3\xa4\xe2\x82\xac"));
    // Maximal bad parts: a cut off euro sign, a lone byte, a surrogate's three bytes.
    json_write_string(&f.w, SPAN_LITERAL("\xe2\x82x\xff\xed\xa0\x80"));
    json_write_string(&f.w, SPAN_LITERAL("cut \xf0\x9f\x98"));
    json_array_close(&f.w);
    assert_written(&f, "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\",\"\xc3\xa4\xe2\x82\xac\","
                       "\"\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\","
                       "\"cut \xef\xbf\xbd\"]");
}

static void text_may_come_in_pieces_cut_anywhere(void **state)
{
    (void)state;
    struct span text = SPAN_LITERAL("a\n\xe2\x82\xac\"\xf0\x9f\x98\x80z");
    for (size_t cut = 0; cut <= text.size; cut++) {
        struct buffer out;
        size_t used, more;
        buffer_init(&out, 1000);
        assert_int_equal(json_escape_some(&out, span_slice(text, 0, cut), &used), 0);
        assert_true(cut - used <= 3);
        assert_int_equal(json_escape_some(&out, span_slice(text, used, text.size), &more), 0);
        assert_int_equal(used + more, text.size);
        assert_true(span_is(buffer_span(&out), "a\\n\xe2\x82\xac\\\"\xf0\x9f\x98\x80z"));
        buffer_fini(&out);
    }
}

static void doubles_read_back_and_are_short(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, 1000);
    json_array_open(&f.w);
    json_write_double(&f.w, 0.1);
    json_write_double(&f.w, 1e300);
    json_write_double(&f.w, 5);
    json_write_double(&f.w, 1.0 / 3);
    json_array_close(&f.w);
    assert_written(&f, "[0.1,1e+300,5,0.3333333333333333]");
    start(&f, 1000);
    json_write_double(&f.w, INFINITY);
    assert_int_equal(json_writer_finish(&f.w), FAULT_INVALID);
    buffer_fini(&f.out);
}

static void the_first_failure_sticks(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, 6);
    json_write_string(&f.w, SPAN_LITERAL("too long"));
    json_write_null(&f.w);
    assert_int_equal(json_writer_finish(&f.w), FAULT_TOO_LARGE);
    assert_true(buffer_size(&f.out) <= 6);
    buffer_fini(&f.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_stand_where_they_belong),
        cmocka_unit_test(any_bytes_become_a_valid_string),
        cmocka_unit_test(text_may_come_in_pieces_cut_anywhere),
        cmocka_unit_test(doubles_read_back_and_are_short),
        cmocka_unit_test(the_first_failure_sticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
