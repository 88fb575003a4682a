// SPDX-License-Identifier: Apache-2.0
#include "schemas/flatten.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"

static int run(const char *provider, struct span source, struct buffer *out, struct failure *why)
{
    buffer_init(out, 64 << 20);
    return flatten(source, provider_find(span_from_string(provider)), NULL, out, NULL, why);
}

static void assert_flat(const char *provider, const char *source, const char *wanted)
{
    struct buffer out;
    struct failure why = {0};
    if (run(provider, span_from_string(source), &out, &why) != 0)
        fail_msg("%s: %s", provider, why.text);
    buffer_append_char(&out, '\0');
    assert_string_equal(buffer_span(&out).data, wanted);
    buffer_fini(&out);
}

#define OBJECT_WITH(property) "{\"type\":\"object\",\"properties\":{\"p\":" property "}}"

static void names_of_properties_and_data_are_never_touched(void **state)
{
    (void)state;
    const char *same = "{\"type\":\"object\",\"properties\":{\"$ref\":{\"type\":\"string\"},"
                       "\"$schema\":{\"type\":\"string\"},\"default\":{\"type\":\"string\","
                       "\"enum\":[\"$ref\",\"title\"]}},\"required\":[\"$ref\"]}";
    assert_flat("gemini", same, same);
    assert_flat("openai", same, same);
}

static void numbers_stay_as_they_are_written(void **state)
{
    (void)state;
    const char *same = OBJECT_WITH("{\"type\":\"number\",\"minimum\":1.0,\"maximum\":"
                                   "123456789012345678901234567890,\"default\":2e1}");
    assert_flat("openai", same, same);
}

static void references_stay_once_where_they_may_and_are_inlined_elsewhere(void **state)
{
    (void)state;
    const char *source =
        "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/definitions/X\"},"
        "\"b\":{\"$ref\":\"#/definitions/X\"}},\"definitions\":{\"X\":{\"type\":"
        "\"string\"},\"unused\":{\"type\":\"null\"}}}";
    assert_flat("openai", source,
                "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/X\"},\"b\":{"
                "\"$ref\":\"#/$defs/X\"}},\"$defs\":{\"X\":{\"type\":\"string\"}}}");
    assert_flat("gemini", source,
                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{"
                "\"type\":\"string\"}}}");
}

static void references_in_a_circle_alone_demand_nothing(void **state)
{
    (void)state;
    assert_flat("openai",
                "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/A\"}},\"$defs\":{"
                "\"A\":{\"$ref\":\"#/$defs/B\"},\"B\":{\"$ref\":\"#/$defs/A\"}}}",
                "{\"type\":\"object\",\"properties\":{\"a\":{}}}");
}

static void all_of_is_merged_without_loss(void **state)
{
    (void)state;
    assert_flat("openai-strict",
                OBJECT_WITH("{\"allOf\":[{\"type\":\"integer\",\"minimum\":1},{\"type\":\"number\","
                            "\"minimum\":3}]}"),
                "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":[\"integer\",\"null\"],"
                "\"minimum\":3}},\"required\":[\"p\"],\"additionalProperties\":false}");
}

static void what_has_no_word_is_told_in_the_description(void **state)
{
    (void)state;
    assert_flat("gemini",
                OBJECT_WITH("{\"type\":\"string\",\"format\":\"uri\",\"description\":\"d\"}"),
                OBJECT_WITH("{\"type\":\"string\",\"description\":\"d (format: uri)\"}"));
    assert_flat("gemini", OBJECT_WITH("{\"type\":\"integer\",\"exclusiveMinimum\":0}"),
                OBJECT_WITH("{\"type\":\"integer\",\"minimum\":1}"));
}

static void a_strict_mode_refuses_what_it_cannot_say(void **state)
{
    (void)state;
    struct buffer out;
    struct failure why = {0};
    const char *map =
        OBJECT_WITH("{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}");
    assert_int_equal(run("openai-strict", span_from_string(map), &out, &why), FAULT_UNSUPPORTED);
    assert_non_null(strstr(why.text, "/properties/p"));
    assert_int_equal(buffer_size(&out), 0);
    buffer_fini(&out);
}

static void bad_input_is_an_error_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *source, *said;
        int fault;
    } rows[] = {{"{\"a\":", "line 1, column 6", FAULT_PARSE},
                {"{\"a\":\"\xff\"}", "not UTF-8", FAULT_PARSE},
                {"", "line 1, column 1", FAULT_PARSE}};
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct buffer out;
        struct failure why = {0};
        assert_int_equal(run("gemini", span_from_string(rows[i].source), &out, &why),
                         rows[i].fault);
        assert_non_null(strstr(why.text, rows[i].said));
        buffer_fini(&out);
    }
}

static void depth_and_size_are_refused_before_anything_is_built(void **state)
{
    (void)state;
    size_t size = 100000;
    char *deep = memory_new(size);
    memset(deep, '[', size);
    struct buffer out;
    assert_int_equal(run("openai", span_of(deep, size), &out, NULL), FAULT_TOO_LARGE);
    buffer_fini(&out);
    free(deep);
    size = 100 << 20;
    char *large = memory_new(size);
    memset(large, ' ', size);
    assert_int_equal(run("openai", span_of(large, size), &out, NULL), FAULT_TOO_LARGE);
    buffer_fini(&out);
    free(large);
}

// 2^40 nodes when followed to the end.
static void a_billion_laughs_end_small_for_every_provider(void **state)
{
    (void)state;
    struct buffer source, out;
    buffer_init(&source, 1 << 20);
    buffer_append_string(&source,
                         "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},"
                         "\"$defs\":{");
    for (int i = 0; i < 40; i++)
        buffer_printf(
            &source,
            "\"d%d\":{\"type\":\"object\",\"properties\":{\"l\":{\"$ref\":\"#/$defs/d%d\"},"
            "\"r\":{\"$ref\":\"#/$defs/d%d\"}},\"required\":[\"l\",\"r\"]},",
            i, i + 1, i + 1);
    buffer_append_string(&source, "\"d40\":{\"type\":\"string\"}}}");
    for (size_t i = 0; provider_list[i] != NULL; i++) {
        int rc = run(provider_list[i]->name, buffer_span(&source), &out, NULL);
        assert_true(rc == 0 || (rc == FAULT_UNSUPPORTED && provider_list[i]->strict));
        assert_true(buffer_size(&out) < 2000000);
        buffer_fini(&out);
    }
    buffer_fini(&source);
}

// A note that a depth limit forced into the union of all types is not cut away by a second pass.
static void what_a_depth_limit_closed_stays_as_it_is(void **state)
{
    (void)state;
    struct buffer source, first, again;
    buffer_init(&source, 1 << 16);
    for (int levels = 2; levels < 40; levels++) {
        buffer_clear(&source);
        for (int i = 0; i < levels; i++)
            buffer_append_string(&source, "{\"type\":\"object\",\"properties\":{\"l\":");
        buffer_append_string(&source, "{\"type\":\"object\",\"properties\":{\"r\":"
                                      "{\"$ref\":\"x:gone\"},\"a\":{\"type\":\"array\"}}}");
        for (int i = 0; i < levels; i++)
            buffer_append_string(&source, "}}");
        for (size_t i = 0; provider_list[i] != NULL; i++) {
            const char *name = provider_list[i]->name;
            if (run(name, buffer_span(&source), &first, NULL) == 0) {
                assert_int_equal(run(name, buffer_span(&first), &again, NULL), 0);
                assert_true(span_equals(buffer_span(&first), buffer_span(&again)));
                buffer_fini(&again);
            }
            buffer_fini(&first);
        }
    }
    buffer_fini(&source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_properties_and_data_are_never_touched),
        cmocka_unit_test(what_a_depth_limit_closed_stays_as_it_is),
        cmocka_unit_test(numbers_stay_as_they_are_written),
        cmocka_unit_test(references_stay_once_where_they_may_and_are_inlined_elsewhere),
        cmocka_unit_test(references_in_a_circle_alone_demand_nothing),
        cmocka_unit_test(all_of_is_merged_without_loss),
        cmocka_unit_test(what_has_no_word_is_told_in_the_description),
        cmocka_unit_test(a_strict_mode_refuses_what_it_cannot_say),
        cmocka_unit_test(bad_input_is_an_error_with_its_place),
        cmocka_unit_test(depth_and_size_are_refused_before_anything_is_built),
        cmocka_unit_test(a_billion_laughs_end_small_for_every_provider),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
