// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/dialect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *chosen(struct dialect_sources sources)
{
    const struct provider *p;
    struct failure why;
    if (dialect_choose(&sources, &p, &why) != 0)
        return "refused";
    return p != NULL ? p->name : "none";
}

#define ALL                                                                                        \
    .query = SPAN_LITERAL("a=b&provider=gemini&c"), .header = SPAN_LITERAL("openai"),              \
    .token = SPAN_LITERAL("groq"), .profile = SPAN_LITERAL("xai"),                                 \
    .client = SPAN_LITERAL("mistral")

static void the_strongest_source_that_names_one_is_taken(void **state)
{
    (void)state;
    struct dialect_sources s = {ALL};
    assert_string_equal(chosen(s), "gemini");
    s.query = SPAN_LITERAL("xprovider=vertex");
    assert_string_equal(chosen(s), "openai");
    s.header = SPAN_NONE;
    assert_string_equal(chosen(s), "groq");
    s.token = SPAN_LITERAL("");
    assert_string_equal(chosen(s), "xai");
    s.profile = SPAN_NONE;
    assert_string_equal(chosen(s), "mistral");
    s.client = SPAN_NONE;
    assert_string_equal(chosen(s), "none");
}

static void none_keeps_the_tools_whatever_weaker_sources_say(void **state)
{
    (void)state;
    struct dialect_sources s = {ALL};
    s.query = SPAN_LITERAL("provider=none");
    assert_string_equal(chosen(s), "none");
}

static void an_unknown_name_is_refused_though_a_weaker_source_is_good(void **state)
{
    (void)state;
    struct dialect_sources s = {ALL};
    s.query = SPAN_LITERAL("provider=Gemini");
    assert_string_equal(chosen(s), "refused");
    s.query = SPAN_LITERAL("provider=");
    assert_string_equal(chosen(s), "openai");
}

static const char *client(const char *info)
{
    struct json *j;
    assert_int_equal(json_parse(span_from_string(info), NULL, &j, NULL), 0);
    const struct provider *p = dialect_of_client(j, JSON_ROOT);
    json_free(j);
    return p != NULL ? p->name : "none";
}

static void a_well_known_client_tells_its_provider(void **state)
{
    (void)state;
    assert_string_equal(client("{\"name\":\"claude-code\"}"), "anthropic");
    assert_string_equal(client("{\"name\":\"Gemini-CLI-mcp-client\"}"), "gemini-json");
    assert_string_equal(client("{\"name\":\"claude-code-2\"}"), "none");
    assert_string_equal(client("{\"name\":7}"), "none");
    assert_string_equal(client("[]"), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strongest_source_that_names_one_is_taken),
        cmocka_unit_test(none_keeps_the_tools_whatever_weaker_sources_say),
        cmocka_unit_test(an_unknown_name_is_refused_though_a_weaker_source_is_good),
        cmocka_unit_test(a_well_known_client_tells_its_provider),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
