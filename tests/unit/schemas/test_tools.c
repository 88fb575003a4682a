// SPDX-License-Identifier: Apache-2.0
#include "schemas/tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/lib/json/json.h"
#include "schemas/flatten.h"
#include "schemas/results.h"

struct fixture {
    struct buffer out;
    struct tool_map *map;
};

static void rewrite(struct fixture *f, const char *provider, const char *list)
{
    struct failure why = {0};
    buffer_init(&f->out, 1 << 20);
    int rc = tools_rewrite(span_from_string(list), provider_find(span_from_string(provider)),
                           &f->out, &f->map, &why);
    if (rc != 0)
        print_error("%s\n", why.text);
    assert_int_equal(rc, 0);
}

static void assert_written(struct fixture *f, const char *wanted)
{
    buffer_append_char(&f->out, '\0');
    assert_string_equal(buffer_span(&f->out).data, wanted);
    buffer_fini(&f->out);
    tool_map_free(f->map);
}

static void a_list_keeps_all_but_its_schemas(void **state)
{
    (void)state;
    struct fixture f;
    rewrite(
        &f, "gemini",
        "{ \"ttlMs\": 1e3, \"tools\":[{\"name\":\"t\",\"description\":\"d\",\"inputSchema\":"
        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/X\"}},"
        "\"$defs\":{\"X\":{\"type\":\"string\"}}},\"annotations\":{ }}], \"nextCursor\":\"c\"}");
    assert_written(&f, "{ \"ttlMs\": 1e3, \"tools\":[{\"name\":\"t\",\"description\":\"d\","
                       "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
                       "\"string\"}}},\"annotations\":{ }}], \"nextCursor\":\"c\"}");
}

static void renamed_tools_and_arguments_lead_back(void **state)
{
    (void)state;
    struct fixture f;
    rewrite(&f, "anthropic",
            "{\"tools\":[{\"name\":\"my tool\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
            "{\"rule[]\":{\"type\":\"string\"}},\"required\":[\"rule[]\"]}}]}");
    struct json *j;
    struct span name, key;
    assert_int_equal(json_parse(buffer_span(&f.out), NULL, &j, NULL), 0);
    int tool = json_at(j, json_get(j, JSON_ROOT, "tools"), 0);
    assert_true(json_string_plain(j, json_get(j, tool, "name"), &name));
    assert_true(name_fits(name, &provider_find(SPAN_LITERAL("anthropic"))->names));
    assert_true(span_is(tool_map_name(f.map, name), "my tool"));
    assert_true(span_is(tool_map_name(f.map, SPAN_LITERAL("other")), "other"));
    int schema = json_get(j, tool, "inputSchema");
    assert_true(json_string_plain(j, json_at(j, json_get(j, schema, "required"), 0), &key));
    assert_true(span_is(tool_map_argument(f.map, name, key), "rule[]"));
    json_free(j);
    buffer_fini(&f.out);
    tool_map_free(f.map);
}

static void what_a_strict_mode_cannot_say_takes_the_form_without_strict(void **state)
{
    (void)state;
    struct fixture f;
    rewrite(&f, "openai-strict",
            "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
            "{\"any\":{\"type\":\"object\"}}}}]}");
    assert_written(&f, "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\","
                       "\"properties\":{\"any\":{\"type\":\"object\"}}}}]}");
}

static void a_schema_of_a_wrong_kind_is_listed_as_open(void **state)
{
    (void)state;
    struct fixture f;
    rewrite(&f, "openai", "{\"tools\":[{\"name\":\"t\",\"inputSchema\":7},5]}");
    assert_written(&f, "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\","
                       "\"properties\":{}}},5]}");
}

static void a_strict_null_is_left_out_where_the_server_takes_none(void **state)
{
    (void)state;
    struct fixture f;
    struct json *j;
    struct buffer out;
    rewrite(&f, "openai-strict",
            "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
            "\"a\":{\"type\":\"string\"},\"b\":{\"type\":[\"string\",\"null\"]},"
            "\"c\":{\"type\":\"string\"},\"d\":{\"$ref\":\"#/$defs/D\"}},"
            "\"required\":[\"c\"],\"$defs\":{\"D\":{\"type\":\"object\",\"properties\":"
            "{\"x\":{\"enum\":[\"y\"]},\"z\":{}}}}}}]}");
    struct span call = SPAN_LITERAL("{\"a\":null,\"b\":null,\"c\":null,\"d\":{\"x\":null,"
                                    "\"z\":null},\"e\":null}");
    assert_int_equal(json_parse(call, NULL, &j, NULL), 0);
    buffer_init(&out, 1000);
    assert_true(tool_map_arguments(f.map, SPAN_LITERAL("t"), j, JSON_ROOT, &out));
    buffer_append_char(&out, '\0');
    assert_string_equal(buffer_span(&out).data,
                        "{\"b\":null,\"c\":null,\"d\":{\"z\":null},\"e\":null}");
    assert_false(tool_map_arguments(f.map, SPAN_LITERAL("other"), j, JSON_ROOT, &out));
    json_free(j);
    buffer_fini(&out);
    buffer_fini(&f.out);
    tool_map_free(f.map);
}

static void assert_omitted(const char *schema, const char *call, const char *wanted)
{
    struct fixture f;
    struct json *j;
    struct buffer list, out;
    buffer_init(&list, 10000);
    buffer_init(&out, 10000);
    buffer_printf(&list, "{\"tools\":[{\"name\":\"t\",\"inputSchema\":%s}]}", schema);
    buffer_append_char(&list, '\0');
    rewrite(&f, "openai-strict", buffer_span(&list).data);
    assert_int_equal(json_parse(span_from_string(call), NULL, &j, NULL), 0);
    assert_true(tool_map_arguments(f.map, SPAN_LITERAL("t"), j, JSON_ROOT, &out));
    buffer_append_char(&out, '\0');
    assert_string_equal(buffer_span(&out).data, wanted);
    json_free(j);
    buffer_fini(&list);
    buffer_fini(&out);
    buffer_fini(&f.out);
    tool_map_free(f.map);
}

static void strict_nulls_are_left_out_below_unions_lists_and_references(void **state)
{
    (void)state;
    // A union that takes no null refuses it as a whole; one with a null branch keeps it.
    assert_omitted("{\"type\":\"object\",\"properties\":{"
                   "\"a\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]},"
                   "\"b\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]},"
                   "\"c\":{\"allOf\":[{\"type\":\"string\"}]}}}",
                   "{\"a\":null,\"b\":null,\"c\":null}", "{\"b\":null}");
    // The branch that the object's kind names says what is optional in it.
    assert_omitted(
        "{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\",\"items\":"
        "{\"anyOf\":[{\"$ref\":\"#/$defs/A\"},{\"$ref\":\"#/$defs/B\"}]}}},\"$defs\":{"
        "\"A\":{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"a\"},\"x\":"
        "{\"type\":\"string\"}},\"required\":[\"k\"]},\"B\":{\"type\":\"object\","
        "\"properties\":{\"k\":{\"const\":\"b\"},\"x\":{\"type\":[\"string\",\"null\"]}},"
        "\"required\":[\"k\",\"x\"]}}}",
        "{\"l\":[{\"k\":\"a\",\"x\":null},{\"k\":\"b\",\"x\":null}]}",
        "{\"l\":[{\"k\":\"a\"},{\"k\":\"b\",\"x\":null}]}");
}

static void the_output_schema_is_never_strict_and_keeps_its_keys(void **state)
{
    (void)state;
    static const char list[] = "{\"tools\":[{\"name\":\"t\",\"outputSchema\":{\"type\":"
                               "\"object\",\"properties\":{\"a b\":{\"type\":\"string\"}}}}]}";
    static const char *const providers[] = {"openai-strict", "anthropic-strict", "bedrock-strict",
                                            "deepseek-strict", "anthropic"};
    struct fixture f;
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++) {
        rewrite(&f, providers[i], list);
        assert_written(&f, list);
    }
}

static void a_header_annotation_stays_where_the_provider_takes_it(void **state)
{
    (void)state;
    static const char list[] =
        "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
        "{\"a\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}}]}";
    static const char *const providers[] = {"openai", "anthropic", "bedrock", "mistral", "groq"};
    struct fixture f;
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++) {
        rewrite(&f, providers[i], list);
        assert_written(&f, list);
    }
    rewrite(&f, "gemini", list);
    assert_written(&f, "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\","
                       "\"properties\":{\"a\":{\"type\":\"string\"}}}}]}");
}

static void the_output_schema_has_the_names_that_results_get(void **state)
{
    (void)state;
    struct fixture f;
    rewrite(&f, "gemini-json",
            "{\"tools\":[{\"name\":\"t\",\"outputSchema\":{\"type\":\"object\",\"properties\":{"
            "\"$ref\":{\"type\":\"string\"},\"_$ref\":{\"$ref\":\"#/$defs/D\"},"
            "\"e\":{\"$ref\":\"#/$defs/D\"}},\"required\":[\"$ref\"],\"$defs\":{\"D\":"
            "{\"type\":\"object\",\"properties\":{\"$ref\":{\"type\":\"string\",\"enum\":"
            "[\"$ref\"]}}}}}}]}");
    assert_written(
        &f, "{\"tools\":[{\"name\":\"t\",\"outputSchema\":{\"type\":\"object\",\"properties\":{"
            "\"__$ref\":{\"type\":\"string\"},\"_$ref\":{\"$ref\":\"#/$defs/D\"},"
            "\"e\":{\"$ref\":\"#/$defs/D\"}},\"required\":[\"__$ref\"],\"$defs\":{\"D\":"
            "{\"type\":\"object\",\"properties\":{\"_$ref\":{\"type\":\"string\",\"enum\":"
            "[\"$ref\"]}}}}}}]}");
}

static void a_list_without_tools_is_refused(void **state)
{
    (void)state;
    struct buffer out;
    struct tool_map *map;
    buffer_init(&out, 1000);
    const struct provider *p = provider_find(SPAN_LITERAL("openai"));
    assert_int_equal(tools_rewrite(SPAN_LITERAL("{}"), p, &out, &map, NULL), FAULT_PARSE);
    assert_int_equal(tools_rewrite(SPAN_LITERAL("[1"), p, &out, &map, NULL), FAULT_PARSE);
    assert_null(map);
    assert_int_equal(buffer_size(&out), 0);
    buffer_fini(&out);
}

static void a_result_for_gemini_has_no_ref_key_in_structure_or_json_text(void **state)
{
    (void)state;
    struct buffer out;
    buffer_init(&out, 10000);
    struct span result = SPAN_LITERAL(
        "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"$ref\\\":1,\\\"_$ref\\\":2}\"},"
        "{\"type\":\"text\",\"text\":\"a $ref in words\"}],\"structuredContent\":"
        "{\"a\":[{\"$ref\":\"#/x\",\"b\":1e999}]}, \"isError\":false}");
    assert_int_equal(results_rewrite_call(result, true, &out, NULL), 0);
    buffer_append_char(&out, '\0');
    assert_string_equal(
        buffer_span(&out).data,
        "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"__$ref\\\":1,\\\"_$ref\\\":2}\"},"
        "{\"type\":\"text\",\"text\":\"a $ref in words\"}],\"structuredContent\":"
        "{\"a\":[{\"_$ref\":\"#/x\",\"b\":\"1e999\"}]}, \"isError\":false}");
    buffer_fini(&out);
}

static void a_json_text_with_nothing_to_rename_keeps_its_bytes(void **state)
{
    (void)state;
    struct buffer out;
    buffer_init(&out, 10000);
    struct span result = SPAN_LITERAL(
        "{\"content\":[{\"type\":\"text\",\"text\":\"{ \\\"a\\\": \\\"$ref\\\" }\"}]}");
    assert_int_equal(results_rewrite_call(result, true, &out, NULL), 0);
    assert_true(span_equals(buffer_span(&out), result));
    buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_all_but_its_schemas),
        cmocka_unit_test(renamed_tools_and_arguments_lead_back),
        cmocka_unit_test(what_a_strict_mode_cannot_say_takes_the_form_without_strict),
        cmocka_unit_test(a_schema_of_a_wrong_kind_is_listed_as_open),
        cmocka_unit_test(a_strict_null_is_left_out_where_the_server_takes_none),
        cmocka_unit_test(strict_nulls_are_left_out_below_unions_lists_and_references),
        cmocka_unit_test(the_output_schema_is_never_strict_and_keeps_its_keys),
        cmocka_unit_test(a_header_annotation_stays_where_the_provider_takes_it),
        cmocka_unit_test(a_json_text_with_nothing_to_rename_keeps_its_bytes),
        cmocka_unit_test(the_output_schema_has_the_names_that_results_get),
        cmocka_unit_test(a_list_without_tools_is_refused),
        cmocka_unit_test(a_result_for_gemini_has_no_ref_key_in_structure_or_json_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
