// SPDX-License-Identifier: Apache-2.0
//
// The server's end of an HTTP/1.1 connection: one request at a time. Pipelined ones wait unread in
// the stream's buffer, and by its bound in the client.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/h1.h"
#include "gateway/lib/http/response.h"

enum { LINGER_MS = 2000, LAST_REQUEST_MS = 1000 };

// ---- timers: one, moved lazily, since most requests end long before it is due

void h1_arm(struct h1_connection *c, int64_t ms)
{
    c->due_us = loop_now_us(c->base.server->loop) + ms * 1000;
    if (!timer_is_pending(&c->timer) || c->timer.due_us > c->due_us)
        timer_start(&c->timer, ms);
}

static void h1_free(void *object)
{
    struct h1_connection *c = object;
    h1_parser_fini(&c->parser);
    free(c);
}

void h1_close(struct h1_connection *c, const struct failure *why)
{
    if (c->state == H1_GONE)
        return;
    c->state = H1_GONE;
    timer_cancel(&c->timer);
    timer_cancel(&c->write_timer);
    task_cancel(&c->complete);
    struct exchange *ex = c->ex;
    c->ex = NULL;
    if (ex != NULL)
        exchange_finish(ex, why);
    connection_remove(&c->base);
    loop_bury(c->base.server->loop, c, h1_free);
}

void h1_linger(struct h1_connection *c)
{
    c->state = H1_LINGERING;
    stream_end(c->base.stream);
    h1_arm(c, LINGER_MS);
    stream_resume(c->base.stream);
}

void h1_refuse(struct h1_connection *c, int status, const char *text)
{
    struct buffer head;
    struct span reason = response_reason(status), body = span_from_string(text);
    buffer_init(&head, 1024);
    buffer_printf(&head,
                  "HTTP/1.1 %d %.*s\r\ndate: %.*s\r\ncontent-type: text/plain\r\n"
                  "content-length: %zu\r\nconnection: close\r\n\r\n%s",
                  status, SPAN_ARGS(reason), SPAN_ARGS(server_date(c->base.server)), body.size,
                  text);
    stream_write(c->base.stream, buffer_span(&head));
    buffer_fini(&head);
    connection_is_hostile(&c->base, status == 431 || status == 414 ? HOSTILITY_HEAD_TOO_LARGE
                                    : status == 408                ? HOSTILITY_SLOW_HEAD
                                                                   : HOSTILITY_MALFORMED);
    h1_linger(c);
}

static void on_timer(struct timer *timer)
{
    struct h1_connection *c = CONTAINER_OF(timer, struct h1_connection, timer);
    int64_t now_us = loop_now_us(c->base.server->loop);
    if (c->due_us == 0)
        return;
    if (c->due_us > now_us)
        timer_start(timer, (c->due_us - now_us + 999) / 1000);
    else if (c->state == H1_READING_HEAD && h1_parser_has_begun(&c->parser))
        h1_refuse(c, 408, "the head took too long");
    else
        h1_close(c, NULL);
}

static void on_write_timer(struct timer *timer)
{
    struct h1_connection *c = CONTAINER_OF(timer, struct h1_connection, write_timer);
    struct failure why;
    const struct http_server_limits *limits = &c->base.server->limits;
    size_t waiting = stream_pending(c->base.stream);
    if (waiting == 0)
        return;
    if (!reading_is_slow(&c->reading, stream_bytes_written(c->base.stream), waiting,
                         least_bytes(limits, limits->write_timeout_ms))) {
        timer_start(timer, limits->write_timeout_ms);
        return;
    }
    connection_is_hostile(&c->base, HOSTILITY_SLOW_READER);
    failure_set(&why, FAULT_SLOW, "the client does not read its answer");
    h1_close(c, &why);
}

void h1_watch_writing(struct h1_connection *c)
{
    if (timer_is_pending(&c->write_timer))
        return;
    c->reading =
        (struct reading){stream_bytes_written(c->base.stream), stream_pending(c->base.stream)};
    timer_start(&c->write_timer, c->base.server->limits.write_timeout_ms);
}

// ---- from one request to the next

void h1_next_request(struct h1_connection *c)
{
    c->state = H1_READING_HEAD;
    h1_parser_next(&c->parser);
    h1_arm(c, c->base.server->draining ? LAST_REQUEST_MS : c->base.server->limits.idle_timeout_ms);
    if (!c->processing)
        stream_resume(c->base.stream); // what was pipelined
}

static void answer_is_out(struct h1_connection *c)
{
    struct exchange *ex = c->ex;
    c->ex = NULL;
    // Its state first: `closed` may well close the server.
    c->state = c->close_after ? H1_LINGERING : H1_DISCARDING;
    exchange_finish(ex, NULL);
    if (c->state == H1_GONE)
        return;
    if (c->peer_ended) {
        h1_close(c, NULL);
    } else if (c->close_after) {
        h1_linger(c);
    } else if (c->request_complete) {
        h1_next_request(c);
    } else {
        c->discarded = 0;
        h1_arm(c, c->base.server->limits.body_timeout_ms);
        stream_resume(c->base.stream);
    }
}

static void on_flushed(void *owner)
{
    struct h1_connection *c = owner;
    if (c->state == H1_IN_EXCHANGE && c->ex->ended)
        answer_is_out(c);
}

static void on_complete(struct task *task)
{
    struct h1_connection *c = CONTAINER_OF(task, struct h1_connection, complete);
    if (c->state != H1_GONE && stream_pending(c->base.stream) == 0)
        on_flushed(c);
}
// ---- what the stream tells

static void on_readable(void *owner, struct buffer *in)
{
    h1_process(owner, in);
}

// Half-closing is how a client that was killed looks too; its sandbox shall not go on for nobody.
static void on_read_ended(void *owner)
{
    struct h1_connection *c = owner;
    struct failure why;
    if (c->state == H1_IN_EXCHANGE && c->ex->ended) {
        c->peer_ended = true; // the answer is on its way
        return;
    }
    failure_set(&why, FAULT_CANCELLED, "the client left");
    h1_close(c, &why);
}

static void on_drained(void *owner)
{
    struct h1_connection *c = owner;
    if (c->state == H1_IN_EXCHANGE)
        exchange_drained(c->ex);
}

static void on_closed(void *owner, const struct failure *why)
{
    struct h1_connection *c = owner;
    struct failure gone;
    failure_set(&gone, FAULT_CANCELLED, "the client left: %s", why->text);
    h1_close(c, &gone);
}

static const struct stream_ops stream_ops = {
    .readable = on_readable,
    .read_ended = on_read_ended,
    .drained = on_drained,
    .flushed = on_flushed,
    .closed = on_closed,
};

// The next head that is sent says that it is the last. A client that was told nothing yet may have
// a request on its way, which a close would lose: it is waited for a moment.
static void h1_drain(struct connection *base)
{
    struct h1_connection *c = CONTAINER_OF(base, struct h1_connection, base);
    if (c->state == H1_READING_HEAD && !h1_parser_has_begun(&c->parser))
        h1_arm(c, LAST_REQUEST_MS);
}

static void on_server_closing(struct connection *base, const struct failure *why)
{
    h1_close(CONTAINER_OF(base, struct h1_connection, base), why);
}

static const struct connection_ops connection_ops = {
    .version = "h1", .drain = h1_drain, .close = on_server_closing};

struct connection *h1_open(struct http_server *s, struct connection *from)
{
    struct h1_connection *c = memory_new(sizeof *c);
    c->base.ops = &connection_ops;
    connection_inherit(&c->base, from);
    c->limits = (struct h1_limits){s->limits.head_bytes, s->limits.header_count};
    h1_parser_init(&c->parser, HTTP_REQUEST, &c->limits);
    timer_init(&c->timer, s->loop, on_timer);
    timer_init(&c->write_timer, s->loop, on_write_timer);
    task_init(&c->complete, on_complete);
    c->state = H1_READING_HEAD;
    h1_arm(c, s->limits.head_timeout_ms);
    stream_set_owner(c->base.stream, &stream_ops, c);
    return &c->base;
}
