// SPDX-License-Identifier: Apache-2.0
// Mcp-Param-*: what a tool's schema marks with x-mcp-header stands in the head as in the body.
#include "tests/unit/gateway/proxy/fixture.h"

#define MARKED                                                                                     \
    "[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"                       \
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"                                \
    "\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},"                                 \
    "\"force\":{\"type\":\"boolean\",\"x-mcp-header\":\"Force\"},"                                 \
    "\"deep\":{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\","                  \
    "\"x-mcp-header\":\"Key\"}}},"                                                                 \
    "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"no\":{"         \
    "\"type\":\"string\",\"x-mcp-header\":\"No\"}}}},"                                             \
    "\"bad\":{\"type\":\"number\",\"x-mcp-header\":\"Bad\"},"                                      \
    "\"spaced\":{\"type\":\"string\",\"x-mcp-header\":\"not a token\"}}}}]"
#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

// The status; *body is what came.
static int call_with(const char *target, const char *headers, const char *arguments,
                     const char **body)
{
    char head[1024], message[1024];
    int status;
    snprintf(head, sizeof head,
             ANN BOTH "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n"
                      "mcp-name: t\r\n%s",
             headers);
    snprintf(message, sizeof message,
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
             "\"arguments\":%s," META "}}",
             arguments);
    *body = ask(target, head, message, &status);
    return status;
}

static void assert_passes(const char *headers, const char *arguments)
{
    const char *body;
    if (call_with("POST /mcp", headers, arguments, &body) != 200)
        fail_msg("%s with %s: %s", arguments, headers, body);
}

static void assert_refused(const char *headers, const char *arguments)
{
    const char *body;
    int status = call_with("POST /mcp", headers, arguments, &body);
    if (status != 400 || strstr(body, "\"code\":-32020") == NULL ||
        strstr(body, "\"id\":7") == NULL)
        fail_msg("%s with %s: %d %s", arguments, headers, status, body);
}

static void what_the_schema_marks_agrees_with_the_head(void **state)
{
    (void)state;
    world.card_tools = MARKED;
    assert_passes("Mcp-Param-Region: eu-1\r\n", "{\"region\":\"eu-1\"}");
    assert_passes("mcp-param-region:   eu-1  \r\n", "{\"region\":\"eu-1\"}");
    assert_passes("Mcp-Param-Count: 42.0\r\n", "{\"count\":42}");
    assert_passes("Mcp-Param-Count: 42\r\n", "{\"count\":4.2e1}");
    assert_passes("Mcp-Param-Force: true\r\n", "{\"force\":true}");
    assert_passes("Mcp-Param-Key: k\r\n", "{\"deep\":{\"key\":\"k\"}}");
    assert_passes("", "{}");
    assert_passes("", "{\"region\":null,\"deep\":null}");
    assert_passes("Mcp-Param-Unknown: x\r\n", "{\"other\":1}");
    assert_passes("", "{\"list\":[{\"no\":\"x\"}],\"bad\":1,\"spaced\":\"x\"}"); // no annotations
}

static void base64_stands_for_what_no_header_can_say(void **state)
{
    (void)state;
    world.card_tools = MARKED;
    assert_passes("Mcp-Param-Region: =?base64?w6Q=?=\r\n", "{\"region\":\"\\u00e4\"}");
    assert_passes("Mcp-Param-Region: =?base64?IGEg?=\r\n", "{\"region\":\" a \"}");
    assert_passes("Mcp-Param-Region: =?base64?PT9iYXNlNjQ/eD89?=\r\n",
                  "{\"region\":\"=?base64?x?=\"}");
    assert_passes("Mcp-Param-Region: w6Q=\r\n", "{\"region\":\"w6Q=\"}"); // without marker: literal
    assert_refused("Mcp-Param-Region: =?base64?w6Q?=\r\n", "{\"region\":\"\\u00e4\"}");
    assert_refused("Mcp-Param-Region: =?base64?w*Q=?=\r\n", "{\"region\":\"\\u00e4\"}");
    assert_refused("Mcp-Param-Region: =?base64?/w==?=\r\n", "{\"region\":\"\\u00e4\"}");
    assert_refused("Mcp-Param-Region: =?BASE64?w6Q=?=\r\n", "{\"region\":\"\\u00e4\"}");
}

static void a_head_that_disagrees_is_400_with_the_requests_id_and_nothing_runs(void **state)
{
    (void)state;
    world.card_tools = MARKED;
    buffer_clear(&world.worker_body);
    assert_refused("", "{\"region\":\"eu-1\"}");
    assert_refused("Mcp-Param-Region: EU-1\r\n", "{\"region\":\"eu-1\"}");
    assert_refused("Mcp-Param-Region: eu-1\r\n", "{}");
    assert_refused("Mcp-Param-Region: null\r\n", "{\"region\":null}");
    assert_refused("Mcp-Param-Count: 43\r\n", "{\"count\":42}");
    assert_refused("Mcp-Param-Count: 42 43\r\n", "{\"count\":42}");
    assert_refused("Mcp-Param-Count: \"42\"\r\n", "{\"count\":42}");
    assert_refused("Mcp-Param-Force: True\r\n", "{\"force\":true}");
    assert_refused("Mcp-Param-Force: 1\r\n", "{\"force\":true}");
    assert_refused("Mcp-Param-Key: k\r\n", "{\"deep\":\"key\"}");
    assert_refused("Mcp-Param-Region: x\r\n", "{\"region\":[\"x\"]}");
    assert_int_equal(buffer_size(&world.worker_body), 0);
}

static void the_rules_hold_on_a_list_in_a_providers_dialect(void **state)
{
    (void)state;
    const char *body;
    int status, marking = 0;
    // The client mirrors what its own list marks, so that list decides, whatever its dialect kept.
    static const char *const providers[] = {"anthropic", "openai", "gemini", "vertex"};
    world.card_tools = MARKED;
    for (size_t i = 0; i < ARRAY_COUNT(providers); i++) {
        char target[80];
        snprintf(target, sizeof target, "POST /mcp/other?provider=%s", providers[i]);
        const char *list = ask(target, ANN BOTH,
                               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", &status);
        bool marks = strstr(list, "\"x-mcp-header\":\"Region\"") != NULL;
        marking += marks;
        status = call_with(target, "", "{\"region\":\"eu\"}", &body);
        assert_int_equal(status, marks ? 400 : 200);
        status = call_with(target, "Mcp-Param-Region: eu\r\n", "{\"region\":\"eu\"}", &body);
        assert_int_equal(status, 200);
        status = call_with(target, "Mcp-Param-Region: us\r\n", "{\"region\":\"eu\"}", &body);
        assert_int_equal(status, marks ? 400 : 200);
    }
    assert_in_range(marking, 1, ARRAY_COUNT(providers) - 1); // both ways were seen
}

static void earlier_checks_of_the_head_come_first(void **state)
{
    (void)state;
    int status;
    world.card_tools = MARKED;
    const char *body =
        ask("POST /mcp",
            ANN BOTH "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n"
                     "mcp-name: other\r\nmcp-param-region: us\r\n",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
            "\"arguments\":{\"region\":\"eu\"}," META "}}",
            &status);
    assert_int_equal(status, 400);
    assert_non_null(strstr(body, "Mcp-Name"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)
    const struct CMUnitTest tests[] = {
        T(what_the_schema_marks_agrees_with_the_head),
        T(base64_stands_for_what_no_header_can_say),
        T(a_head_that_disagrees_is_400_with_the_requests_id_and_nothing_runs),
        T(the_rules_hold_on_a_list_in_a_providers_dialect),
        T(earlier_checks_of_the_head_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
