// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct buffer text;
static struct json *list;

static int setup(void **state)
{
    (void)state;
    struct json_writer w;
    struct failure why = {0};
    buffer_init(&text, 1 << 20);
    json_writer_init(&w, &text);
    tool_list_write(&w, false);
    assert_int_equal(json_writer_finish(&w), 0);
    return json_parse(buffer_span(&text), &json_limits_default, &list, &why);
}

static int teardown(void **state)
{
    (void)state;
    json_free(list);
    buffer_fini(&text);
    return 0;
}

static int tool_node(const char *name)
{
    JSON_EACH(node, list, JSON_ROOT)
    if (json_string_is(list, json_get(list, node, "name"), name))
        return node;
    fail_msg("no tool %s", name);
    return JSON_NONE;
}

static void the_list_is_small_and_without_references(void **state)
{
    (void)state;
    struct span all = buffer_span(&text);
    assert_int_equal(json_count(list, JSON_ROOT), tool_count);
    assert_null(memmem(all.data, all.size, "$ref", 4));
    assert_true(all.size < 32 << 10);
}

static void every_schema_is_closed_and_explains_its_parameters(void **state)
{
    (void)state;
    JSON_EACH(node, list, JSON_ROOT)
    {
        int schema = json_get(list, node, "inputSchema");
        bool more;
        assert_true(json_string_is(list, json_get(list, schema, "type"), "object"));
        assert_true(json_bool(list, json_get(list, schema, "additionalProperties"), &more));
        assert_false(more);
        assert_int_equal(json_type(list, json_get(list, node, "description")), JSON_STRING);
        JSON_EACH(property, list, json_get(list, schema, "properties"))
        {
            assert_int_equal(json_type(list, json_get(list, property, "type")), JSON_STRING);
            assert_int_equal(json_type(list, json_get(list, property, "description")), JSON_STRING);
        }
    }
}

// G-51
static void annotations_are_true(void **state)
{
    (void)state;
    static const struct {
        const char *tool;
        bool read_only, destructive, open_world;
    } rows[] = {
        {"Read", true, false, false},       {"Glob", true, false, false},
        {"Grep", true, false, false},       {"Write", false, true, false},
        {"Edit", false, true, false},       {"Bash", false, true, true},
        {"BashOutput", true, false, false}, {"KillShell", false, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int hints = json_get(list, tool_node(rows[i].tool), "annotations");
        bool is;
        assert_true(json_bool(list, json_get(list, hints, "readOnlyHint"), &is));
        assert_int_equal(is, rows[i].read_only);
        assert_true(json_bool(list, json_get(list, hints, "destructiveHint"), &is));
        assert_int_equal(is, rows[i].destructive);
        assert_true(json_bool(list, json_get(list, hints, "openWorldHint"), &is));
        assert_int_equal(is, rows[i].open_world);
        assert_true(json_bool(list, json_get(list, hints, "idempotentHint"), &is));
    }
}

static void limits_and_defaults_are_in_the_schema(void **state)
{
    (void)state;
    int read = json_get(list, json_get(list, tool_node("Read"), "inputSchema"), "properties");
    int grep = json_get(list, json_get(list, tool_node("Grep"), "inputSchema"), "properties");
    int64_t number;
    assert_true(json_i64(list, json_get(list, json_get(list, read, "limit"), "default"), &number));
    assert_int_equal(number, 2000);
    assert_true(json_i64(list, json_get(list, json_get(list, read, "offset"), "minimum"), &number));
    assert_int_equal(number, 1);
    int mode = json_get(list, grep, "output_mode");
    assert_true(json_string_is(list, json_get(list, mode, "default"), "content"));
    assert_int_equal(json_count(list, json_get(list, mode, "enum")), 3);
    assert_int_equal(json_get(list, json_get(list, grep, "type"), "default"), JSON_NONE);
}

static void a_result_is_one_text_and_its_structure(void **state)
{
    (void)state;
    struct tool_result r;
    struct json_writer w;
    struct buffer out;
    tool_result_init(&r);
    buffer_init(&out, 4096);
    buffer_append(&r.text, SPAN_LITERAL("a\xff\n"));
    buffer_append_string(&r.structured, "{\"exit_code\":1}");
    json_writer_init(&w, &out);
    json_object_open(&w);
    tool_result_write(&r, &w);
    json_object_close(&w);
    assert_true(span_is(buffer_span(&out),
                        "{\"content\":[{\"type\":\"text\",\"text\":\"a\xef\xbf\xbd\\n\"}],"
                        "\"structuredContent\":{\"exit_code\":1},\"isError\":false}"));
    buffer_fini(&out);
    tool_result_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_small_and_without_references),
        cmocka_unit_test(every_schema_is_closed_and_explains_its_parameters),
        cmocka_unit_test(annotations_are_true),
        cmocka_unit_test(limits_and_defaults_are_in_the_schema),
        cmocka_unit_test(a_result_is_one_text_and_its_structure),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
