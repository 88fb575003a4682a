// SPDX-License-Identifier: Apache-2.0
// Flow control, both ways: what is not read waits within its bound and stops no other.
#include "tests/unit/gateway/lib/http/h2_peer.h"

static size_t buffered(const struct rig *rig)
{
    return http_server_counters(rig->server)->bytes_buffered;
}

// ---- what the client sends

static void uploads_that_nobody_reads_stop_no_other(void **state)
{
    (void)state;
    enum { STUCK = 8, WINDOW = 64 * 1024 };
    struct rig rig;
    struct peer peer;
    struct upload stuck[STUCK], upload = {200 * 1000};
    int32_t ids[STUCK];
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    for (int i = 0; i < STUCK; i++) {
        stuck[i] = (struct upload){100 * 1000};
        ids[i] = ask(&peer, "/hold", &stuck[i]);
        rig_turns(&rig, 20);
    }
    assert_int_equal(buffered(&rig), STUCK * WINDOW); // each filled its own window
    int32_t echo = ask(&peer, "/echo", &upload), get = ask(&peer, "/", NULL);
    rig_turns(&rig, 200);
    assert_int_equal(peer.status[get], 200);
    assert_int_equal(peer.status[echo], 200);
    assert_int_equal(peer.bytes[echo], 200 * 1000);
    assert_int_equal(buffered(&rig), STUCK * WINDOW);
    for (int i = 0; i < STUCK; i++)
        assert_int_equal(peer.status[ids[i]], 0);
    close_peer(&peer);
}

// Past the bound the connection's window shuts, for bodies alone, until somebody reads or goes.
static void uploads_that_nobody_reads_wait_within_the_connections_bound(void **state)
{
    (void)state;
    enum { STUCK = 60, BOUND = 2 * 1024 * 1024 };
    struct rig rig;
    struct peer peer;
    struct upload stuck[STUCK], upload = {200 * 1000};
    int32_t ids[STUCK];
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    for (int i = 0; i < STUCK; i++) {
        stuck[i] = (struct upload){100 * 1000};
        ids[i] = ask(&peer, "/hold", &stuck[i]);
        rig_turns(&rig, 20);
        assert_true(buffered(&rig) <= BOUND);
    }
    assert_int_equal(rig.requests, STUCK); // heads come through whatever bodies do
    int32_t echo = ask(&peer, "/echo", &upload), get = ask(&peer, "/", NULL);
    rig_turns(&rig, 200);
    assert_int_equal(peer.status[get], 200);
    assert_int_equal(peer.status[echo], 0);
    for (int i = 0; i < STUCK; i++)
        nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, ids[i], NGHTTP2_CANCEL);
    flush(&peer);
    rig_turns(&rig, 300);
    assert_int_equal(peer.status[echo], 200);
    assert_int_equal(peer.bytes[echo], 200 * 1000);
    assert_int_equal(buffered(&rig), 0);
    close_peer(&peer);
}

static void a_streams_window_opens_as_the_handler_consumes(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    struct upload upload = {150 * 1000};
    rig_open(&rig, 16 * 1024, NULL);
    open_peer(&peer, &rig);
    int32_t id = ask(&peer, "/hold", &upload);
    rig_turns(&rig, 100);
    assert_int_equal(nghttp2_session_get_stream_remote_window_size(peer.session, id), 0);
    assert_int_equal(upload.left, 150 * 1000 - 65536);
    exchange_read_body(rig.held, 1000 * 1000);
    rig_turns(&rig, 100);
    assert_int_equal(upload.left, 0);
    assert_int_equal(rig.body_bytes, 150 * 1000);
    assert_int_equal(peer.status[id], 200);
    close_peer(&peer);
}

// ---- what the client reads

static void an_answer_waits_for_the_clients_window_and_not_for_ever(void **state)
{
    (void)state;
    const struct http_response head = {.status = 200, .content_length = -1};
    static char block[16 * 1024];
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    peer.no_reading = true;
    int32_t id = ask(&peer, "/hold", NULL);
    rig_turns(&rig, 10);
    exchange_start(rig.held, &head);
    while (!exchange_is_choked(rig.held))
        exchange_write(rig.held, span_of(block, sizeof block));
    rig_turns(&rig, 50);
    assert_int_equal(peer.bytes[id], 65535);
    assert_int_equal(rig.drained, 0);
    peer.no_reading = false;
    nghttp2_session_consume(peer.session, id, peer.bytes[id]);
    flush(&peer);
    rig_turns(&rig, 100);
    assert_int_equal(rig.drained, 1);
    peer.no_reading = true;
    while (!exchange_is_choked(rig.held))
        exchange_write(rig.held, span_of(block, sizeof block));
    rig_wait_ms(&rig, 95000);
    assert_int_equal(rig.closed, 1);
    assert_int_equal(rig.last_fault, FAULT_SLOW);
    assert_true(peer.closed[id]);
    close_peer(&peer);
}

static void set_windows(struct peer *peer, uint32_t each_stream)
{
    const nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, each_stream};
    nghttp2_submit_settings(peer->session, NGHTTP2_FLAG_NONE, &entry, 1);
    nghttp2_session_set_local_window_size(peer->session, NGHTTP2_FLAG_NONE, 0, 1 << 20);
    flush(peer);
    rig_turns(peer->rig, 10);
}

static void open_window(struct peer *peer, int32_t id, int32_t bytes)
{
    nghttp2_submit_window_update(peer->session, NGHTTP2_FLAG_NONE, id, bytes);
    flush(peer);
}

static struct exchange *ask_and_hold(struct peer *peer, int32_t *id)
{
    *id = ask(peer, "/hold", NULL);
    rig_turns(peer->rig, 10);
    assert_non_null(peer->rig->held);
    return peer->rig->held;
}

static void answers_whose_windows_never_open_stop_no_other(void **state)
{
    (void)state;
    enum { STUCK = 8, BLOCK = 16 * 1024, OTHERS = 20, SIZE = 100 * 1000 };
    const struct http_response head = {.status = 200, .content_length = -1};
    static char block[SIZE];
    struct rig rig;
    struct peer peer;
    struct http_server_limits limits;
    int32_t stuck[STUCK], id;
    http_server_limits_default(&limits);
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    set_windows(&peer, 0);
    for (int i = 0; i < STUCK; i++) {
        struct exchange *ex = ask_and_hold(&peer, &stuck[i]);
        exchange_start(ex, &head);
        while (!exchange_is_choked(ex))
            exchange_write(ex, span_of(block, BLOCK));
    }
    size_t waiting = buffered(&rig);
    assert_true(waiting <= STUCK * (limits.high_water + BLOCK));
    for (int i = 0; i < OTHERS; i++) {
        struct exchange *ex = ask_and_hold(&peer, &id);
        rig_answer(ex, 200, span_of(block, SIZE));
        open_window(&peer, id, SIZE);
        rig_turns(&rig, 50);
        assert_int_equal(peer.bytes[id], SIZE);
        assert_true(peer.closed[id]);
    }
    assert_int_equal(buffered(&rig), waiting);
    ask_and_hold(&peer, &id); // nothing waits on it, so it may last
    rig_wait_ms(&rig, limits.write_timeout_ms * 3 / 2);
    for (int i = 0; i < STUCK; i++) {
        assert_int_equal(peer.bytes[stuck[i]], 0);
        assert_int_equal(peer.code[stuck[i]], NGHTTP2_ENHANCE_YOUR_CALM);
    }
    assert_int_equal(buffered(&rig), 0);
    assert_false(peer.closed[id]);
    assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_SLOW_READER], 1);
    close_peer(&peer);
}

static void a_window_of_one_byte_gets_one_byte_at_a_time(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    set_windows(&peer, 1);
    peer.no_reading = true; // no window updates but these
    int32_t id = ask(&peer, "/", NULL);
    for (size_t got = 1; got <= 5; got++) {
        rig_turns(&rig, 10);
        assert_int_equal(peer.bytes[id], got);
        open_window(&peer, id, 1);
    }
    rig_turns(&rig, 10);
    assert_true(peer.closed[id]);
    assert_int_equal(rig.closed_well, 1);
    close_peer(&peer);
}

static void a_reader_that_trickles_is_ended_and_one_at_the_least_rate_is_not(void **state)
{
    (void)state;
    static char block[100 * 1000];
    struct rig rig;
    struct peer peer;
    struct http_server_limits limits;
    int32_t slow, fair;
    http_server_limits_default(&limits);
    limits.least_rate = 100;
    rig_open(&rig, 64 * 1024, &limits);
    open_peer(&peer, &rig);
    set_windows(&peer, 0);
    peer.no_reading = true;
    rig_answer(ask_and_hold(&peer, &slow), 200, span_of(block, sizeof block));
    rig_answer(ask_and_hold(&peer, &fair), 200, span_of(block, sizeof block));
    for (int i = 0; i < 24; i++) {
        if (!peer.closed[slow])
            open_window(&peer, slow, 5);
        open_window(&peer, fair, 2000);
        rig_wait_ms(&rig, 10000);
    }
    assert_true(peer.closed[slow]);
    assert_int_equal(peer.code[slow], NGHTTP2_ENHANCE_YOUR_CALM);
    assert_false(peer.closed[fair]);
    assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_SLOW_READER], 1);
    close_peer(&peer);
}

// Work that comes to nothing earns no patience: a long answer in bytes is a flood.
static void a_long_answer_byte_by_byte_ends_the_connection(void **state)
{
    (void)state;
    static char block[100 * 1000];
    struct rig rig;
    struct peer peer;
    int32_t id;
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    set_windows(&peer, 1);
    peer.no_reading = true;
    rig_answer(ask_and_hold(&peer, &id), 200, span_of(block, sizeof block));
    for (int i = 0; i < 3000 && peer.goaways == 0; i++) {
        open_window(&peer, id, 1);
        rig_turns(&rig, 3);
    }
    rig_turns(&rig, 10);
    assert_int_equal(peer.goaways, 1);
    assert_int_equal(peer.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(peer.bytes[id] < 1500);
    assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_CONTROL_FLOOD], 1);
    assert_int_equal(buffered(&rig), 0);
    close_peer(&peer);
}

// An event a frame, each acknowledged at once: that is how some clients read, and no flood.
static void many_small_events_each_acknowledged_are_no_flood(void **state)
{
    (void)state;
    enum { EVENTS = 5000 };
    const struct http_response head = {.status = 200, .content_length = -1};
    struct rig rig;
    struct peer peer;
    int32_t id;
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    peer.no_reading = true;
    struct exchange *ex = ask_and_hold(&peer, &id);
    exchange_start(ex, &head);
    for (int i = 0; i < EVENTS; i++) {
        exchange_write(ex, SPAN_LITERAL("data: x\n\n"));
        rig_turns(&rig, 3);
        open_window(&peer, id, 9);
        open_window(&peer, 0, 9);
        rig_turns(&rig, 2);
    }
    assert_int_equal(peer.bytes[id], EVENTS * 9);
    assert_int_equal(peer.goaways, 0);
    close_peer(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uploads_that_nobody_reads_stop_no_other),
        cmocka_unit_test(uploads_that_nobody_reads_wait_within_the_connections_bound),
        cmocka_unit_test(a_streams_window_opens_as_the_handler_consumes),
        cmocka_unit_test(an_answer_waits_for_the_clients_window_and_not_for_ever),
        cmocka_unit_test(answers_whose_windows_never_open_stop_no_other),
        cmocka_unit_test(a_reader_that_trickles_is_ended_and_one_at_the_least_rate_is_not),
        cmocka_unit_test(a_window_of_one_byte_gets_one_byte_at_a_time),
        cmocka_unit_test(a_long_answer_byte_by_byte_ends_the_connection),
        cmocka_unit_test(many_small_events_each_acknowledged_are_no_flood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
