// SPDX-License-Identifier: Apache-2.0
// What a client sends on an HTTP/1.1 connection: the head and its judgement, then the body.
#include "gateway/lib/http/h1.h"

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
        h1_refuse(c, status, text);
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
        h1_arm(c, c->base.server->limits.head_timeout_ms);
    enum h1_event event = h1_parser_step(&c->parser, in->data + in->start, buffer_size(in), &used);
    buffer_consume(in, used);
    if (event == H1_BAD) {
        h1_refuse(c, c->parser.error.status, c->parser.error.text);
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
        h1_close(c, &why);
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
        h1_next_request(c);
        return true;
    }
    if (event == H1_BAD || c->discarded > H1_DISCARD_BYTES) {
        h1_linger(c);
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

void h1_process(struct h1_connection *c, struct buffer *in)
{
    c->processing = true;
    while (step(c, in))
        ;
    c->processing = false;
}
