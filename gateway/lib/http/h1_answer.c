// SPDX-License-Identifier: Apache-2.0
// The answer of one exchange on an HTTP/1.1 connection.
#include "gateway/lib/http/h1.h"
#include "gateway/lib/http/response.h"

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
    return ex->content_length < 0 ||
           (uint64_t)ex->content_length - ex->body_seen <= H1_DISCARD_BYTES;
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
    h1_watch_writing(c);
}

static int h1_write(struct exchange *ex, struct span bytes)
{
    struct h1_connection *c = connection_of(ex);
    char line[24];
    if (c->response_left >= 0) {
        bytes = span_slice(bytes, 0, (size_t)c->response_left);
        c->response_left -= (int64_t)bytes.size;
    }
    h1_watch_writing(c);
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
    h1_close(connection_of(ex), why);
}

const struct carrier_ops h1_carrier = {
    .version = "h1",
    .body_wanted = h1_body_wanted,
    .start = h1_start,
    .write = h1_write,
    .end = h1_end,
    .is_choked = h1_is_choked,
    .unsent = h1_unsent,
    .abort = h1_abort,
};
