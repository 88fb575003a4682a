// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/gateway/proxy/fixture.h"

static void what_comes_before_authentication_is_answered_without_it(void **state)
{
    (void)state;
    int status;
    ask("POST /mcp", "origin: https://evil.example\r\n" ANN, PING, &status);
    assert_int_equal(status, 403);
    ask("GET /.well-known/oauth-protected-resource", "", NULL, &status);
    assert_int_equal(status, 404);
    ask("GET /nothing", "", NULL, &status);
    assert_int_equal(status, 404);
    ask("OPTIONS /mcp",
        "origin: https://app.example\r\naccess-control-request-headers: mcp-param-x\r\n", NULL,
        &status);
    assert_int_equal(status, 204);
    ask("PUT /mcp", "", NULL, &status);
    assert_int_equal(status, 401);
    ask("PUT /mcp", ANN, NULL, &status);
    assert_int_equal(status, 405);
    ask("POST /mcp", "authorization: Bearer eve\r\n", PING, &status);
    assert_int_equal(status, 401);
}

static void a_foreign_host_is_refused_on_loopback(void **state)
{
    (void)state;
    struct client c;
    client_open(&c);
    stream_write(c.stream, SPAN_LITERAL("GET /mcp HTTP/1.1\r\nhost: evil.example\r\n\r\n"));
    turn(40);
    client_text(&c);
    assert_int_equal(c.status, 403);
    client_close(&c);
}

static void initialize_is_answered_from_the_card_and_binds_nothing(void **state)
{
    (void)state;
    struct client c;
    char id[600];
    client_open(&c);
    client_send(&c, "POST /mcp/", ANN BOTH "mcp-session-id: stale\r\n", INIT);
    const char *body = client_text(&c);
    assert_int_equal(c.status, 200);
    assert_string_equal(
        body, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-11-25\","
              "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"w\","
              "\"version\":\"1\"},\"instructions\":\"use it\"}}");
    client_header(&c, "mcp-session-id", id, sizeof id);
    assert_in_range(strlen(id), 40, 511);
    assert_int_equal(world.binds, 0);
    client_close(&c);
}

static void initialize_waits_for_the_card_with_comments(void **state)
{
    (void)state;
    struct client c;
    world.has_card = false;
    client_open(&c);
    client_send(&c, "POST /mcp", ANN BOTH, INIT);
    assert_int_equal(buffer_size(&c.in), 0);
    clock_fake_advance_ms(&world.clock, 2001);
    turn(40);
    assert_non_null(strstr(client_text(&c), ": wait\n\n"));
    char id[600];
    client_header(&c, "mcp-session-id", id, sizeof id);
    assert_int_not_equal(id[0], '\0');
    world.has_card = true;
    clock_fake_advance_ms(&world.clock, 51);
    turn(40);
    assert_non_null(strstr(client_text(&c), "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":"));
    client_close(&c);
}

static void initialize_without_a_card_ends_in_503_at_the_start_deadline(void **state)
{
    (void)state;
    struct client c;
    world.has_card = false;
    client_open(&c);
    client_send(&c, "POST /mcp", ANN JSON, INIT);
    clock_fake_advance_ms(&world.clock, 60001);
    turn(40);
    assert_non_null(strstr(client_text(&c), "no worker has been asked yet"));
    assert_int_equal(c.status, 503);
    client_close(&c);
}

static void sessions_of_others_and_unknown_ones_get_the_same_404(void **state)
{
    (void)state;
    char ann[1024], bob[1024], foreign[1100];
    int status;
    open_session("/mcp/other", ANN, ann);
    open_session("/mcp/other", BOB, bob);
    assert_non_null(strstr(ask("POST /mcp/other", ann, PING, &status), "\"result\":{}"));
    assert_int_equal(status, 200);
    snprintf(foreign, sizeof foreign, BOB "%s", strstr(ann, "mcp-session-id"));
    char first[256];
    snprintf(first, sizeof first, "%s", ask("POST /mcp/other", foreign, PING, &status));
    assert_int_equal(status, 404);
    assert_string_equal(first, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"error\":{\"code\":-32001,"
                               "\"message\":\"Session not found\"}}");
    assert_string_equal(ask("POST /mcp/other", BOB "mcp-session-id: AAAA\r\n", PING, &status),
                        first);
    // The same principal's session of another profile is no session here either.
    assert_string_equal(ask("POST /mcp", ann, PING, &status), first);
    assert_int_equal(status, 404);
}

static void a_missing_session_is_400_unless_the_principal_names_the_sandbox(void **state)
{
    (void)state;
    int status;
    assert_non_null(strstr(ask("POST /mcp", ANN, PING, &status), "\"id\":\"p\""));
    assert_int_equal(status, 400);
    ask("POST /mcp/other", ANN, PING, &status);
    assert_int_equal(status, 200);
    ask("POST /mcp", BOB, PING, &status);
    assert_int_equal(status, 403);
    ask("POST /mcp/none", ANN, PING, &status);
    assert_int_equal(status, 404);
}

static void bad_requests_have_their_statuses(void **state)
{
    (void)state;
    int status;
    assert_non_null(strstr(ask("POST /mcp", ANN, "{", &status), "-32700"));
    assert_int_equal(status, 400);
    ask("POST /mcp", ANN "accept: text/html\r\n", PING, &status);
    assert_int_equal(status, 406);
    ask("POST /mcp", ANN "mcp-session-id: a\r\nmcp-session-id: b\r\n", PING, &status);
    assert_int_equal(status, 400);
    char large[8192];
    memset(large, ' ', sizeof large);
    large[sizeof large - 1] = '\0';
    ask("POST /mcp", ANN, large, &status);
    assert_int_equal(status, 413);
    ask(NULL, NULL, NULL, NULL);
    assert_int_equal(metric_value(metric_counter(
                         world.metrics, "wrist_requests_total", "route=\"mcp\",status=\"413\"",
                         "Requests by route and status; 0: closed unanswered.")),
                     1);
    struct client c;
    client_open(&c);
    client_send(&c, "POST /mcp", ANN "content-type: text/plain\r\ncontent-length: 2\r\n", NULL);
    client_text(&c);
    assert_int_equal(c.status, 415);
    client_close(&c);
}

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN(method) ANN BOTH "mcp-protocol-version: 2026-07-28\r\nmcp-method: " method "\r\n"
#define MODERN_REQUEST(method)                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" META "}}"
#define MODERN_CALL                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"B\\u00e4sh\"," \
    "\"arguments\":{}," META "}}"

static void discover_is_answered_at_once_even_without_a_card(void **state)
{
    (void)state;
    int status;
    const char *text =
        ask("POST /mcp", MODERN("server/discover"), MODERN_REQUEST("server/discover"), &status);
    assert_int_equal(status, 200);
    assert_non_null(
        strstr(text, "\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\""));
    assert_non_null(strstr(text, "\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\""));
    assert_non_null(strstr(text, "serverInfo\":{\"name\":\"w\""));
    world.has_card = false;
    text = ask("POST /mcp", MODERN("server/discover"), MODERN_REQUEST("server/discover"), &status);
    assert_int_equal(status, 200);
    assert_non_null(strstr(text, "\"capabilities\":{\"tools\":{}}"));
}

static void modern_requests_know_no_session_and_no_legacy_methods(void **state)
{
    (void)state;
    int status;
    struct client c;
    char id[64];
    client_open(&c);
    client_send(&c, "POST /mcp", MODERN("tools/list") "mcp-session-id: stale\r\n",
                MODERN_REQUEST("tools/list"));
    assert_non_null(strstr(client_text(&c), "\"ttlMs\":0,\"cacheScope\":\"private\",\"tools\":["));
    assert_int_equal(c.status, 200);
    client_header(&c, "mcp-session-id", id, sizeof id);
    assert_string_equal(id, "");
    client_close(&c);
    assert_non_null(strstr(
        ask("POST /mcp", MODERN("initialize"), MODERN_REQUEST("initialize"), &status), "-32601"));
    assert_int_equal(status, 404);
    ask("POST /mcp", MODERN("ping"), MODERN_REQUEST("ping"), &status);
    assert_int_equal(status, 404);
    assert_non_null(
        strstr(ask("POST /mcp", MODERN("x"), MODERN_REQUEST("tools/list"), &status), "-32020"));
    assert_int_equal(status, 400);
    ask("GET /mcp", ANN "mcp-protocol-version: 2026-07-28\r\n", NULL, &status);
    assert_int_equal(status, 405);
    ask("DELETE /mcp", ANN "mcp-protocol-version: 2026-07-28\r\n", NULL, &status);
    assert_int_equal(status, 405);
}

static void a_modern_call_goes_on_with_its_headers_made_again(void **state)
{
    (void)state;
    int status;
    assert_string_equal(ask("POST /mcp", MODERN("tools/call") "mcp-name: =?base64?QsOkc2g=?=\r\n",
                            MODERN_CALL, &status),
                        world.worker_answer);
    const char *seen = terminated(&world.worker_seen);
    assert_non_null(strstr(seen, "mcp-method: tools/call\n"));
    assert_non_null(strstr(seen, "mcp-name: =?base64?QsOkc2g=?=\n"));
    assert_non_null(strstr(seen, "mcp-protocol-version: 2026-07-28\n"));
    assert_null(strstr(seen, "wrist-session"));
    assert_string_equal(world.session, "");
    world.bind_fault = FAULT_LOST;
    assert_non_null(
        strstr(ask("POST /mcp", MODERN("tools/call") "mcp-name: =?base64?QsOkc2g=?=\r\n",
                   MODERN_CALL, &status),
               "{\"resultType\":\"complete\",\"content\""));
}

static void a_modern_client_that_leaves_cancels_its_call(void **state)
{
    (void)state;
    struct client c;
    world.mode = WORKER_WAITS;
    client_open(&c);
    client_send(&c, "POST /mcp", MODERN("tools/call") "mcp-name: =?base64?QsOkc2g=?=\r\n",
                MODERN_CALL);
    assert_int_equal(world.worker_calls, 1);
    client_close(&c);
    turn(20);
    assert_non_null(strstr(terminated(&world.worker_seen), "POST /cancel"));
    assert_int_equal(world.leases_live, 0);
}

static void listening_is_acknowledged_held_and_ended_with_a_result(void **state)
{
    (void)state;
    struct client c;
    client_open(&c);
    client_send(&c, "POST /mcp", MODERN("subscriptions/listen"),
                MODERN_REQUEST("subscriptions/listen"));
    assert_non_null(strstr(client_news(&c), "data: {\"jsonrpc\":\"2.0\",\"method\":"
                                            "\"notifications/subscriptions/acknowledged\""));
    assert_false(c.is_ended);
    clock_fake_advance_ms(&world.clock, 15001);
    turn(20);
    assert_string_equal(client_news(&c), ": wait\n\n");
    proxy_end_streams(world.proxy);
    turn(20);
    assert_non_null(strstr(client_news(&c), "subscriptionId\":1}}}"));
    assert_true(c.is_ended);
    client_close(&c);
}

static void lists_come_from_the_card_and_unknown_methods_are_errors(void **state)
{
    (void)state;
    char ann[1024];
    int status;
    open_session("/mcp", ANN, ann);
    assert_string_equal(
        ask("POST /mcp", ann, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", &status),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"Bash\",\"inputSchema\":"
        "{\"type\":\"object\"}}]}}");
    assert_non_null(
        strstr(ask("POST /mcp", ann, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\"}",
                   &status),
               "-32601"));
    assert_int_equal(status, 200);
    assert_non_null(strstr(ask("POST /mcp", ann,
                               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\","
                               "\"params\":{\"uri\":\"x\"}}",
                               &status),
                           "-32601"));
    assert_int_equal(world.binds, 0);
}

static void a_call_is_forwarded_byte_by_byte_and_answered_as_it_came(void **state)
{
    (void)state;
    char ann[1024], headers[1200];
    int status;
    open_session("/mcp", ANN, ann);
    snprintf(headers, sizeof headers, "%scookie: secret=1\r\ntraceparent: 00-1-2-01\r\n", ann);
    assert_string_equal(ask("POST /mcp", headers, CALL, &status), world.worker_answer);
    assert_int_equal(status, 200);
    const char *seen = terminated(&world.worker_seen);
    assert_non_null(strstr(seen, CALL));
    assert_non_null(strstr(seen, "authorization: Bearer link-secret\n"));
    assert_non_null(strstr(seen, "traceparent: 00-1-2-01\n"));
    assert_non_null(strstr(seen, world.session));
    assert_null(strstr(seen, "cookie"));
    assert_null(strstr(seen, "Bearer ann"));
    assert_null(strstr(seen, "mcp-session-id"));
}

static void a_slow_call_becomes_a_stream_with_comments_and_its_answer_an_event(void **state)
{
    (void)state;
    char ann[1024];
    struct client c;
    world.mode = WORKER_WAITS;
    open_session("/mcp", ANN, ann);
    client_open(&c);
    client_send(&c, "POST /mcp", ann, CALL);
    assert_int_equal(buffer_size(&c.in), 0);
    clock_fake_advance_ms(&world.clock, 2001);
    turn(20);
    client_text(&c);
    assert_int_equal(c.status, 200);
    char value[64];
    client_header(&c, "content-type", value, sizeof value);
    assert_string_equal(value, "text/event-stream");
    client_header(&c, "x-accel-buffering", value, sizeof value);
    assert_string_equal(value, "no");
    assert_string_equal(client_news(&c), ": wait\n\n");
    clock_fake_advance_ms(&world.clock, 15001);
    turn(20);
    assert_string_equal(client_news(&c), ": wait\n\n");
    worker_answer(world.worker_exchange, 200, "application/json", world.worker_answer);
    turn(40);
    // No line end inside the event.
    assert_string_equal(client_news(&c), "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,"
                                         "\"result\":{\"a\":1}}\n\n");
    assert_true(c.is_ended);
    client_close(&c);
}

static void a_worker_stream_is_passed_on_as_it_comes(void **state)
{
    (void)state;
    char ann[1024];
    struct client c;
    world.mode = WORKER_STREAMS;
    open_session("/mcp", ANN, ann);
    client_open(&c);
    client_send(&c, "POST /mcp", ann, CALL);
    exchange_write(world.worker_exchange, SPAN_LITERAL("data: {\"method\":\"x\"}\n\n"));
    turn(20);
    assert_non_null(strstr(client_text(&c), "data: {\"method\":\"x\"}\n\n"));
    client_news(&c);
    exchange_write(world.worker_exchange, SPAN_LITERAL("data: {\"id\":"));
    turn(20);
    clock_fake_advance_ms(&world.clock, 15001);
    turn(20);
    assert_string_equal(client_news(&c), "data: {\"id\":"); // no comment inside an event
    exchange_write(world.worker_exchange, SPAN_LITERAL("7}\n\n"));
    exchange_end(world.worker_exchange);
    turn(40);
    assert_string_equal(client_news(&c), "7}\n\n");
    assert_true(c.is_ended);
    client_close(&c);
}

static void a_cold_start_is_bridged_by_comments(void **state)
{
    (void)state;
    char ann[1024];
    struct client c;
    world.bind_holds = true;
    open_session("/mcp", ANN, ann);
    client_open(&c);
    client_send(&c, "POST /mcp", ann, CALL);
    clock_fake_advance_ms(&world.clock, 2001);
    turn(20);
    assert_non_null(strstr(client_text(&c), ": wait\n\n"));
    binder_goes_on();
    turn(60);
    assert_non_null(strstr(client_text(&c), "\"a\":1}}\n\n"));
    client_close(&c);
}

static void a_client_of_json_alone_waits_for_json(void **state)
{
    (void)state;
    char ann[1024], headers[1100];
    struct client c;
    world.mode = WORKER_WAITS;
    open_session("/mcp", ANN, ann);
    snprintf(headers, sizeof headers, ANN JSON "%s", strstr(ann, "mcp-session-id"));
    client_open(&c);
    client_send(&c, "POST /mcp", headers, CALL);
    clock_fake_advance_ms(&world.clock, 20000);
    turn(20);
    assert_int_equal(buffer_size(&c.in), 0);
    worker_answer(world.worker_exchange, 200, "application/json", world.worker_answer);
    turn(40);
    assert_string_equal(client_text(&c), world.worker_answer);
    client_close(&c);
}

static void a_client_of_events_alone_gets_events(void **state)
{
    (void)state;
    char ann[1024], headers[1100];
    int status;
    open_session("/mcp", ANN, ann);
    snprintf(headers, sizeof headers, ANN "accept: text/event-stream\r\n%s",
             strstr(ann, "mcp-session-id"));
    assert_non_null(strstr(ask("POST /mcp", headers, PING, &status), "data: {\"jsonrpc\""));
    assert_int_equal(status, 200);
    // But a status that means something stays one.
    ask("POST /mcp", ANN "accept: text/event-stream\r\nmcp-session-id: AAAA\r\n", PING, &status);
    assert_int_equal(status, 404);
}

static void a_session_that_the_worker_forgot_is_bound_and_sent_once_again(void **state)
{
    (void)state;
    char ann[1024];
    int status;
    open_session("/mcp", ANN, ann);
    world.mode = WORKER_FORGOT;
    assert_string_equal(ask("POST /mcp", ann, CALL, &status), world.worker_answer);
    assert_int_equal(world.rebinds, 1);
    assert_int_equal(world.worker_calls, 2);
}

static void a_link_that_breaks_after_sending_is_told_and_never_sent_again(void **state)
{
    (void)state;
    char ann[1024];
    int status;
    open_session("/mcp", ANN, ann);
    world.mode = WORKER_DIES;
    const char *text = ask("POST /mcp", ann, CALL, &status);
    assert_non_null(strstr(text, "may have run"));
    assert_non_null(strstr(text, "\"id\":7,\"error\""));
    assert_int_equal(status, 200);
    assert_int_equal(world.worker_calls, 1);
    assert_int_equal(world.lost_reports, 1);
}

static void a_lost_workspace_is_told_as_a_result_of_the_tool(void **state)
{
    (void)state;
    char ann[1024];
    int status;
    open_session("/mcp", ANN, ann);
    world.bind_fault = FAULT_LOST;
    const char *text = ask("POST /mcp", ann, CALL, &status);
    assert_int_equal(status, 200);
    assert_non_null(strstr(text, "\"isError\":true"));
    assert_non_null(strstr(text, "workspace is gone"));
    assert_int_equal(world.worker_calls, 0);
}

static void binder_failures_have_their_statuses(void **state)
{
    (void)state;
    static const struct {
        int fault, status;
        const char *code;
    } rows[] = {
        {FAULT_QUOTA, 429, "4290"},
        {FAULT_UNAVAILABLE, 503, "5030"},
        {FAULT_TIMEOUT, 503, "5030"},
        {FAULT_NOT_FOUND, 404, "-32001"},
    };
    char ann[1024], retry[32];
    open_session("/mcp", ANN, ann);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct client c;
        world.bind_fault = rows[i].fault;
        client_open(&c);
        client_send(&c, "POST /mcp", ann, CALL);
        assert_non_null(strstr(client_text(&c), rows[i].code));
        assert_non_null(strstr(client_text(&c), "\"id\":7"));
        assert_int_equal(c.status, rows[i].status);
        client_header(&c, "retry-after", retry, sizeof retry);
        assert_string_equal(retry, rows[i].status == 404 ? "" : "3");
        client_close(&c);
    }
}

static void notifications_are_202_without_a_body_and_cancellation_goes_on(void **state)
{
    (void)state;
    char ann[1024];
    struct client c;
    int status;
    world.mode = WORKER_WAITS;
    open_session("/mcp", ANN, ann);
    world.reach_fault = FAULT_LOST;
    const char *cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                         "{\"requestId\":7}}";
    assert_string_equal(ask("POST /mcp", ann, cancel, &status), "");
    assert_int_equal(status, 202);
    assert_int_equal(buffer_size(&world.worker_seen), 0); // nothing is bound
    client_open(&c);
    client_send(&c, "POST /mcp", ann, CALL);
    world.reach_fault = 0;
    ask("POST /mcp", ann, cancel, &status);
    assert_int_equal(status, 202);
    assert_non_null(strstr(terminated(&world.worker_seen), cancel));
    client_close(&c);
    assert_non_null(world.worker_exchange); // the client left: the call goes on
    worker_answer(world.worker_exchange, 200, "application/json", "{}");
    turn(40);
    assert_int_equal(world.leases_live, 0);
}

static void a_call_whose_client_left_does_not_outlive_the_proxy(void **state)
{
    (void)state;
    char ann[1024];
    struct client c;
    world.mode = WORKER_WAITS;
    open_session("/mcp", ANN, ann);
    client_open(&c);
    client_send(&c, "POST /mcp", ann, CALL);
    client_close(&c);
    assert_int_equal(world.leases_live, 1); // and world_close counts again
}

static void a_client_that_leaves_before_the_sandbox_is_there_sends_nothing(void **state)
{
    (void)state;
    char ann[1024];
    struct client c;
    world.bind_holds = true;
    open_session("/mcp", ANN, ann);
    client_open(&c);
    client_send(&c, "POST /mcp", ann, CALL);
    client_close(&c);
    binder_goes_on();
    turn(40);
    assert_int_equal(world.worker_calls, 0);
    assert_int_equal(world.leases_live, 0);
}

static void a_call_that_takes_too_long_is_cancelled_in_the_worker(void **state)
{
    (void)state;
    char ann[1024];
    struct client c;
    world.mode = WORKER_WAITS;
    open_session("/mcp", ANN, ann);
    client_open(&c);
    client_send(&c, "POST /mcp", ann, CALL);
    clock_fake_advance_ms(&world.clock, 600001);
    turn(60);
    assert_non_null(strstr(client_text(&c), "took longer than 600 s"));
    assert_non_null(strstr(terminated(&world.worker_seen), "POST /cancel"));
    client_close(&c);
}

static void delete_is_204_and_then_everything_is_404(void **state)
{
    (void)state;
    char ann[1024];
    int status;
    open_session("/mcp", ANN, ann);
    ask("DELETE /mcp", ANN, NULL, &status);
    assert_int_equal(status, 400);
    ask("DELETE /mcp", ann, NULL, &status);
    assert_int_equal(status, 204);
    ask("DELETE /mcp", ann, NULL, &status);
    assert_int_equal(status, 404);
    ask("POST /mcp", ann, PING, &status);
    assert_int_equal(status, 404);
    ask("GET /mcp", ann, NULL, &status);
    assert_int_equal(status, 404);
}

static void a_batch_is_answered_as_one(void **state)
{
    (void)state;
    char headers[1100];
    int status;
    struct client c;
    char id[600];
    client_open(&c);
    client_send(&c, "POST /mcp", ANN BOTH,
                "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
                "{\"protocolVersion\":\"2025-03-26\"}}");
    client_header(&c, "mcp-session-id", id, sizeof id);
    client_close(&c);
    const char *batch =
        "[" PING ",{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}," CALL "]";
    snprintf(headers, sizeof headers, ANN JSON "mcp-session-id: %s\r\n", id);
    const char *text = ask("POST /mcp", headers, batch, &status);
    assert_int_equal(status, 200);
    assert_non_null(strstr(text, "[{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}"));
    assert_non_null(strstr(text, "\"a\":1}}"));
    snprintf(headers, sizeof headers, ANN BOTH "mcp-session-id: %s\r\n", id);
    text = ask("POST /mcp", headers, batch, &status);
    assert_non_null(strstr(text, "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}\n\n"));
    ask("POST /mcp", headers, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]",
        &status);
    assert_int_equal(status, 202);
}

static void a_handle_names_a_sandbox_of_its_owner(void **state)
{
    (void)state;
    struct handle_name name = {.sandbox = "00112233445566778899aabbccddeeff", .profile = "trial"};
    struct buffer text;
    char line[600], ann[1024];
    int status;
    buffer_init(&text, 512);
    assert_int_equal(handle_name_seal(world.ring, "", &name, &text), 0);
    snprintf(line, sizeof line, "/s/%.*s/mcp", SPAN_ARGS(buffer_span(&text)));
    open_session(line, ANN, ann);
    snprintf(line, sizeof line, "POST /s/%.*s/mcp/", SPAN_ARGS(buffer_span(&text)));
    assert_string_equal(ask(line, ann, CALL, &status), world.worker_answer);
    assert_string_equal(ask(line, ANN, CALL, &status),
                        world.worker_answer); // also without a session
    world.knows_sandbox = false;
    assert_non_null(strstr(ask(line, ann, CALL, &status), "-32001"));
    assert_int_equal(status, 404);
    assert_non_null(strstr(ask(line, ANN, CALL, &status), "\"isError\":true"));
    assert_int_equal(status, 200);
    assert_non_null(strstr(ask(line, ANN, PING, &status), "4040"));
    assert_int_equal(status, 404);
    assert_non_null(strstr(ask("POST /s/AAAA/mcp", ANN, PING, &status), "4040"));
    assert_int_equal(status, 404);
    buffer_fini(&text);
}

static void handles_and_session_ids_do_not_open_as_each_other(void **state)
{
    (void)state;
    struct handle_name handle = {.sandbox = "00112233445566778899aabbccddeeff", .profile = "trial"};
    struct session_name session = {.id = "ffeeddccbbaa99887766554433221100",
                                   .issued_ms = 1234567890123,
                                   .revision = MCP_REVISION_2025_06_18,
                                   .provider = "bedrock-strict"};
    struct buffer text;
    struct span place = SPAN_LITERAL("trial");
    buffer_init(&text, 512);
    handle_name_seal(world.ring, "", &handle, &text);
    struct session_name opened;
    struct handle_name named;
    assert_int_equal(handle_name_open(world.ring, "", buffer_span(&text), &named), 0);
    assert_string_equal(named.sandbox, handle.sandbox);
    assert_string_equal(named.profile, handle.profile);
    assert_int_equal(session_name_open(world.ring, world.ann, place, buffer_span(&text), &opened),
                     FAULT_NOT_FOUND);
    buffer_clear(&text);
    handle_name_seal(world.ring, "bob", &handle, &text);
    assert_int_equal(handle_name_open(world.ring, "bob", buffer_span(&text), &named), 0);
    assert_string_equal(named.sandbox, handle.sandbox);
    assert_int_equal(handle_name_open(world.ring, "ann", buffer_span(&text), &named),
                     FAULT_NOT_FOUND);
    assert_int_equal(handle_name_open(world.ring, "", buffer_span(&text), &named), FAULT_NOT_FOUND);
    buffer_clear(&text);
    session_name_seal(world.ring, world.ann, place, &session, &text);
    assert_int_equal(handle_name_open(world.ring, "", buffer_span(&text), &named), FAULT_NOT_FOUND);
    assert_int_equal(session_name_open(world.ring, world.bob, place, buffer_span(&text), &opened),
                     FAULT_NOT_FOUND);
    assert_int_equal(session_name_open(world.ring, world.ann, place, buffer_span(&text), &opened),
                     0);
    assert_string_equal(opened.id, session.id);
    assert_int_equal(opened.issued_ms, session.issued_ms);
    assert_int_equal(opened.revision, session.revision);
    assert_string_equal(opened.provider, session.provider);
    buffer_fini(&text);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)
    const struct CMUnitTest tests[] = {
        T(what_comes_before_authentication_is_answered_without_it),
        T(a_foreign_host_is_refused_on_loopback),
        T(initialize_is_answered_from_the_card_and_binds_nothing),
        T(initialize_waits_for_the_card_with_comments),
        T(initialize_without_a_card_ends_in_503_at_the_start_deadline),
        T(sessions_of_others_and_unknown_ones_get_the_same_404),
        T(a_missing_session_is_400_unless_the_principal_names_the_sandbox),
        T(bad_requests_have_their_statuses),
        T(discover_is_answered_at_once_even_without_a_card),
        T(modern_requests_know_no_session_and_no_legacy_methods),
        T(a_modern_call_goes_on_with_its_headers_made_again),
        T(a_modern_client_that_leaves_cancels_its_call),
        T(listening_is_acknowledged_held_and_ended_with_a_result),
        T(lists_come_from_the_card_and_unknown_methods_are_errors),
        T(a_call_is_forwarded_byte_by_byte_and_answered_as_it_came),
        T(a_slow_call_becomes_a_stream_with_comments_and_its_answer_an_event),
        T(a_worker_stream_is_passed_on_as_it_comes),
        T(a_cold_start_is_bridged_by_comments),
        T(a_client_of_json_alone_waits_for_json),
        T(a_client_of_events_alone_gets_events),
        T(a_session_that_the_worker_forgot_is_bound_and_sent_once_again),
        T(a_link_that_breaks_after_sending_is_told_and_never_sent_again),
        T(a_lost_workspace_is_told_as_a_result_of_the_tool),
        T(binder_failures_have_their_statuses),
        T(notifications_are_202_without_a_body_and_cancellation_goes_on),
        T(a_call_whose_client_left_does_not_outlive_the_proxy),
        T(a_client_that_leaves_before_the_sandbox_is_there_sends_nothing),
        T(a_call_that_takes_too_long_is_cancelled_in_the_worker),
        T(delete_is_204_and_then_everything_is_404),
        T(a_batch_is_answered_as_one),
        T(a_handle_names_a_sandbox_of_its_owner),
        T(handles_and_session_ids_do_not_open_as_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
