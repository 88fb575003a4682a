// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/mcp/classify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct fixture {
    struct arena *arena;
    struct json *doc;
    struct mcp_headers headers;
    struct mcp_context context;
    struct mcp_request request;
    struct mcp_refusal refusal;
};

static int setup(void **state)
{
    static struct fixture f;
    f = (struct fixture){.arena = arena_new(1 << 20),
                         .context = {.eras = MCP_ERA_LEGACY | MCP_ERA_MODERN}};
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    json_free(f->doc);
    arena_free(f->arena);
    return 0;
}

static int classify(struct fixture *f, const char *body)
{
    json_free(f->doc);
    f->doc = NULL;
    struct failure why;
    assert_int_equal(json_parse(span_from_string(body), &json_limits_default, &f->doc, &why), 0);
    f->refusal = (struct mcp_refusal){0};
    return mcp_classify(f->doc, &f->headers, &f->context, f->arena, &f->request, &f->refusal);
}

static void assert_refused(struct fixture *f, const char *body, int status, int code,
                           const char *id)
{
    assert_true(classify(f, body) < 0);
    assert_int_equal(f->refusal.status, status);
    assert_int_equal(f->refusal.code, code);
    if (id == NULL)
        assert_true(span_is_absent(f->refusal.id));
    else
        assert_true(span_is(f->refusal.id, id));
}

#define META(rest)                                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}" rest "}"

static void requests_notifications_and_responses_are_told_apart(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(classify(f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"), 0);
    assert_int_equal(f->request.messages->kind, MCP_REQUEST);
    assert_int_equal(f->request.messages->method, MCP_METHOD_PING);
    assert_int_equal(classify(f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                     0);
    assert_int_equal(f->request.messages->kind, MCP_NOTIFICATION);
    assert_int_equal(classify(f, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}"), 0);
    assert_int_equal(f->request.messages->kind, MCP_RESPONSE);
    assert_int_equal(classify(f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":1}}"), 0);
    assert_int_equal(f->request.messages->kind, MCP_RESPONSE);
}

static void ids_stay_the_tokens_that_came(void **state)
{
    struct fixture *f = *state;
    static const char *const ids[] = {
        "1", "\"1\"", "-7", "123456789012345678901234567890", "\"\\u0041\"", "\"\""};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char body[200];
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", ids[i]);
        assert_int_equal(classify(f, body), 0);
        assert_true(span_is(f->request.messages->id, ids[i]));
    }
    static const char *const bad[] = {"null", "1.5", "1e3", "true", "[]", "{}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char body[200];
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", bad[i]);
        assert_refused(f, body, 400, -32600, NULL);
    }
}

static void members_that_route_may_not_stand_twice(void **state)
{
    struct fixture *f = *state;
    static const char *const bodies[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/call\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"m\\u0065thod\":\"tools/call\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{},\"params\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
        "{\"name\":\"a\",\"n\\u0061me\":\"b\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{},\"_meta\":{}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":"
        "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol\\/protocolVersion\":\"2025-11-25\"}}}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        assert_true(classify(f, bodies[i]) < 0);
        assert_int_equal(f->refusal.status, 400);
        assert_int_equal(f->refusal.code, -32600);
    }
    // Inside arguments nothing routes.
    assert_int_equal(classify(f,
                              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
                              "{\"name\":\"a\",\"arguments\":{\"x\":1,\"x\":2,\"name\":3}}}"),
                     0);
    assert_true(span_is(f->request.messages->name, "a"));
}

static void shapes_that_are_no_message_are_refused(void **state)
{
    struct fixture *f = *state;
    assert_refused(f, "3", 400, -32600, NULL);
    assert_refused(f, "{}", 400, -32600, NULL);
    assert_refused(f, "{\"id\":4,\"method\":\"ping\"}", 400, -32600, "4");
    assert_refused(f, "{\"jsonrpc\":\"1.0\",\"id\":4,\"method\":\"ping\"}", 400, -32600, "4");
    assert_refused(f, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}", 400, -32600, "4");
    assert_refused(f, "{\"jsonrpc\":\"2.0\",\"id\":4}", 400, -32600, "4");
    assert_refused(f, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":1,\"error\":{}}", 400, -32600, "4");
    assert_refused(f, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":[]}", 200,
                   -32602, "4");
    assert_refused(f, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}", 400, -32602, NULL);
    assert_refused(f, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{}}", 200,
                   -32602, "4");
}

static void batches_belong_to_2025_03_26_only(void **state)
{
    struct fixture *f = *state;
    const char *two = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]";
    assert_int_equal(classify(f, two), 0);
    assert_true(f->request.is_batch);
    assert_int_equal(f->request.count, 2);
    assert_int_equal(f->request.requests, 1);
    f->headers.version = SPAN_LITERAL("2025-03-26");
    assert_int_equal(classify(f, two), 0);
    f->headers.version = SPAN_LITERAL("2025-11-25");
    assert_refused(f, two, 400, -32600, NULL);
    f->context.session_known = true;
    f->context.session_revision = MCP_REVISION_2025_03_26;
    assert_int_equal(classify(f, two), 0);
    f->headers.version = SPAN_NONE;
    assert_refused(f, "[]", 400, -32600, NULL);
    assert_refused(f, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}]", 400, -32600,
                   NULL);
    assert_refused(f,
                   "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
                   400, -32600, NULL);
    // Ids of different types are different ids.
    assert_int_equal(classify(f, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                                 "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"ping\"}]"),
                     0);
    assert_refused(f,
                   "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META("") "}}]",
                   400, -32600, NULL);
}

static void a_batch_of_more_than_100_is_refused(void **state)
{
    struct fixture *f = *state;
    static char body[101 * 40 + 3];
    for (int count = 100; count <= 101; count++) {
        size_t at = 0;
        for (int i = 0; i < count; i++)
            at += (size_t)snprintf(body + at, sizeof body - at,
                                   "%c{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", i == 0 ? '[' : ',');
        snprintf(body + at, sizeof body - at, "]");
        if (count == 100)
            assert_int_equal(classify(f, body), 0);
        else
            assert_refused(f, body, 400, -32600, NULL);
    }
}

static void legacy_version_headers_are_any_supported_one(void **state)
{
    struct fixture *f = *state;
    const char *ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    f->context.session_known = true;
    f->context.session_revision = MCP_REVISION_2025_11_25;
    assert_int_equal(classify(f, ping), 0);
    assert_int_equal(f->request.revision, MCP_REVISION_2025_11_25);
    f->headers.version = SPAN_LITERAL("2025-06-18");
    assert_int_equal(classify(f, ping), 0);
    assert_int_equal(f->request.revision, MCP_REVISION_2025_06_18);
    f->headers.version = SPAN_LITERAL("1999-01-01");
    assert_refused(f, ping, 400, -32000, "1");
    f->headers.version = SPAN_LITERAL("2026-07-28"); // mixed up, but in a session of ours
    assert_int_equal(classify(f, ping), 0);
    assert_int_equal(f->request.era, MCP_ERA_LEGACY);
    f->context.session_known = false;
    assert_refused(f, ping, 400, -32602, "1");
    assert_non_null(strstr(f->refusal.text, "protocolVersion"));
    assert_non_null(strstr(f->refusal.text, "clientCapabilities"));
}

static void initialize_is_legacy_unless_it_claims_otherwise(void **state)
{
    struct fixture *f = *state;
    const char *init = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
                       "{\"protocolVersion\":\"2025-11-25\"}}";
    assert_int_equal(classify(f, init), 0);
    assert_int_equal(f->request.era, MCP_ERA_LEGACY);
    f->headers.version = SPAN_LITERAL("2026-07-28");
    assert_refused(f, init, 400, -32020, "0");
}

static void modern_requests_pass_the_ladder_in_order(void **state)
{
    struct fixture *f = *state;
    const char *call = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{"
                       "\"name\":\"r\\u00fcn\"," META("") "}}";
    assert_refused(f,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                   "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
                   400, -32602, "1");
    assert_refused(f, call, 400, -32020, "\"a\"");
    f->headers.version = SPAN_LITERAL("2026-07-28");
    assert_refused(f, call, 400, -32020, "\"a\"");
    f->headers.method = SPAN_LITERAL("tools/list");
    assert_refused(f, call, 400, -32020, "\"a\"");
    f->headers.method = SPAN_LITERAL("tools/call");
    assert_refused(f, call, 400, -32020, "\"a\"");
    f->headers.name = SPAN_LITERAL("=?base64?csO8bg?=");
    assert_refused(f, call, 400, -32020, "\"a\""); // padding is missing
    f->headers.name = SPAN_LITERAL(" =?base64?csO8bg==?= ");
    assert_int_equal(classify(f, call), 0);
    assert_int_equal(f->request.era, MCP_ERA_MODERN);
    assert_int_equal(f->request.revision, MCP_REVISION_2026_07_28);
}

static void an_unknown_modern_version_is_told_what_is_supported(void **state)
{
    struct fixture *f = *state;
    f->headers = (struct mcp_headers){.version = SPAN_LITERAL("2030-01-01"),
                                      .method = SPAN_LITERAL("server/discover")};
    const char *probe = "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"server/discover\",\"params\":{"
                        "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2030-01-01\","
                        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    assert_refused(f, probe, 400, -32022, "5");
    struct buffer out;
    buffer_init(&out, 4096);
    assert_int_equal(mcp_refusal_write(&f->refusal, &out), 0);
    struct json *doc;
    struct failure why;
    assert_int_equal(json_parse(buffer_span(&out), &json_limits_default, &doc, &why), 0);
    int data = json_get(doc, json_get(doc, JSON_ROOT, "error"), "data");
    assert_true(json_string_is(doc, json_get(doc, data, "requested"), "2030-01-01"));
    assert_true(
        json_string_is(doc, json_at(doc, json_get(doc, data, "supported"), 0), "2026-07-28"));
    assert_int_equal(json_count(doc, json_get(doc, data, "supported")), 6);
    json_free(doc);
    buffer_fini(&out);
    f->context.eras = MCP_ERA_LEGACY; // a server of the legacy era alone lists its own
    assert_refused(f, probe, 400, -32022, "5");
    assert_int_equal(f->refusal.supported_eras, MCP_ERA_LEGACY);
}

static void negotiation_echoes_what_is_known(void **state)
{
    (void)state;
    assert_int_equal(mcp_revision_negotiate(SPAN_LITERAL("2025-03-26")), MCP_REVISION_2025_03_26);
    assert_int_equal(mcp_revision_negotiate(SPAN_LITERAL("2026-07-28")), MCP_REVISION_2025_11_25);
    assert_int_equal(mcp_revision_negotiate(SPAN_LITERAL("x")), MCP_REVISION_2025_11_25);
    assert_int_equal(mcp_revision_negotiate(SPAN_LITERAL("")), MCP_REVISION_2025_11_25);
    assert_int_equal(mcp_revision_negotiate(SPAN_NONE), MCP_REVISION_2025_11_25);
}

static void error_codes_have_the_status_of_their_era(void **state)
{
    (void)state;
    assert_int_equal(mcp_error_status(-32601, MCP_ERA_MODERN), 404);
    assert_int_equal(mcp_error_status(-32601, MCP_ERA_LEGACY), 200);
    assert_int_equal(mcp_error_status(-32700, MCP_ERA_LEGACY), 400);
    assert_int_equal(mcp_error_status(-32603, MCP_ERA_MODERN), 200);
    assert_int_equal(mcp_error_status(12345, MCP_ERA_MODERN), 200);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(requests_notifications_and_responses_are_told_apart),
        T(ids_stay_the_tokens_that_came),
        T(members_that_route_may_not_stand_twice),
        T(shapes_that_are_no_message_are_refused),
        T(batches_belong_to_2025_03_26_only),
        T(a_batch_of_more_than_100_is_refused),
        T(legacy_version_headers_are_any_supported_one),
        T(initialize_is_legacy_unless_it_claims_otherwise),
        T(modern_requests_pass_the_ladder_in_order),
        T(an_unknown_modern_version_is_told_what_is_supported),
        T(negotiation_echoes_what_is_known),
        T(error_codes_have_the_status_of_their_era),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
