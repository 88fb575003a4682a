// SPDX-License-Identifier: Apache-2.0
// An HTTP/2 client in memory (nghttp2), and raw frames where a client would not send such.
#include <nghttp2/nghttp2.h>

#include "tests/unit/gateway/lib/http/rig.h"

enum { STREAMS = 512 };

struct peer {
    nghttp2_session *session;
    struct rig *rig;
    int status[STREAMS]; // by stream id
    size_t bytes[STREAMS];
    bool closed[STREAMS];
    uint32_t code[STREAMS];
    int goaways;
    uint32_t goaway_code;
    int32_t goaway_last;
    bool no_reading; // windows stay shut
};

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *user)
{
    struct peer *peer = user;
    uint64_t status;
    (void)session;
    (void)flags;
    if (span_is(span_of(name, name_size), ":status") &&
        span_to_u64(span_of(value, value_size), &status))
        peer->status[frame->hd.stream_id] = (int)status;
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t size, void *user)
{
    struct peer *peer = user;
    (void)flags;
    (void)data;
    peer->bytes[id] += size;
    if (!peer->no_reading)
        nghttp2_session_consume(session, id, size);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    struct peer *peer = user;
    (void)session;
    peer->closed[id] = true;
    peer->code[id] = code;
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct peer *peer = user;
    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        peer->goaways++;
        peer->goaway_code = frame->goaway.error_code;
        peer->goaway_last = frame->goaway.last_stream_id;
    }
    return 0;
}

static void flush(struct peer *peer)
{
    const uint8_t *bytes;
    ssize_t n;
    while (peer->rig->client != NULL && (n = nghttp2_session_mem_send(peer->session, &bytes)) > 0)
        assert_int_equal(stream_write(peer->rig->client, span_of(bytes, (size_t)n)), 0);
}

static void on_bytes(struct rig *rig, struct buffer *in)
{
    struct peer *peer = rig->client_state;
    struct span bytes = buffer_span(in);
    ssize_t n = nghttp2_session_mem_recv(peer->session, (const uint8_t *)bytes.data, bytes.size);
    assert_int_equal(n, bytes.size);
    buffer_clear(in);
    flush(peer);
}

static void open_peer(struct peer *peer, struct rig *rig)
{
    nghttp2_session_callbacks *cb;
    nghttp2_option *option;
    *peer = (struct peer){.rig = rig};
    nghttp2_session_callbacks_new(&cb);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session_client_new2(&peer->session, cb, peer, option);
    nghttp2_session_callbacks_del(cb);
    nghttp2_option_del(option);
    nghttp2_submit_settings(peer->session, NGHTTP2_FLAG_NONE, NULL, 0);
    rig->client_readable = on_bytes;
    rig->client_state = peer;
    flush(peer);
}

static void close_peer(struct peer *peer)
{
    rig_close(peer->rig);
    nghttp2_session_del(peer->session);
}

#define NV(n, v)                                                                                   \
    {                                                                                              \
        (uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), strlen(n), strlen(v), 0              \
    }

struct upload {
    size_t left;
};

static ssize_t read_upload(nghttp2_session *session, int32_t id, uint8_t *buf, size_t size,
                           uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct upload *upload = source->ptr;
    (void)session;
    (void)id;
    (void)user;
    if (size > upload->left)
        size = upload->left;
    memset(buf, 'u', size);
    upload->left -= size;
    if (upload->left == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)size;
}

static int32_t ask(struct peer *peer, const char *path, struct upload *upload)
{
    const nghttp2_nv nv[] = {NV(":method", upload != NULL ? "POST" : "GET"), NV(":path", path),
                             NV(":scheme", "http"), NV(":authority", "a")};
    nghttp2_data_provider provider = {.source.ptr = upload, .read_callback = read_upload};
    int32_t id =
        nghttp2_submit_request(peer->session, NULL, nv, 4, upload != NULL ? &provider : NULL, NULL);
    flush(peer);
    return id;
}

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

static void streams_that_are_not_read_stop_no_other(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    struct upload stuck[40], upload = {200 * 1000};
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    for (int i = 0; i < 40; i++) {
        stuck[i] = (struct upload){100 * 1000};
        ask(&peer, "/hold", &stuck[i]);
        rig_turns(&rig, 10);
    }
    rig_turns(&rig, 100);
    assert_true(http_server_counters(rig.server)->bytes_buffered <= 40 * 65536);
    int32_t id = ask(&peer, "/echo", &upload);
    rig_turns(&rig, 200);
    if (peer.status[id] == 0) // the connection's window may be shut only once its bound is met
        assert_true(http_server_counters(rig.server)->bytes_buffered >= 1024 * 1024);
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

// ---- floods

static void send_frame(struct rig *rig, uint8_t type, uint8_t flags, uint32_t stream,
                       struct span payload)
{
    char head[9] = {(char)(payload.size >> 16),
                    (char)(payload.size >> 8),
                    (char)payload.size,
                    (char)type,
                    (char)flags,
                    (char)(stream >> 24),
                    (char)(stream >> 16),
                    (char)(stream >> 8),
                    (char)stream};
    if (rig->client == NULL)
        return;
    stream_write(rig->client, span_of(head, sizeof head));
    stream_write(rig->client, payload);
}

static void expect_enough(struct peer *peer, enum http_hostility kind)
{
    rig_turns(peer->rig, 100);
    if (peer->goaways != 1)
        fail_msg("%d goaways after %s, ended %d", peer->goaways, http_hostility_name(kind),
                 peer->rig->client_ended);
    assert_int_equal(peer->goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(peer->rig->client_ended);
    assert_int_equal(http_server_counters(peer->rig->server)->hostile[kind], 1);
    close_peer(peer);
}

static void rapid_resets_end_the_connection(void **state)
{
    (void)state;
    struct rig rig;
    struct peer peer;
    rig_open(&rig, 64 * 1024, NULL);
    open_peer(&peer, &rig);
    rig_turns(&rig, 5);
    // HPACK: GET, http, "/hold" and an authority, literals without indexing.
    const struct span head = SPAN_LITERAL("\x82\x86\x04\x05/hold\x01\x01"
                                          "a");
    const struct span cancel = SPAN_LITERAL("\0\0\0\x08");
    for (uint32_t id = 1; id < 1400; id += 2) {
        send_frame(&rig, NGHTTP2_HEADERS, 5, id, head);
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
        cmocka_unit_test(streams_that_are_not_read_stop_no_other),
        cmocka_unit_test(a_streams_window_opens_as_the_handler_consumes),
        cmocka_unit_test(an_answer_waits_for_the_clients_window_and_not_for_ever),
        cmocka_unit_test(resets_and_aborts_are_told_to_the_other_side),
        cmocka_unit_test(draining_says_goodbye_in_two_steps),
        cmocka_unit_test(heads_past_the_bound_get_431),
        cmocka_unit_test(two_hosts_are_refused),
        cmocka_unit_test(rapid_resets_end_the_connection),
        cmocka_unit_test(pings_settings_and_window_updates_without_end_too),
        cmocka_unit_test(empty_data_frames_without_end_too),
        cmocka_unit_test(continuations_without_end_too),
        cmocka_unit_test(an_idle_connection_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
