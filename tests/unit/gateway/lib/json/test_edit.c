// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/json/edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
    struct json *j;
    struct json_edit e;
};

static void open_document(struct fixture *f, const char *text)
{
    assert_int_equal(json_parse(span_from_string(text), NULL, &f->j, NULL), 0);
    json_edit_init(&f->e, f->j);
}

static void assert_written(struct fixture *f, const char *wanted)
{
    struct buffer out;
    buffer_init(&out, 1000);
    assert_int_equal(json_edit_write(&f->e, &out), 0);
    buffer_append_char(&out, '\0');
    assert_string_equal(buffer_span(&out).data, wanted);
    buffer_fini(&out);
    json_free(f->j);
}

static int member(struct fixture *f, const char *key)
{
    return json_get(f->j, 0, key);
}

static void only_the_replaced_range_changes(void **state)
{
    (void)state;
    struct fixture f;
    open_document(&f, "{ \"id\":1e3 , \"name\" : \"x\", \"n\":[1, 2]}");
    json_edit_replace(&f.e, json_at(f.j, member(&f, "n"), 1), SPAN_LITERAL("{}"));
    json_edit_replace(&f.e, member(&f, "name"), SPAN_LITERAL("\"longer\""));
    assert_written(&f, "{ \"id\":1e3 , \"name\" : \"longer\", \"n\":[1, {}]}");
}

static void a_deleted_member_takes_its_comma_along(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second, *left;
    } rows[] = {
        {"a", NULL, "{\"b\":2,\"c\":3}"}, {"b", NULL, "{\"a\":1,\"c\":3}"},
        {"c", NULL, "{\"a\":1,\"b\":2}"}, {"a", "b", "{\"c\":3}"},
        {"c", "b", "{\"a\":1}"},          {"a", "c", "{\"b\":2}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture f;
        open_document(&f, "{\"a\":1,\"b\":2,\"c\":3}");
        assert_int_equal(json_edit_delete(&f.e, member(&f, rows[i].first)), 0);
        if (rows[i].second != NULL)
            assert_int_equal(json_edit_delete(&f.e, member(&f, rows[i].second)), 0);
        assert_written(&f, rows[i].left);
    }
}

static void everything_can_be_deleted_and_elements_too(void **state)
{
    (void)state;
    struct fixture f;
    open_document(&f, "{\"a\":1}");
    json_edit_delete(&f.e, member(&f, "a"));
    assert_written(&f, "{}");
    open_document(&f, "[1, 2, 3]");
    json_edit_delete(&f.e, json_at(f.j, 0, 1));
    assert_written(&f, "[1, 3]");
}

static void a_member_is_put_in_front_with_the_comma_it_needs(void **state)
{
    (void)state;
    struct fixture f;
    open_document(&f, "{\"a\":1}");
    json_edit_insert_member(&f.e, 0, SPAN_LITERAL("\"x\":0"));
    json_edit_insert_member(&f.e, 0, SPAN_LITERAL("\"y\":0"));
    assert_written(&f, "{\"x\":0,\"y\":0,\"a\":1}");
    open_document(&f, "{ }");
    json_edit_insert_member(&f.e, 0, SPAN_LITERAL("\"x\":0"));
    assert_written(&f, "{\"x\":0 }");
    open_document(&f, "{\"a\":1}");
    json_edit_delete(&f.e, member(&f, "a"));
    json_edit_insert_member(&f.e, 0, SPAN_LITERAL("\"x\":0"));
    assert_written(&f, "{\"x\":0}");
}

static void what_cannot_be_done_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct buffer out;
    buffer_init(&out, 1000);
    open_document(&f, "{\"a\":{\"b\":1}}");
    assert_int_equal(json_edit_delete(&f.e, 0), FAULT_INVALID);
    assert_int_equal(json_edit_replace(&f.e, JSON_NONE, SPAN_LITERAL("1")), FAULT_INVALID);
    int a = member(&f, "a");
    assert_int_equal(json_edit_insert_member(&f.e, json_get(f.j, a, "b"), SPAN_NONE),
                     FAULT_INVALID);
    json_edit_replace(&f.e, a, SPAN_LITERAL("1"));
    json_edit_replace(&f.e, json_get(f.j, a, "b"), SPAN_LITERAL("1"));
    assert_int_equal(json_edit_write(&f.e, &out), FAULT_INVALID);
    assert_int_equal(buffer_size(&out), 0);
    for (int i = 2; i < JSON_EDIT_MAX; i++)
        assert_int_equal(json_edit_replace(&f.e, a, SPAN_LITERAL("1")), 0);
    assert_int_equal(json_edit_replace(&f.e, a, SPAN_LITERAL("1")), FAULT_TOO_LARGE);
    json_free(f.j);
    buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_replaced_range_changes),
        cmocka_unit_test(a_deleted_member_takes_its_comma_along),
        cmocka_unit_test(everything_can_be_deleted_and_elements_too),
        cmocka_unit_test(a_member_is_put_in_front_with_the_comma_it_needs),
        cmocka_unit_test(what_cannot_be_done_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
