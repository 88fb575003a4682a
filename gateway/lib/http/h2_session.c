// SPDX-License-Identifier: Apache-2.0
// nghttp2's callbacks: adapters that note down what happened. Nothing of a handler runs here.
#include <stdlib.h>

#include "gateway/lib/http/h2.h"

enum {
    RESET_COST = 2,
    INVALID_COST = 10,
    MAX_ACKS = 128,
    MAX_SETTINGS = 16,
    RESET_BURST = 1000,
    RESET_RATE = 100,
};

static struct h2_stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

// ---- frames that the peer may not send on that stream; nghttp2 finds the other ones

static void note_reset(struct h2_resets *resets, int32_t id)
{
    int32_t *place = &resets->ids[resets->next++ % (sizeof resets->ids / sizeof *resets->ids)];
    if (*place > resets->forgotten)
        resets->forgotten = *place;
    *place = id;
}

static bool may_be_a_reset_of_ours(const struct h2_resets *resets, int32_t id)
{
    for (size_t i = 0; i < sizeof resets->ids / sizeof *resets->ids; i++)
        if (resets->ids[i] == id)
            return true;
    return id <= resets->forgotten;
}

// After a GOAWAY of ours, streams that came too late are dropped without a record.
static bool is_for_a_closed_stream(struct h2_connection *c, const nghttp2_frame_hd *hd)
{
    return c->state == H2_OPEN && hd->stream_id % 2 == 1 && hd->stream_id <= c->newest_id &&
           nghttp2_session_find_stream(c->session, hd->stream_id) == NULL &&
           !may_be_a_reset_of_ours(&c->resets, hd->stream_id);
}

// 0, or the code that ends the connection.
static uint32_t judge_stream_id(struct h2_connection *c, const nghttp2_frame_hd *hd)
{
    if (hd->type == NGHTTP2_PRIORITY && hd->stream_id == 0) // nghttp2 does not look at these
        return NGHTTP2_PROTOCOL_ERROR;
    if (hd->type != NGHTTP2_HEADERS) // nghttp2 drops late data without a word, as one may
        return NGHTTP2_NO_ERROR;
    if (is_for_a_closed_stream(c, hd)) // or a new one with an id that was passed over
        return NGHTTP2_STREAM_CLOSED;
    if (hd->stream_id > c->newest_id)
        c->newest_id = hd->stream_id;
    return NGHTTP2_NO_ERROR;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *user)
{
    struct h2_connection *c = user;
    int64_t now_us = loop_now_us(c->base.server->loop);
    (void)session;
    c->fault = judge_stream_id(c, hd);
    if (c->fault != NGHTTP2_NO_ERROR)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    switch (hd->type) {
    case NGHTTP2_DATA:
        if (hd->length == 0 && (hd->flags & NGHTTP2_FLAG_END_STREAM) == 0)
            h2_flood_charge(&c->flood, now_us, HOSTILITY_EMPTY_FLOOD, RESET_COST);
        break;
    case NGHTTP2_HEADERS:
        break;
    case NGHTTP2_RST_STREAM:
        h2_flood_charge(&c->flood, now_us, HOSTILITY_RAPID_RESET, RESET_COST);
        break;
    default:
        h2_flood_charge(&c->flood, now_us, HOSTILITY_CONTROL_FLOOD, 1);
    }
    return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_connection *c = user;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    c->assembling = h2_stream_new(c, frame->hd.stream_id);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, c->assembling);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *user)
{
    struct h2_stream *stream = stream_of(session, frame->hd.stream_id);
    (void)user;
    (void)flags;
    if (stream == NULL || frame->hd.type != NGHTTP2_HEADERS ||
        frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0; // trailers are read and dropped
    if (h2_stream_add_header(stream, span_of(name, name_size), span_of(value, value_size)) != 0)
        stream->head_too_large = true;
    return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_connection *c = user;
    struct h2_stream *stream = stream_of(session, frame->hd.stream_id);
    bool head = frame->hd.type == NGHTTP2_HEADERS;
    if (stream == NULL || (!head && frame->hd.type != NGHTTP2_DATA))
        return 0;
    if (head && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        c->assembling = NULL;
        stream->is_new = true;
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
        stream->request_ended = true;
    h2_stream_note(stream);
    return 0;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                         size_t size, void *user)
{
    struct h2_connection *c = user;
    if (size >= H2_USEFUL_BYTES || (flags & NGHTTP2_FLAG_END_STREAM) != 0)
        h2_flood_credit(&c->flood, H2_DATA_CREDIT);
    c->data_stream = stream_of(session, id);
    c->data = span_of(data, size);
    if (c->data_stream == NULL) {
        nghttp2_session_consume(session, id, size);
        return 0;
    }
    return NGHTTP2_ERR_PAUSE; // the bytes are handed out once nghttp2 has returned
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error_code, void *user)
{
    struct h2_connection *c = user;
    struct h2_stream *stream = stream_of(session, id);
    if (stream == NULL)
        return 0;
    if (c->assembling == stream)
        c->assembling = NULL;
    stream->was_reset = true;
    stream->reset_code = error_code;
    h2_stream_note(stream);
    return 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
                            void *user)
{
    struct h2_connection *c = user;
    (void)error;
    if (nghttp2_session_find_stream(session, frame->hd.stream_id) == NULL)
        note_reset(&c->resets, frame->hd.stream_id); // refused before it was a stream
    connection_is_hostile(&c->base, HOSTILITY_PROTOCOL_ERROR);
    h2_flood_charge(&c->flood, loop_now_us(c->base.server->loop), HOSTILITY_PROTOCOL_ERROR,
                    INVALID_COST);
    return 0;
}

// What nghttp2 ends the connection for by itself. Of floods and slow peers we know the kind
// already.
static bool blames_the_peer(uint32_t code)
{
    return code != NGHTTP2_NO_ERROR && code != NGHTTP2_INTERNAL_ERROR &&
           code != NGHTTP2_ENHANCE_YOUR_CALM;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_connection *c = user;
    struct h2_stream *stream = stream_of(session, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_RST_STREAM)
        note_reset(&c->resets, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_GOAWAY && blames_the_peer(frame->goaway.error_code))
        connection_is_hostile(&c->base, HOSTILITY_PROTOCOL_ERROR);
    bool carries = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
    if (stream == NULL || !carries || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
        return 0;
    stream->answer_is_out = true;
    h2_stream_note(stream);
    return 0;
}

static int on_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                        size_t size, nghttp2_data_source *source, void *user)
{
    struct h2_connection *c = user;
    struct h2_stream *stream = stream_of(session, frame->hd.stream_id);
    (void)source;
    if (stream == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (stream_is_choked(c->base.stream))
        return NGHTTP2_ERR_WOULDBLOCK;
    return h2_stream_send_out(stream, span_of(head, 9), size) == 0 ? 0
                                                                   : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static nghttp2_session_callbacks *new_callbacks(void)
{
    nghttp2_session_callbacks *cb;
    if (nghttp2_session_callbacks_new(&cb) != 0)
        abort();
    nghttp2_session_callbacks_set_on_begin_frame_callback(cb, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
    nghttp2_session_callbacks_set_send_data_callback(cb, on_send_data);
    return cb;
}

static nghttp2_option *new_option(void)
{
    nghttp2_option *option;
    if (nghttp2_option_new(&option) != 0)
        abort();
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, MAX_ACKS);
    nghttp2_option_set_max_settings(option, MAX_SETTINGS);
    nghttp2_option_set_stream_reset_rate_limit(option, RESET_BURST, RESET_RATE);
    return option;
}

static void submit_settings(nghttp2_session *session, const struct http_server_limits *limits)
{
    const nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits->streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, (uint32_t)limits->body_buffer_bytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->head_bytes},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries, sizeof entries / sizeof *entries);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, H2_CONNECTION_WINDOW);
}

nghttp2_session *h2_session_new(struct h2_connection *c)
{
    nghttp2_session *session;
    nghttp2_session_callbacks *callbacks = new_callbacks();
    nghttp2_option *option = new_option();
    if (nghttp2_session_server_new2(&session, callbacks, c, option) != 0)
        abort();
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    submit_settings(session, &c->base.server->limits);
    return session;
}
