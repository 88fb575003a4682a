// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/gateway/lib/http/h2_peer.h"

static void requests_are_answered_however_they_are_cut(void **state)
{
    (void)state;
    const size_t pieces[] = {1, 3, 64, 20000};
    for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
        struct rig rig;
        struct peer peer;
        struct upload upload = {1000};
        rig_open(&rig, pieces[i], NULL);
        open_peer(&peer, &rig);
        int32_t get = ask(&peer, "/", NULL), post = ask(&peer, "/echo", &upload);
        rig_turns(&rig, 3000);
        assert_int_equal(peer.status[get], 200);
        assert_int_equal(peer.bytes[get], 5);
        assert_int_equal(peer.status[post], 200);
        assert_int_equal(peer.bytes[post], 1000);
        assert_true(peer.closed[get] && peer.closed[post]);
        assert_int_equal(rig.closed_well, 2);
        close_peer(&peer);
    }
}

static void resets_and_aborts_are_told_to_the_other_side(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    struct failure why;
    rig_open(&rig, 1000, NULL);
    open_peer(&peer, &rig);
    int32_t id = ask(&peer, "/hold", NULL);
    rig_turns(&rig, 10);
    nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    flush(&peer);
    rig_turns(&rig, 10);
    assert_int_equal(rig.closed, 1);
    assert_int_equal(rig.last_fault, FAULT_CANCELLED);
    id = ask(&peer, "/hold", NULL);
    rig_turns(&rig, 10);
    failure_set(&why, FAULT_LOST, "gone");
    exchange_abort(rig.held, &why);
    assert_int_equal(rig.closed, 1); // told from the loop only
    rig_turns(&rig, 10);
    assert_int_equal(rig.closed, 2);
    assert_int_equal(peer.code[id], NGHTTP2_INTERNAL_ERROR);
    close_peer(&peer);
}

static void a_connection_that_had_not_spoken_when_draining_began_is_served_and_told(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 1000, NULL);
    http_server_drain(rig.server, NULL, NULL);
    rig_turns(&rig, 5);
    open_peer(&peer, &rig);
    int32_t get = ask(&peer, "/", NULL);
    rig_turns(&rig, 20);
    assert_int_equal(peer.status[get], 200);
    assert_int_equal(peer.goaways, 1);
    assert_false(rig.client_ended);
    rig_wait_ms(&rig, 1250);
    assert_true(rig.client_ended);
    close_peer(&peer);
}

// The first GOAWAY and the request pass each other; PI-239.
static void
a_request_on_its_way_to_an_idle_connection_when_draining_begins_is_answered(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 1000, NULL);
    open_peer(&peer, &rig);
    int32_t first = ask(&peer, "/", NULL);
    rig_turns(&rig, 20);
    assert_int_equal(peer.status[first], 200);
    http_server_drain(rig.server, NULL, NULL);
    loop_turn(rig.loop, false); // the server has said it, the client has not read it
    assert_int_equal(peer.goaways, 0);
    int32_t second = ask(&peer, "/", NULL);
    rig_turns(&rig, 20);
    assert_int_equal(peer.goaways, 1);
    assert_int_equal(peer.status[second], 200);
    close_peer(&peer);
}

static void draining_says_goodbye_in_two_steps(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 1000, NULL);
    open_peer(&peer, &rig);
    int32_t held = ask(&peer, "/hold", NULL);
    rig_turns(&rig, 10);
    http_server_drain(rig.server, NULL, NULL);
    rig_turns(&rig, 10);
    assert_int_equal(peer.goaways, 1);
    assert_int_equal(peer.goaway_last, INT32_MAX);
    rig_wait_ms(&rig, 1500);
    assert_int_equal(peer.goaways, 2);
    assert_int_equal(peer.goaway_last, held);
    assert_int_equal(peer.goaway_code, NGHTTP2_NO_ERROR);
    assert_int_equal(rig.closed, 0);
    rig_answer(rig.held, 200, SPAN_LITERAL("late"));
    rig_turns(&rig, 10);
    assert_int_equal(peer.bytes[held], 4);
    assert_true(rig.client_ended);
    close_peer(&peer);
}

static void heads_past_the_bound_get_431(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    static char big[40000];
    memset(big, 'b', sizeof big - 1);
    struct http_server_limits limits;
    http_server_limits_default(&limits);
    limits.head_bytes = 32 * 1024;
    rig_open(&rig, 20000, &limits);
    open_peer(&peer, &rig);
    const nghttp2_nv nv[] = {NV(":method", "GET"), NV(":path", "/"), NV(":scheme", "http"),
                             NV(":authority", "a"), NV("x-big", big)};
    int32_t id = nghttp2_submit_request(peer.session, NULL, nv, 5, NULL, NULL);
    flush(&peer);
    rig_turns(&rig, 20);
    assert_int_equal(peer.status[id], 431);
    assert_int_equal(rig.requests, 0);
    assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_HEAD_TOO_LARGE], 1);
    close_peer(&peer);
}

static void two_hosts_are_refused(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 20000, NULL);
    open_peer(&peer, &rig);
    const nghttp2_nv nv[] = {NV(":method", "GET"), NV(":path", "/"), NV(":scheme", "http"),
                             NV(":authority", "a"), NV("host", "b")};
    int32_t id = nghttp2_submit_request(peer.session, NULL, nv, 5, NULL, NULL);
    flush(&peer);
    rig_turns(&rig, 20);
    assert_int_equal(peer.status[id], 400);
    assert_int_equal(rig.requests, 0);
    close_peer(&peer);
}

static void an_idle_connection_is_ended(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    ask(&peer, "/", NULL);
    rig_wait_ms(&rig, 119000);
    assert_int_equal(peer.goaways, 0);
    rig_wait_ms(&rig, 2000);
    assert_int_equal(peer.goaways, 1);
    assert_true(rig.client_ended);
    close_peer(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered_however_they_are_cut),
        cmocka_unit_test(resets_and_aborts_are_told_to_the_other_side),
        cmocka_unit_test(a_connection_that_had_not_spoken_when_draining_began_is_served_and_told),
        cmocka_unit_test(
            a_request_on_its_way_to_an_idle_connection_when_draining_begins_is_answered),
        cmocka_unit_test(draining_says_goodbye_in_two_steps),
        cmocka_unit_test(heads_past_the_bound_get_431),
        cmocka_unit_test(two_hosts_are_refused),
        cmocka_unit_test(an_idle_connection_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
