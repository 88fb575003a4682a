// SPDX-License-Identifier: Apache-2.0
// Frames against the protocol, and frames in excess: which end the connection, with which code.
#include "tests/unit/gateway/lib/http/h2_peer.h"

// HPACK: GET, http, "/hold" and an authority, literals without indexing.
static const struct span get_head = SPAN_LITERAL("\x82\x86\x04\x05/hold\x01\x01"
                                                 "a");

static void open_both(struct rig *rig, struct peer *peer)
{
    rig_open(rig, 64 * 1024, NULL);
    open_peer(peer, rig);
    rig_turns(rig, 5);
}

static void expect_end(struct peer *peer, uint32_t code, enum http_hostility kind)
{
    rig_turns(peer->rig, 100);
    if (peer->goaways != 1)
        fail_msg("%d goaways after %s, ended %d", peer->goaways, http_hostility_name(kind),
                 peer->rig->client_ended);
    assert_int_equal(peer->goaway_code, code);
    assert_true(peer->rig->client_ended);
    assert_int_equal(http_server_counters(peer->rig->server)->hostile[kind], 1);
    close_peer(peer);
}

// ---- streams that are over (RFC 9113 §5.1, §5.1.1)

static void a_head_on_a_stream_the_client_ended_ends_the_connection(void **state)
{
    (void)state;
    for (int with_reset = 0; with_reset < 2; with_reset++) {
        struct rig rig;
        struct peer peer;
        open_both(&rig, &peer);
        int32_t id = ask(&peer, with_reset ? "/hold" : "/", NULL);
        rig_turns(&rig, 20);
        if (with_reset)
            send_frame(&rig, NGHTTP2_RST_STREAM, 0, (uint32_t)id, SPAN_LITERAL("\0\0\0\x08"));
        rig_turns(&rig, 20);
        assert_int_equal(rig.closed, 1);
        send_frame(&rig, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM,
                   (uint32_t)id, get_head);
        expect_end(&peer, NGHTTP2_STREAM_CLOSED, HOSTILITY_PROTOCOL_ERROR);
        assert_int_equal(rig.requests, 1);
    }
}

static void data_on_a_stream_the_client_ended_is_dropped(void **state)
{
    (void)state;
    enum { FRAMES = 100 };
    static char block[16 * 1024];
    struct rig rig;
    struct peer peer;
    open_both(&rig, &peer);
    int32_t id = ask(&peer, "/", NULL);
    rig_turns(&rig, 20);
    for (int i = 0; i < FRAMES; i++) { // more than the connection's window: it is given back
        send_frame(&rig, NGHTTP2_DATA, 0, (uint32_t)id, span_of(block, sizeof block));
        rig_turns(&rig, 5);
        assert_int_equal(http_server_counters(rig.server)->bytes_buffered, 0);
    }
    assert_int_equal(peer.goaways, 0);
    assert_int_equal(rig.body_bytes, 0);
    int32_t next = ask(&peer, "/", NULL);
    rig_turns(&rig, 20);
    assert_int_equal(peer.status[next], 200);
    close_peer(&peer);
}

static void a_stream_id_that_was_passed_over_is_not_opened_later(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    open_both(&rig, &peer);
    nghttp2_session_set_next_stream_id(peer.session, 5);
    ask(&peer, "/hold", NULL);
    rig_turns(&rig, 20);
    send_frame(&rig, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 3,
               get_head);
    expect_end(&peer, NGHTTP2_STREAM_CLOSED, HOSTILITY_PROTOCOL_ERROR);
    assert_int_equal(rig.requests, 1);
}

static void priority_of_the_connection_ends_it(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    open_both(&rig, &peer);
    send_frame(&rig, NGHTTP2_PRIORITY, 0, 0, SPAN_LITERAL("\0\0\0\3\1"));
    expect_end(&peer, NGHTTP2_PROTOCOL_ERROR, HOSTILITY_PROTOCOL_ERROR);
}

// The answer came before the body was whole: what the client had sent by then is dropped, however
// many such streams there are.
static void what_was_on_its_way_when_we_ended_a_stream_is_dropped(void **state)
{
    (void)state;
    enum { UPLOADS = 60 };
    struct rig rig;
    struct peer peer;
    struct upload uploads[UPLOADS];
    int32_t ids[UPLOADS];
    open_both(&rig, &peer);
    for (int i = 0; i < UPLOADS; i++) {
        uploads[i] = (struct upload){200 * 1000}; // more than the window: it never gets to its end
        ids[i] = ask(&peer, "/", &uploads[i]);
        rig_turns(&rig, 20);
        assert_int_equal(peer.status[ids[i]], 200);
        assert_int_equal(peer.code[ids[i]], NGHTTP2_NO_ERROR);
    }
    for (int i = 0; i < UPLOADS; i++) {
        send_frame(&rig, NGHTTP2_DATA, 0, (uint32_t)ids[i], SPAN_LITERAL("late"));
        send_frame(&rig, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM,
                   (uint32_t)ids[i], SPAN_NONE);
    }
    rig_turns(&rig, 20);
    assert_int_equal(peer.goaways, 0);
    assert_int_equal(http_server_counters(rig.server)->bytes_buffered, 0);
    int32_t next = ask(&peer, "/", NULL);
    rig_turns(&rig, 20);
    assert_int_equal(peer.status[next], 200);
    close_peer(&peer);
}

// ---- floods

static void expect_enough(struct peer *peer, enum http_hostility kind)
{
    expect_end(peer, NGHTTP2_ENHANCE_YOUR_CALM, kind);
}

static void rapid_resets_end_the_connection(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    rig_turns(&rig, 5);
    const struct span cancel = SPAN_LITERAL("\0\0\0\x08");
    for (uint32_t id = 1; id < 1400; id += 2) {
        send_frame(&rig, NGHTTP2_HEADERS, 5, id, get_head);
        send_frame(&rig, NGHTTP2_RST_STREAM, 0, id, cancel);
    }
    expect_enough(&peer, HOSTILITY_RAPID_RESET);
}

static void pings_settings_and_window_updates_without_end_too(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        uint32_t stream;
        struct span payload;
    } floods[] = {
        {NGHTTP2_WINDOW_UPDATE, 0, SPAN_LITERAL("\0\0\0\1")},
        {NGHTTP2_PRIORITY, 1, SPAN_LITERAL("\0\0\0\3\1")},
        {NGHTTP2_PING, 0, SPAN_LITERAL("12345678")},
        {NGHTTP2_SETTINGS, 0, SPAN_LITERAL("")},
    };
    for (size_t i = 0; i < ARRAY_COUNT(floods); i++) {
        struct rig rig;
        struct peer peer;
        rig_open(&rig, 64 * 1024, NULL);
        open_peer(&peer, &rig);
        rig_turns(&rig, 5);
        for (int n = 0; n < 1200; n++)
            send_frame(&rig, floods[i].type, 0, floods[i].stream, floods[i].payload);
        expect_enough(&peer, HOSTILITY_CONTROL_FLOOD);
    }
}

static void empty_data_frames_without_end_too(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    struct upload upload = {1000 * 1000};
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    int32_t id = ask(&peer, "/hold", &upload);
    rig_turns(&rig, 5);
    for (int n = 0; n < 1200; n++)
        send_frame(&rig, NGHTTP2_DATA, 0, (uint32_t)id, SPAN_NONE);
    expect_enough(&peer, HOSTILITY_EMPTY_FLOOD);
}

static void continuations_without_end_too(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    rig_turns(&rig, 5);
    send_frame(&rig, NGHTTP2_HEADERS, 0, 1, SPAN_LITERAL("\x82"));
    for (int n = 0; n < 100; n++)
        send_frame(&rig, NGHTTP2_CONTINUATION, 0, 1, SPAN_LITERAL("\x86"));
    expect_enough(&peer, HOSTILITY_CONTINUATION_FLOOD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_on_a_stream_the_client_ended_ends_the_connection),
        cmocka_unit_test(data_on_a_stream_the_client_ended_is_dropped),
        cmocka_unit_test(a_stream_id_that_was_passed_over_is_not_opened_later),
        cmocka_unit_test(priority_of_the_connection_ends_it),
        cmocka_unit_test(what_was_on_its_way_when_we_ended_a_stream_is_dropped),
        cmocka_unit_test(rapid_resets_end_the_connection),
        cmocka_unit_test(pings_settings_and_window_updates_without_end_too),
        cmocka_unit_test(empty_data_frames_without_end_too),
        cmocka_unit_test(continuations_without_end_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
