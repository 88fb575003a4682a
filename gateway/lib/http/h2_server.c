// SPDX-License-Identifier: Apache-2.0
// The server's end of an HTTP/2 connection.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/h2.h"

enum { LINGER_MS = 2000, NOTICE_MS = 1000 };

static void h2_free(void *object)
{
    struct h2_connection *c = object;
    nghttp2_session_del(c->session);
    free(c);
}

static void finish_streams(struct h2_connection *c, const struct failure *why)
{
    struct list *node;
    while (!list_is_empty(&c->streams)) {
        node = c->streams.next;
        h2_stream_finish(LIST_ENTRY(node, struct h2_stream, node), why);
    }
}

static void h2_close(struct connection *base, const struct failure *why)
{
    struct h2_connection *c = CONTAINER_OF(base, struct h2_connection, base);
    if (c->state == H2_GONE)
        return;
    c->state = H2_GONE;
    timer_cancel(&c->idle);
    timer_cancel(&c->tick);
    task_cancel(&c->dispatch);
    task_cancel(&c->flush);
    finish_streams(c, why);
    task_cancel(&c->dispatch);
    task_cancel(&c->flush);
    connection_remove(base);
    loop_bury(base->server->loop, c, h2_free);
}

// ---- out

void h2_want_flush(struct h2_connection *c)
{
    if (c->state != H2_GONE)
        loop_flush(c->base.server->loop, &c->flush);
}

static void linger(struct h2_connection *c)
{
    struct failure why;
    failure_set(&why, FAULT_CLOSED, "the connection was ended");
    c->state = H2_LINGERING;
    finish_streams(c, &why);
    if (c->state == H2_GONE)
        return;
    timer_cancel(&c->tick);
    timer_start(&c->idle, LINGER_MS);
    stream_end(c->base.stream);
    stream_resume(c->base.stream);
}

static void send_frames(struct h2_connection *c)
{
    const uint8_t *bytes;
    ssize_t n = 0;
    while (!stream_is_choked(c->base.stream) &&
           (n = nghttp2_session_mem_send(c->session, &bytes)) > 0)
        if (stream_write(c->base.stream, span_of(bytes, (size_t)n)) != 0)
            n = NGHTTP2_ERR_CALLBACK_FAILURE;
    if (n < 0) {
        struct failure why;
        failure_set(&why, FAULT_INTERNAL, "HTTP/2: %s", nghttp2_strerror((int)n));
        h2_close(&c->base, &why);
    }
}

static void on_flush(struct task *task)
{
    struct h2_connection *c = CONTAINER_OF(task, struct h2_connection, flush);
    if (c->state == H2_GONE || c->state == H2_LINGERING)
        return;
    send_frames(c);
    if (c->state == H2_GONE)
        return;
    // A client that reads no answers gets to ask no more.
    if (stream_is_choked(c->base.stream))
        stream_pause(c->base.stream);
    // Between the two GOAWAYs new requests are taken, though nghttp2 wants no more to read.
    bool over = c->state != H2_NOTICED && !nghttp2_session_want_read(c->session) &&
                !nghttp2_session_want_write(c->session);
    if (over || (c->state == H2_ENDING && list_is_empty(&c->streams) &&
                 !nghttp2_session_want_write(c->session)))
        linger(c);
}

static void on_drained(void *owner)
{
    struct h2_connection *c = owner;
    stream_resume(c->base.stream);
    h2_want_flush(c);
}

// The peer has shown what it is, or nothing more is to come: the last frames, and the end.
static void end_with(struct h2_connection *c, uint32_t code)
{
    nghttp2_session_terminate_session(c->session, code);
    send_frames(c);
    if (c->state != H2_GONE)
        linger(c);
}

// ---- timers

static void on_idle_timer(struct timer *timer)
{
    struct h2_connection *c = CONTAINER_OF(timer, struct h2_connection, idle);
    switch (c->state) {
    case H2_OPEN:
        if (c->assembling != NULL)
            connection_is_hostile(&c->base, HOSTILITY_SLOW_HEAD);
        end_with(c, NGHTTP2_NO_ERROR);
        break;
    case H2_NOTICED:
        c->state = H2_ENDING;
        nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(c->session), NGHTTP2_NO_ERROR,
                              NULL, 0);
        h2_want_flush(c);
        break;
    case H2_LINGERING:
        h2_close(&c->base, NULL);
        break;
    case H2_ENDING:
    case H2_GONE:
        break;
    }
}

static bool socket_is_stuck(struct h2_connection *c)
{
    const struct http_server_limits *limits = &c->base.server->limits;
    return reading_is_slow(&c->reading, stream_bytes_written(c->base.stream),
                           stream_pending(c->base.stream),
                           least_bytes(limits, limits->write_timeout_ms / 2));
}

// Twice within a write time-out each stream, and the socket, must have moved. Also the head that
// never ends is found here.
static void on_tick(struct timer *timer)
{
    struct h2_connection *c = CONTAINER_OF(timer, struct h2_connection, tick);
    struct http_server *s = c->base.server;
    struct failure why;
    if (socket_is_stuck(c)) {
        connection_is_hostile(&c->base, HOSTILITY_SLOW_READER);
        failure_set(&why, FAULT_SLOW, "the client does not read its answers");
        h2_close(&c->base, &why);
        return;
    }
    if (c->assembling != NULL &&
        loop_now_us(s->loop) - c->assembling->ex->started_us > s->limits.head_timeout_ms * 1000) {
        connection_is_hostile(&c->base, HOSTILITY_SLOW_HEAD);
        end_with(c, NGHTTP2_ENHANCE_YOUR_CALM);
        return;
    }
    LIST_EACH(node, &c->streams)
    {
        h2_stream_check_progress(LIST_ENTRY(node, struct h2_stream, node));
        if (c->state == H2_GONE)
            return;
    }
    if (!list_is_empty(&c->streams) || stream_pending(c->base.stream) > 0)
        timer_start(&c->tick, s->limits.write_timeout_ms / 2);
}

void h2_streams_changed(struct h2_connection *c)
{
    const struct http_server_limits *limits = &c->base.server->limits;
    if (c->state == H2_OPEN) {
        if (list_is_empty(&c->streams))
            timer_start(&c->idle, limits->idle_timeout_ms);
        else
            timer_cancel(&c->idle);
    }
    if (c->state == H2_GONE || c->state == H2_LINGERING)
        return;
    if (!timer_is_pending(&c->tick) && !list_is_empty(&c->streams))
        timer_start(&c->tick, limits->write_timeout_ms / 2);
    if (c->state == H2_ENDING)
        h2_want_flush(c);
}

// ---- in

static void dispatch(struct h2_connection *c)
{
    struct list *node;
    while (c->state != H2_GONE && (node = list_pop(&c->events)) != NULL)
        h2_stream_dispatch(LIST_ENTRY(node, struct h2_stream, event));
}

static void on_dispatch(struct task *task)
{
    dispatch(CONTAINER_OF(task, struct h2_connection, dispatch));
}

static void on_broken(struct h2_connection *c, int error)
{
    enum http_hostility kind = error == NGHTTP2_ERR_FLOODED ? HOSTILITY_CONTROL_FLOOD
                               : error == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS
                                   ? HOSTILITY_CONTINUATION_FLOOD
                                   : HOSTILITY_PROTOCOL_ERROR;
    uint32_t code = c->fault != NGHTTP2_NO_ERROR       ? c->fault
                    : kind == HOSTILITY_PROTOCOL_ERROR ? NGHTTP2_PROTOCOL_ERROR
                                                       : NGHTTP2_ENHANCE_YOUR_CALM;
    connection_is_hostile(&c->base, kind);
    end_with(c, code);
}

// Feeds nghttp2 once, and hands out what it reported. True where it must be fed again, with no
// bytes too: after a piece of data it has yet to say whether the frame is complete.
static bool step(struct h2_connection *c, struct buffer *in)
{
    c->data_stream = NULL;
    c->data = SPAN_NONE;
    struct span bytes = buffer_span(in);
    ssize_t n = nghttp2_session_mem_recv(c->session, (const uint8_t *)bytes.data, bytes.size);
    if (n < 0) {
        dispatch(c);
        if (c->state != H2_GONE)
            on_broken(c, (int)n);
        return false;
    }
    struct span data = c->data; // inside `in`, which is not written to before the next read
    dispatch(c);
    if (c->state != H2_GONE && c->data_stream != NULL)
        h2_stream_take_data(c->data_stream, data);
    buffer_consume(in, (size_t)n);
    if (c->state != H2_GONE && c->flood.tokens < 0) {
        connection_is_hostile(&c->base, c->flood.kind);
        end_with(c, NGHTTP2_ENHANCE_YOUR_CALM);
    }
    return data.size > 0 || buffer_size(in) > 0;
}

static void on_readable(void *owner, struct buffer *in)
{
    struct h2_connection *c = owner;
    bool more = buffer_size(in) > 0;
    while (more && (c->state == H2_OPEN || c->state == H2_NOTICED || c->state == H2_ENDING))
        more = step(c, in);
    if (c->state == H2_LINGERING)
        buffer_clear(in);
    if (c->state != H2_GONE)
        h2_want_flush(c);
}

static void on_read_ended(void *owner)
{
    struct h2_connection *c = owner;
    struct failure why;
    failure_set(&why, FAULT_CANCELLED, "the client left");
    h2_close(&c->base, &why);
}

static void on_closed(void *owner, const struct failure *why)
{
    struct h2_connection *c = owner;
    struct failure gone;
    failure_set(&gone, FAULT_CANCELLED, "the client left: %s", why->text);
    h2_close(&c->base, &gone);
}

static const struct stream_ops stream_ops = {
    .readable = on_readable,
    .read_ended = on_read_ended,
    .drained = on_drained,
    .closed = on_closed,
};

// The first GOAWAY says that the end is near, the second, after requests under way have come, which
// was the last (RFC 9113 §6.8).
static void h2_drain(struct connection *base)
{
    struct h2_connection *c = CONTAINER_OF(base, struct h2_connection, base);
    if (c->state != H2_OPEN)
        return;
    c->state = H2_NOTICED;
    nghttp2_submit_shutdown_notice(c->session);
    timer_start(&c->idle, NOTICE_MS);
    h2_want_flush(c);
}

static const struct connection_ops connection_ops = {
    .version = "h2", .drain = h2_drain, .close = h2_close};

static struct connection *h2_open(struct http_server *s, struct connection *from)
{
    struct h2_connection *c = memory_new(sizeof *c);
    c->base.ops = &connection_ops;
    connection_inherit(&c->base, from);
    list_init(&c->streams);
    list_init(&c->events);
    h2_flood_init(&c->flood, loop_now_us(s->loop));
    task_init(&c->dispatch, on_dispatch);
    task_init(&c->flush, on_flush);
    timer_init(&c->idle, s->loop, on_idle_timer);
    timer_init(&c->tick, s->loop, on_tick);
    c->session = h2_session_new(c);
    timer_start(&c->idle, s->limits.idle_timeout_ms);
    stream_set_owner(c->base.stream, &stream_ops, c);
    h2_want_flush(c);
    return &c->base;
}

void http_server_enable_h2(struct http_server *s)
{
    s->open_h2 = h2_open;
}
