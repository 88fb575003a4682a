// SPDX-License-Identifier: Apache-2.0
// A provider's dialect between a client and a worker.
#include "tests/unit/gateway/proxy/fixture.h"

#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"

static void an_unknown_provider_is_400_with_the_list(void **state)
{
    (void)state;
    int status;
    const char *body = ask("POST /mcp/other?provider=gemni", ANN, LIST, &status);
    assert_int_equal(status, 400);
    assert_non_null(strstr(body, "\"gemni\\\"; known: none, gemini, gemini-json, vertex, "));
    assert_non_null(strstr(body, "llamacpp"));
    assert_non_null(strstr(body, "\"id\":1"));
}

static void a_call_by_a_providers_names_reaches_the_worker_by_its_own(void **state)
{
    (void)state;
    int status;
    world.card_tools = "[{\"name\":\"do it\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
                       "{\"rule[]\":{\"type\":\"string\"}},\"required\":[\"rule[]\"]}}]";
    const char *list = ask("POST /mcp/other?provider=anthropic", ANN, LIST, &status);
    assert_int_equal(status, 200);
    char tool[80], key[80];
    const char *at = strstr(list, "do_it_");
    assert_non_null(at);
    snprintf(tool, sizeof tool, "%.*s", (int)strcspn(at, "\""), at);
    at = strstr(list, "rule__");
    assert_non_null(at);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(at, "\""), at);
    char call[512];
    snprintf(call, sizeof call,
             "{\"jsonrpc\":\"2.0\",\"id\":7, \"method\":\"tools/call\",\"params\":{\"arguments\":"
             "{\"%s\":1.50,\"b\": [ ]},\"name\":\"%s\"}}",
             key, tool);
    ask("POST /mcp/other?provider=anthropic", ANN, call, &status);
    assert_int_equal(status, 200);
    assert_string_equal(terminated(&world.worker_body),
                        "{\"jsonrpc\":\"2.0\",\"id\":7, \"method\":\"tools/call\",\"params\":"
                        "{\"arguments\":{\"rule[]\":1.50,\"b\":[ ]},\"name\":\"do it\"}}");
}

static void a_streamed_result_has_no_ref_key_for_gemini_and_keeps_its_bytes_for_others(void **state)
{
    (void)state;
    static const char event[] =
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[],"
        "\"structuredContent\":{\"$ref\":1}}}\n\n";
    struct client c;
    for (int i = 0; i < 2; i++) {
        world.mode = WORKER_STREAMS;
        client_open(&c);
        client_send(&c, i == 0 ? "POST /mcp/other?provider=gemini" : "POST /mcp/other", ANN BOTH,
                    CALL);
        assert_non_null(world.worker_exchange);
        exchange_write(world.worker_exchange, span_of(event, 40)); // cut anywhere
        turn(40);
        exchange_write(world.worker_exchange, span_of(event + 40, sizeof event - 1 - 40));
        exchange_end(world.worker_exchange);
        turn(60);
        const char *body = client_text(&c);
        assert_int_equal(strstr(body, "{\"_$ref\":1}") != NULL, i == 0);
        assert_int_equal(strstr(body, "{\"$ref\":1}") != NULL, i == 1);
        client_close(&c);
    }
}

static void a_text_that_is_json_is_rewritten_for_gemini_unless_the_profile_says_no(void **state)
{
    (void)state;
    int status;
    world.worker_answer =
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
        "\"text\":\"{\\\"$ref\\\": 1}\"}]}}";
    assert_string_equal(ask("POST /mcp/other", ANN, CALL, &status), world.worker_answer);
    world.profiles[1].rewrite_texts = true;
    assert_non_null(strstr(ask("POST /mcp/other?provider=vertex", ANN, CALL, &status),
                           "\"text\":\"{\\\"_$ref\\\":1}\""));
    world.profiles[1].rewrite_texts = false;
    assert_string_equal(ask("POST /mcp/other?provider=vertex", ANN, CALL, &status),
                        world.worker_answer);
    world.worker_answer = "no JSON";
    assert_non_null(strstr(ask("POST /mcp/other?provider=vertex", ANN, CALL, &status),
                           "\"id\":7,\"error\":{\"code\":-32603,\"message\":\"the call ran, but"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)
    const struct CMUnitTest tests[] = {
        T(an_unknown_provider_is_400_with_the_list),
        T(a_call_by_a_providers_names_reaches_the_worker_by_its_own),
        T(a_streamed_result_has_no_ref_key_for_gemini_and_keeps_its_bytes_for_others),
        T(a_text_that_is_json_is_rewritten_for_gemini_unless_the_profile_says_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
