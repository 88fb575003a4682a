// SPDX-License-Identifier: Apache-2.0
//
// The server's end of an HTTP/1.1 connection: one request at a time. Pipelined ones wait unread in
// the stream's buffer, and by its bound in the client.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/connection.h"
#include "gateway/lib/http/exchange_core.h"
#include "gateway/lib/http/h1_parser.h"
#include "gateway/lib/http/response.h"

enum {
    LINGER_MS = 2000,
    DISCARD_BYTES = 256 * 1024, // of a body nobody asked for, before the connection ends instead
};

enum h1_state {
    H1_READING_HEAD, // between requests, or within a head
    H1_IN_EXCHANGE,  // the handler has a request; its body may still come
    H1_DISCARDING,   // the answer is out, the rest of the body is thrown away
    H1_LINGERING,    // our side has ended; what comes is dropped, so that no RST eats the answer
    H1_GONE,         // buried
};

struct h1_connection {
    struct connection base;
    enum h1_state state;
    struct h1_limits limits;
    struct h1_parser parser;
    struct exchange *ex;   // owned while H1_IN_EXCHANGE
    bool request_complete; // every byte of the present request was read
    bool is_http10, expects_continue;
    bool close_after; // the present answer is the last
    bool chunked, processing, peer_ended;
    int64_t response_left; // of a declared length; -1: unknown
    size_t discarded;
    int64_t due_us;     // of `timer`; 0: nothing is due
    struct timer timer; // head, idle, linger
    struct timer write_timer;
    uint64_t written_mark;
    struct task complete;
};

// ---- timers: one, moved lazily, since most requests end long before it is due

static void arm(struct h1_connection *c, int64_t ms)
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

static void h1_close(struct connection *base, const struct failure *why)
{
    struct h1_connection *c = CONTAINER_OF(base, struct h1_connection, base);
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
    connection_remove(base);
    loop_bury(base->server->loop, c, h1_free);
}

static void linger(struct h1_connection *c)
{
    c->state = H1_LINGERING;
    stream_end(c->base.stream);
    arm(c, LINGER_MS);
    stream_resume(c->base.stream);
}

// An answer to what never became an exchange. The connection ends with it.
static void refuse(struct h1_connection *c, int status, const char *text)
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
    linger(c);
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
        refuse(c, 408, "the head took too long");
    else
        h1_close(&c->base, NULL);
}

static void on_write_timer(struct timer *timer)
{
    struct h1_connection *c = CONTAINER_OF(timer, struct h1_connection, write_timer);
    struct failure why;
    uint64_t written = stream_bytes_written(c->base.stream);
    if (stream_pending(c->base.stream) == 0)
        return;
    if (written != c->written_mark) {
        c->written_mark = written;
        timer_start(timer, c->base.server->limits.write_timeout_ms);
        return;
    }
    connection_is_hostile(&c->base, HOSTILITY_SLOW_READER);
    failure_set(&why, FAULT_SLOW, "the client does not read its answer");
    h1_close(&c->base, &why);
}

static void watch_writing(struct h1_connection *c)
{
    if (timer_is_pending(&c->write_timer))
        return;
    c->written_mark = stream_bytes_written(c->base.stream);
    timer_start(&c->write_timer, c->base.server->limits.write_timeout_ms);
}

// ---- from one request to the next

static void next_request(struct h1_connection *c)
{
    if (c->base.server->draining) {
        linger(c);
        return;
    }
    c->state = H1_READING_HEAD;
    h1_parser_next(&c->parser);
    arm(c, c->base.server->limits.idle_timeout_ms);
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
        h1_close(&c->base, NULL);
    } else if (c->close_after) {
        linger(c);
    } else if (c->request_complete) {
        next_request(c);
    } else {
        c->discarded = 0;
        arm(c, c->base.server->limits.body_timeout_ms);
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

// ---- the carrier of an exchange

static struct h1_connection *connection_of(const struct exchange *ex)
{
    return ex->carrier_state;
}

static void h1_body_wanted(struct exchange *ex)
{
    struct h1_connection *c = connection_of(ex);
    if (c->expects_continue && !ex->started) {
        c->expects_continue = false;
        stream_write(c->base.stream, SPAN_LITERAL("HTTP/1.1 100 Continue\r\n\r\n"));
    }
    if (!c->processing)
        stream_resume(c->base.stream);
}

static bool rest_of_body_is_bearable(const struct h1_connection *c, const struct exchange *ex)
{
    if (c->request_complete)
        return true;
    if (c->expects_continue) // the client may or may not send it now
        return false;
    return ex->content_length < 0 || (uint64_t)ex->content_length - ex->body_seen <= DISCARD_BYTES;
}

static void decide_about_close(struct h1_connection *c, const struct exchange *ex)
{
    if (!h1_parser_keeps_alive(&c->parser) || c->base.server->draining || ex->detached ||
        !rest_of_body_is_bearable(c, ex))
        c->close_after = true;
}

static void append_header(struct buffer *b, struct span name, struct span value)
{
    buffer_append(b, name);
    buffer_append(b, SPAN_LITERAL(": "));
    buffer_append(b, value);
    buffer_append(b, SPAN_LITERAL("\r\n"));
}

static struct span decimal(uint64_t n, char out[24])
{
    char *at = out + 24;
    do
        *--at = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    return span_of(at, (size_t)(out + 24 - at));
}

static void append_framing(struct h1_connection *c, struct buffer *b, const struct exchange *ex,
                           const struct http_response *head)
{
    char number[24];
    bool may_have_body = response_may_have_body(head->status);
    c->chunked = false;
    c->response_left = may_have_body && !ex->is_head ? head->content_length : 0;
    if (may_have_body && head->content_length >= 0)
        append_header(b, SPAN_LITERAL("content-length"),
                      decimal((uint64_t)head->content_length, number));
    else if (may_have_body && c->is_http10)
        c->close_after = true;
    else if (may_have_body) {
        c->chunked = !ex->is_head;
        append_header(b, SPAN_LITERAL("transfer-encoding"), SPAN_LITERAL("chunked"));
    }
    if (c->close_after)
        append_header(b, SPAN_LITERAL("connection"), SPAN_LITERAL("close"));
    else if (c->is_http10)
        append_header(b, SPAN_LITERAL("connection"), SPAN_LITERAL("keep-alive"));
}

static void give_up(struct exchange *ex)
{
    struct failure why;
    failure_set(&why, FAULT_SLOW, "the answer does not fit into the write buffer");
    exchange_abort(ex, &why);
}

static void h1_start(struct exchange *ex, const struct http_response *head, struct span body,
                     bool ends)
{
    struct h1_connection *c = connection_of(ex);
    struct buffer *b = &c->base.server->scratch;
    char number[24];
    decide_about_close(c, ex);
    buffer_clear(b);
    buffer_append(b, SPAN_LITERAL("HTTP/1.1 "));
    buffer_append(b, decimal((uint64_t)head->status, number));
    buffer_append_char(b, ' ');
    buffer_append(b, response_reason(head->status));
    buffer_append(b, SPAN_LITERAL("\r\n"));
    append_header(b, SPAN_LITERAL("date"), server_date(c->base.server));
    for (size_t i = 0; i < head->header_count; i++)
        if (response_header_goes_out(&head->headers[i]))
            append_header(b, head->headers[i].name, head->headers[i].value);
    append_framing(c, b, ex, head);
    int rc = buffer_append(b, SPAN_LITERAL("\r\n"));
    if (rc == 0)
        rc = stream_write(c->base.stream, buffer_span(b));
    if (rc == 0 && ends && !ex->is_head && response_may_have_body(head->status))
        rc = stream_write(c->base.stream, body);
    if (rc != 0)
        give_up(ex);
    watch_writing(c);
}

static int h1_write(struct exchange *ex, struct span bytes)
{
    struct h1_connection *c = connection_of(ex);
    char line[24];
    if (c->response_left >= 0) {
        bytes = span_slice(bytes, 0, (size_t)c->response_left);
        c->response_left -= (int64_t)bytes.size;
    }
    watch_writing(c);
    if (!c->chunked)
        return stream_write(c->base.stream, bytes);
    size_t at = sizeof line, size = bytes.size;
    line[--at] = '\n';
    line[--at] = '\r';
    for (; size > 0; size >>= 4)
        line[--at] = "0123456789abcdef"[size & 15];
    int rc = stream_write(c->base.stream, span_of(line + at, sizeof line - at));
    if (rc == 0)
        rc = stream_write(c->base.stream, bytes);
    return rc == 0 ? stream_write(c->base.stream, SPAN_LITERAL("\r\n")) : rc;
}

static void h1_end(struct exchange *ex)
{
    struct h1_connection *c = connection_of(ex);
    if (c->chunked)
        stream_write(c->base.stream, SPAN_LITERAL("0\r\n\r\n"));
    if (c->response_left > 0) {
        // The length that was promised cannot be taken back: only an early end tells the truth.
        struct failure why;
        failure_set(&why, FAULT_INTERNAL, "the answer is shorter than it said");
        ex->ended = false;
        exchange_abort(ex, &why);
        return;
    }
    loop_defer(c->base.server->loop, &c->complete);
}

static bool h1_is_choked(const struct exchange *ex)
{
    return stream_is_choked(connection_of(ex)->base.stream);
}

static size_t h1_unsent(const struct exchange *ex)
{
    return stream_pending(connection_of(ex)->base.stream);
}

static void h1_abort(struct exchange *ex, const struct failure *why)
{
    h1_close(&connection_of(ex)->base, why);
}

static const struct carrier_ops h1_carrier = {
    .version = "h1",
    .body_wanted = h1_body_wanted,
    .start = h1_start,
    .write = h1_write,
    .end = h1_end,
    .is_choked = h1_is_choked,
    .unsent = h1_unsent,
    .abort = h1_abort,
};

// ---- the request

// What the head alone says against the request: 0, or the status of the refusal.
static int judge_head(struct h1_connection *c, struct exchange *ex, const char **text)
{
    struct span expect = exchange_header(ex, "expect");
    size_t hosts = exchange_header_repeats(ex, "host");
    *text = "exactly one Host header is needed";
    if (hosts > 1 || (hosts == 0 && !c->is_http10))
        return 400;
    struct span host = exchange_header(ex, "host");
    *text = "the Host header is not a host";
    if (host.size > 0 && !exchange_authority_is_valid(host))
        return 400;
    *text = "CONNECT is not served here";
    if (c->parser.http.method == HTTP_CONNECT)
        return 501;
    *text = "the request target is not a path";
    if (!exchange_set_target(ex, ex->path))
        return 400;
    if (span_is_absent(ex->authority))
        ex->authority = host;
    *text = "HTTP/1.0 has no Transfer-Encoding";
    if (c->is_http10 && !span_is_absent(exchange_header(ex, "transfer-encoding")))
        return 400;
    *text = "only one Transfer-Encoding is understood: chunked";
    if (!span_is_absent(exchange_header(ex, "transfer-encoding")) &&
        (exchange_header_repeats(ex, "transfer-encoding") > 1 ||
         !span_equals_nocase(exchange_header(ex, "transfer-encoding"), SPAN_LITERAL("chunked"))))
        return 501;
    *text = "this expectation cannot be met";
    c->expects_continue = !span_is_absent(expect) && !c->is_http10;
    return c->expects_continue && !span_equals_nocase(expect, SPAN_LITERAL("100-continue")) ? 417
                                                                                            : 0;
}

static void drop_exchange(struct h1_connection *c)
{
    c->ex->detached = true;
    exchange_finish(c->ex, NULL);
    c->ex = NULL;
}

static void begin_exchange(struct h1_connection *c)
{
    struct h1_head head;
    const char *text = "the head is too large";
    struct exchange *ex = exchange_new(&c->base, &h1_carrier, c);
    c->ex = ex;
    c->due_us = 0;
    c->is_http10 = c->parser.http.http_minor == 0;
    c->expects_continue = c->close_after = false;
    int status = h1_parser_take_head(&c->parser, ex->arena, &head) == 0 ? 0 : 431;
    if (status == 0 && c->parser.http.http_major != 1) {
        status = 505;
        text = "this HTTP version is not spoken here";
    }
    if (status == 0) {
        ex->headers = head.headers;
        ex->header_count = head.header_count;
        ex->method = span_from_string(llhttp_method_name((llhttp_method_t)c->parser.http.method));
        ex->path = head.target;
        ex->content_length = h1_parser_content_length(&c->parser);
        ex->has_body = ex->content_length > 0 || (c->parser.http.flags & F_CHUNKED) != 0;
        c->request_complete = !ex->has_body;
        status = judge_head(c, ex, &text);
    }
    if (status != 0) {
        drop_exchange(c);
        refuse(c, status, text);
        return;
    }
    c->state = H1_IN_EXCHANGE;
    exchange_dispatch(ex);
}

static bool step_head(struct h1_connection *c, struct buffer *in)
{
    size_t used;
    if (buffer_size(in) == 0)
        return false;
    if (!h1_parser_has_begun(&c->parser))
        arm(c, c->base.server->limits.head_timeout_ms);
    enum h1_event event = h1_parser_step(&c->parser, in->data + in->start, buffer_size(in), &used);
    buffer_consume(in, used);
    if (event == H1_BAD) {
        refuse(c, c->parser.error.status, c->parser.error.text);
        return true;
    }
    if (event != H1_HEAD)
        return false;
    begin_exchange(c);
    return true;
}

static void break_off(struct h1_connection *c, const char *text)
{
    struct failure why;
    failure_set(&why, FAULT_REQUEST, "%s", text);
    connection_is_hostile(&c->base, HOSTILITY_MALFORMED);
    if (c->ex != NULL && !c->ex->started)
        exchange_refuse(c->ex, 400, &why);
    else
        h1_close(&c->base, &why);
}

// Body bytes for the handler. False when it wants none now, or there are none.
static bool step_body(struct h1_connection *c, struct buffer *in)
{
    size_t used;
    if (c->ex->body != BODY_WANTED || c->ex->detached)
        return false;
    enum h1_event event = h1_parser_step(&c->parser, in->data + in->start, buffer_size(in), &used);
    struct span bytes = span_of(c->parser.body, c->parser.body_size);
    buffer_consume(in, used); // the bytes stay where they are until the next read
    if (event == H1_BAD) {
        break_off(c, c->parser.error.text);
        return false;
    }
    if (event == H1_BODY)
        exchange_deliver_body(c->ex, bytes);
    if (event == H1_END) {
        c->request_complete = true;
        exchange_deliver_end(c->ex);
    }
    return event == H1_BODY || (event == H1_MORE && buffer_size(in) > 0);
}

static bool step_discard(struct h1_connection *c, struct buffer *in)
{
    size_t used;
    enum h1_event event = h1_parser_step(&c->parser, in->data + in->start, buffer_size(in), &used);
    buffer_consume(in, used);
    c->discarded += used;
    if (event == H1_END) {
        c->request_complete = true;
        next_request(c);
        return true;
    }
    if (event == H1_BAD || c->discarded > DISCARD_BYTES) {
        linger(c);
        return true;
    }
    return event == H1_BODY || buffer_size(in) > 0;
}

static bool step(struct h1_connection *c, struct buffer *in)
{
    switch (c->state) {
    case H1_READING_HEAD:
        return step_head(c, in);
    case H1_IN_EXCHANGE:
        return step_body(c, in);
    case H1_DISCARDING:
        return step_discard(c, in);
    case H1_LINGERING:
        buffer_clear(in);
        return false;
    case H1_GONE:
        return false;
    }
    return false;
}

static void process(struct h1_connection *c, struct buffer *in)
{
    c->processing = true;
    while (step(c, in))
        ;
    c->processing = false;
}

// ---- what the stream tells

static void on_readable(void *owner, struct buffer *in)
{
    process(owner, in);
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
    h1_close(&c->base, &why);
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
    h1_close(&c->base, &gone);
}

static const struct stream_ops stream_ops = {
    .readable = on_readable,
    .read_ended = on_read_ended,
    .drained = on_drained,
    .flushed = on_flushed,
    .closed = on_closed,
};

static void h1_drain(struct connection *base)
{
    struct h1_connection *c = CONTAINER_OF(base, struct h1_connection, base);
    if (c->state == H1_READING_HEAD && !h1_parser_has_begun(&c->parser))
        h1_close(base, NULL);
    else
        c->close_after = true;
}

static const struct connection_ops connection_ops = {
    .version = "h1", .drain = h1_drain, .close = h1_close};

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
    arm(c, s->limits.head_timeout_ms);
    stream_set_owner(c->base.stream, &stream_ops, c);
    return &c->base;
}
