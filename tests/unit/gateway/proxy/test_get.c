// SPDX-License-Identifier: Apache-2.0
// GET: held streams, and those that are read again.
#include "tests/unit/gateway/proxy/fixture.h"

static void get_is_a_held_stream_and_a_second_one_takes_over(void **state)
{
    (void)state;
    char ann[1024];
    struct client first, second;
    int status;
    ask("GET /mcp", ANN, NULL, &status);
    assert_int_equal(status, 405);
    ask("GET /mcp", ANN "mcp-session-id: AAAA\r\n", NULL, &status);
    assert_int_equal(status, 404);
    open_session("/mcp", ANN, ann);
    client_open(&first);
    client_send(&first, "GET /mcp", ann, NULL);
    assert_string_equal(client_news(&first), ": wait\n\n");
    assert_int_equal(first.status, 200);
    clock_fake_advance_ms(&world.clock, 15001);
    turn(20);
    assert_string_equal(client_news(&first), ": wait\n\n");
    assert_false(first.is_ended);
    client_open(&second);
    client_send(&second, "GET /mcp", ann, NULL);
    assert_string_equal(client_news(&second), ": wait\n\n");
    client_text(&first);
    assert_true(first.is_ended);
    ask("DELETE /mcp", ann, NULL, &status);
    assert_int_equal(status, 204);
    turn(20);
    client_text(&second);
    assert_true(second.is_ended);
    client_close(&first);
    client_close(&second);
}

static void worker_says(const char *text)
{
    exchange_write(world.worker_exchange, span_from_string(text));
    turn(40);
}

static void a_stream_is_read_again_from_the_worker_until_its_end(void **state)
{
    (void)state;
    char ann[1200];
    struct client c;
    world.mode = WORKER_STREAMS;
    open_session("/mcp", ANN, ann);
    size_t size = strlen(ann);
    snprintf(ann + size, sizeof ann - size, "last-event-id: a-1\r\n");
    client_open(&c);
    client_send(&c, "GET /mcp", ann, NULL);
    assert_non_null(strstr(terminated(&world.worker_seen), "GET /mcp\n"));
    assert_non_null(strstr(terminated(&world.worker_seen), "last-event-id: a-1\n"));
    assert_string_equal(client_news(&c), ": wait\n\n");
    worker_says("id: a-2\nevent: mess");
    clock_fake_advance_ms(&world.clock, 15001); // nothing comes between the pieces of an event
    turn(20);
    worker_says("age\ndata: {}\n\n");
    assert_string_equal(client_news(&c), "id: a-2\nevent: message\ndata: {}\n\n");
    exchange_end(world.worker_exchange);
    turn(40);
    client_text(&c);
    assert_true(c.is_ended);
    assert_int_equal(world.leases_live, 0);
    client_close(&c);
}

static void a_client_that_leaves_a_stream_that_it_reads_again_cancels_nothing(void **state)
{
    (void)state;
    char ann[1200];
    struct client c;
    world.mode = WORKER_STREAMS;
    open_session("/mcp", ANN, ann);
    size_t size = strlen(ann);
    snprintf(ann + size, sizeof ann - size, "last-event-id: a-1\r\n");
    client_open(&c);
    client_send(&c, "GET /mcp", ann, NULL);
    client_close(&c);
    turn(40);
    assert_null(world.worker_exchange);
    assert_null(strstr(terminated(&world.worker_seen), "POST"));
    assert_int_equal(world.leases_live, 0);
    // Nor does the gateway's own end, which is a clean one for the client.
    client_open(&c);
    client_send(&c, "GET /mcp", ann, NULL);
    proxy_end_streams(world.proxy);
    turn(40);
    client_text(&c);
    assert_true(c.is_ended);
    assert_null(strstr(terminated(&world.worker_seen), "POST"));
    client_close(&c);
}

// mcp-wire §10: some clients ask again for a stream whose answer they have.
static void where_nothing_can_come_the_stream_is_held_and_takes_none_over(void **state)
{
    static const int reach_faults[] = {0, FAULT_LOST};
    (void)state;
    char ann[1200];
    struct client held, c[2];
    world.mode = WORKER_IS_EMPTY;
    open_session("/mcp", ANN, ann);
    size_t size = strlen(ann);
    client_open(&held);
    client_send(&held, "GET /mcp", ann, NULL);
    snprintf(ann + size, sizeof ann - size, "last-event-id: a-1\r\n");
    for (size_t i = 0; i < ARRAY_COUNT(reach_faults); i++) {
        world.reach_fault = reach_faults[i];
        client_open(&c[i]);
        client_send(&c[i], "GET /mcp", ann, NULL);
        assert_string_equal(client_text(&c[i]), ": wait\n\n");
    }
    client_text(&held);
    assert_false(held.is_ended);
    assert_false(c[0].is_ended);
    assert_false(c[1].is_ended);
    assert_int_equal(world.leases_live, 0);
    client_close(&c[0]);
    client_close(&c[1]);
    client_close(&held);
}

static void a_stream_of_a_session_that_ended_is_404_and_of_a_silent_sandbox_503(void **state)
{
    (void)state;
    char ann[1200];
    int status;
    open_session("/mcp", ANN, ann);
    size_t size = strlen(ann);
    snprintf(ann + size, sizeof ann - size, "last-event-id: a-1\r\n");
    world.reach_fault = FAULT_NOT_FOUND;
    ask("GET /mcp", ann, NULL, &status);
    assert_int_equal(status, 404);
    world.reach_fault = FAULT_UNAVAILABLE;
    ask("GET /mcp", ann, NULL, &status);
    assert_int_equal(status, 503);
}

#define T(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(get_is_a_held_stream_and_a_second_one_takes_over),
        T(a_stream_is_read_again_from_the_worker_until_its_end),
        T(a_client_that_leaves_a_stream_that_it_reads_again_cancels_nothing),
        T(where_nothing_can_come_the_stream_is_held_and_takes_none_over),
        T(a_stream_of_a_session_that_ended_is_404_and_of_a_silent_sandbox_503),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
