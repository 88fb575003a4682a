// SPDX-License-Identifier: Apache-2.0
// An HTTP/2 client in memory (nghttp2), and raw frames where a client would not send such.
#ifndef WRIST_TESTS_UNIT_HTTP_H2_PEER_H
#define WRIST_TESTS_UNIT_HTTP_H2_PEER_H

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

static inline int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                            const uint8_t *name, size_t name_size, const uint8_t *value,
                            size_t value_size, uint8_t flags, void *user)
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

static inline int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
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

static inline int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    struct peer *peer = user;
    (void)session;
    peer->closed[id] = true;
    peer->code[id] = code;
    return 0;
}

static inline int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
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

static inline void flush(struct peer *peer)
{
    const uint8_t *bytes;
    ssize_t n;
    while (peer->rig->client != NULL && (n = nghttp2_session_mem_send(peer->session, &bytes)) > 0)
        assert_int_equal(stream_write(peer->rig->client, span_of(bytes, (size_t)n)), 0);
}

static inline void on_bytes(struct rig *rig, struct buffer *in)
{
    struct peer *peer = rig->client_state;
    struct span bytes = buffer_span(in);
    ssize_t n = nghttp2_session_mem_recv(peer->session, (const uint8_t *)bytes.data, bytes.size);
    assert_int_equal(n, bytes.size);
    buffer_clear(in);
    flush(peer);
}

static inline void open_peer(struct peer *peer, struct rig *rig)
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

static inline void close_peer(struct peer *peer)
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

static inline ssize_t read_upload(nghttp2_session *session, int32_t id, uint8_t *buf, size_t size,
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

static inline int32_t ask(struct peer *peer, const char *path, struct upload *upload)
{
    const nghttp2_nv nv[] = {NV(":method", upload != NULL ? "POST" : "GET"), NV(":path", path),
                             NV(":scheme", "http"), NV(":authority", "a")};
    nghttp2_data_provider provider = {.source.ptr = upload, .read_callback = read_upload};
    int32_t id =
        nghttp2_submit_request(peer->session, NULL, nv, 4, upload != NULL ? &provider : NULL, NULL);
    flush(peer);
    return id;
}

static inline void send_frame(struct rig *rig, uint8_t type, uint8_t flags, uint32_t stream,
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

#endif
