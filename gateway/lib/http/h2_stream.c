// SPDX-License-Identifier: Apache-2.0
// One exchange on an HTTP/2 connection.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/h2.h"
#include "gateway/lib/http/response.h"
#include "gateway/lib/net/chunk.h"

enum { FIRST_HEADERS = 24, HEADER_OVERHEAD = 32 /* RFC 9113 §6.5.2 */ };

static const struct carrier_ops h2_carrier;

struct h2_stream *h2_stream_new(struct h2_connection *c, int32_t id)
{
    struct http_server *s = c->base.server;
    struct exchange *ex = exchange_new(&c->base, &h2_carrier, NULL);
    struct h2_stream *stream = arena_alloc(ex->arena, sizeof *stream);
    ex->carrier_state = stream;
    stream->ex = ex;
    stream->connection = c;
    stream->id = id;
    buffer_init(&stream->unread, s->limits.body_buffer_bytes);
    buffer_init(&stream->out, s->limits.write_buffer_bytes > CHUNK_SIZE
                                  ? s->limits.write_buffer_bytes
                                  : CHUNK_SIZE);
    list_init(&stream->event);
    list_append(&c->streams, &stream->node);
    h2_streams_changed(c);
    return stream;
}

void h2_stream_note(struct h2_stream *stream)
{
    struct h2_connection *c = stream->connection;
    if (list_is_empty(&stream->event))
        list_append(&c->events, &stream->event);
    loop_defer(c->base.server->loop, &c->dispatch);
}

// Gives both windows back what the handler has taken.
static void give_credit(struct h2_stream *stream, size_t size)
{
    struct h2_connection *c = stream->connection;
    size_t owed = size < stream->owed ? size : stream->owed;
    stream->owed -= owed;
    nghttp2_session_consume_stream(c->session, stream->id, size);
    if (owed > 0)
        nghttp2_session_consume_connection(c->session, owed);
    h2_want_flush(c);
}

void h2_stream_finish(struct h2_stream *stream, const struct failure *why)
{
    struct h2_connection *c = stream->connection;
    list_remove(&stream->node);
    list_remove(&stream->event);
    if (c->assembling == stream)
        c->assembling = NULL;
    if (c->data_stream == stream)
        c->data_stream = NULL;
    nghttp2_session_set_stream_user_data(c->session, stream->id, NULL);
    if (stream->owed > 0)
        nghttp2_session_consume_connection(c->session, stream->owed);
    c->unread -= buffer_size(&stream->unread);
    c->base.held -= buffer_size(&stream->unread) + buffer_size(&stream->out);
    buffer_fini(&stream->unread);
    chunk_take_back(&stream->out);
    if (!stream->dispatched)
        stream->ex->detached = true; // the handler never heard of it
    exchange_finish(stream->ex, why);
    h2_streams_changed(c);
}

static void reset(struct h2_stream *stream, uint32_t code, const struct failure *why)
{
    struct h2_connection *c = stream->connection;
    nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, stream->id, code);
    h2_stream_finish(stream, why);
    h2_want_flush(c);
}

// ---- the request

static struct span *pseudo_header(struct exchange *ex, struct span name)
{
    if (span_equals(name, SPAN_LITERAL(":method")))
        return &ex->method;
    if (span_equals(name, SPAN_LITERAL(":path")))
        return &ex->path;
    if (span_equals(name, SPAN_LITERAL(":authority")))
        return &ex->authority;
    return NULL;
}

static int grow_headers(struct h2_stream *stream)
{
    struct exchange *ex = stream->ex;
    size_t capacity = stream->header_capacity > 0 ? stream->header_capacity * 2 : FIRST_HEADERS;
    struct http_header *headers = arena_try_alloc(ex->arena, capacity * sizeof *headers);
    if (headers == NULL)
        return FAULT_TOO_LARGE;
    if (ex->header_count > 0)
        memcpy(headers, ex->headers, ex->header_count * sizeof *headers);
    ex->headers = headers;
    stream->header_capacity = capacity;
    return 0;
}

int h2_stream_add_header(struct h2_stream *stream, struct span name, struct span value)
{
    struct exchange *ex = stream->ex;
    const struct http_server_limits *limits = &ex->server->limits;
    stream->head_size += name.size + value.size + HEADER_OVERHEAD;
    if (stream->head_too_large || stream->head_size > limits->head_bytes ||
        ex->header_count >= limits->header_count)
        return FAULT_TOO_LARGE;
    if (name.size > 0 && name.data[0] == ':') {
        struct span *place = pseudo_header(ex, name);
        if (place != NULL)
            *place = arena_copy(ex->arena, value);
        return 0;
    }
    if (ex->header_count == stream->header_capacity && grow_headers(stream) != 0)
        return FAULT_TOO_LARGE;
    char *text = arena_try_alloc(ex->arena, name.size + value.size + 1);
    if (text == NULL)
        return FAULT_TOO_LARGE;
    memcpy(text, name.data, name.size);
    memcpy(text + name.size, value.data, value.size);
    ex->headers[ex->header_count++] = (struct http_header){
        span_of(text, name.size), span_trim(span_of(text + name.size, value.size))};
    return 0;
}

// 0, or the status of the refusal.
static int judge_head(struct h2_stream *stream)
{
    struct exchange *ex = stream->ex;
    struct span host = exchange_header(ex, "host"), length = exchange_header(ex, "content-length");
    struct span expect = exchange_header(ex, "expect");
    uint64_t size;
    if (stream->head_too_large)
        return 431;
    if (span_is(ex->method, "CONNECT"))
        return 501;
    if (exchange_header_repeats(ex, "host") > 1)
        return 400;
    if (ex->authority.size == 0)
        ex->authority = host;
    else if (!span_is_absent(host) && !span_equals_nocase(host, ex->authority))
        return 400; // two readers could take it for two hosts
    if (ex->authority.size > 0 && !exchange_authority_is_valid(ex->authority))
        return 400;
    if (ex->path.size > ex->server->limits.head_bytes / 2)
        return 414;
    if (!exchange_set_target(ex, ex->path))
        return 400;
    if (span_to_u64(length, &size) && size <= INT64_MAX)
        ex->content_length = (int64_t)size;
    stream->expects_continue = !span_is_absent(expect);
    return stream->expects_continue && !span_equals_nocase(expect, SPAN_LITERAL("100-continue"))
               ? 417
               : 0;
}

static void begin(struct h2_stream *stream)
{
    struct exchange *ex = stream->ex;
    struct failure why;
    stream->is_new = false;
    ex->has_body = !stream->request_ended || buffer_size(&stream->unread) > 0;
    int status = judge_head(stream);
    if (status == 0) {
        stream->dispatched = true;
        exchange_dispatch(ex);
        return;
    }
    ex->detached = true;
    ex->is_head = span_is(ex->method, "HEAD");
    connection_is_hostile(ex->connection, status == 431 || status == 414 ? HOSTILITY_HEAD_TOO_LARGE
                                                                         : HOSTILITY_MALFORMED);
    failure_set(&why, FAULT_REQUEST, "the head was refused");
    exchange_refuse(ex, status, &why);
}

static void keep_unread(struct h2_stream *stream, struct span bytes)
{
    struct h2_connection *c = stream->connection;
    struct failure why;
    if (buffer_append(&stream->unread, bytes) != 0) { // past the window it was given
        failure_set(&why, FAULT_PEER, "the client ignores flow control");
        reset(stream, NGHTTP2_FLOW_CONTROL_ERROR, &why);
        return;
    }
    c->unread += bytes.size;
    c->base.held += bytes.size;
    if (c->unread <= H2_CONNECTION_WINDOW)
        nghttp2_session_consume_connection(c->session, bytes.size);
    else
        stream->owed += bytes.size;
}

void h2_stream_take_data(struct h2_stream *stream, struct span bytes)
{
    struct exchange *ex = stream->ex;
    if (ex->detached || stream->answer_is_out) { // nobody will read it
        nghttp2_session_consume(stream->connection->session, stream->id, bytes.size);
        return;
    }
    if (ex->body != BODY_WANTED || buffer_size(&stream->unread) > 0) {
        keep_unread(stream, bytes);
        return;
    }
    struct h2_connection *c = stream->connection;
    int32_t id = stream->id;
    exchange_deliver_body(ex, bytes);
    if (c->state == H2_GONE)
        return;
    nghttp2_session_consume(c->session, id, bytes.size);
    h2_want_flush(c);
}

static void deliver_unread(struct h2_stream *stream)
{
    struct exchange *ex = stream->ex;
    while (ex->body == BODY_WANTED && !ex->detached && buffer_size(&stream->unread) > 0) {
        struct span bytes = buffer_span(&stream->unread);
        exchange_deliver_body(ex, bytes);
        if (ex->finished)
            return;
        buffer_consume(&stream->unread, bytes.size);
        stream->connection->unread -= bytes.size;
        stream->connection->base.held -= bytes.size;
        give_credit(stream, bytes.size);
    }
    if (buffer_size(&stream->unread) == 0) {
        buffer_release(&stream->unread);
        if (stream->request_ended && ex->body == BODY_WANTED)
            exchange_deliver_end(ex);
    }
}

// The answer is out. A request body that is still coming is told to stop (RFC 9113 §8.1).
static void complete(struct h2_stream *stream)
{
    struct h2_connection *c = stream->connection;
    h2_flood_credit(&c->flood, 1);
    if (stream->request_ended || stream->was_reset)
        h2_stream_finish(stream, NULL);
    else
        reset(stream, NGHTTP2_NO_ERROR, NULL);
}

void h2_stream_dispatch(struct h2_stream *stream)
{
    struct exchange *ex = stream->ex;
    struct failure why;
    if (stream->answer_is_out) {
        complete(stream);
        return;
    }
    if (stream->was_reset) {
        failure_set(&why, FAULT_CANCELLED, "the client reset the stream: %s",
                    nghttp2_http2_strerror(stream->reset_code));
        h2_stream_finish(stream, &why);
        return;
    }
    if (stream->is_new)
        begin(stream);
    if (!ex->finished)
        deliver_unread(stream);
    if (!ex->finished && stream->is_drained) {
        stream->is_drained = false;
        exchange_drained(ex);
    }
}

// ---- the carrier

static struct h2_stream *stream_of(const struct exchange *ex)
{
    return ex->carrier_state;
}

static nghttp2_nv pair(struct span name, struct span value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name.data, (uint8_t *)(uintptr_t)value.data,
                        name.size, value.size, NGHTTP2_NV_FLAG_NONE};
}

static void h2_body_wanted(struct exchange *ex)
{
    struct h2_stream *stream = stream_of(ex);
    if (stream->expects_continue && !ex->started) {
        nghttp2_nv status = pair(SPAN_LITERAL(":status"), SPAN_LITERAL("100"));
        stream->expects_continue = false;
        nghttp2_submit_headers(stream->connection->session, NGHTTP2_FLAG_NONE, stream->id, NULL,
                               &status, 1, NULL);
        h2_want_flush(stream->connection);
    }
    if (buffer_size(&stream->unread) > 0 || stream->request_ended)
        h2_stream_note(stream);
}

static ssize_t read_out(nghttp2_session *session, int32_t id, uint8_t *buf, size_t size,
                        uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct h2_stream *stream = nghttp2_session_get_stream_user_data(session, id);
    (void)buf;
    (void)source;
    (void)user;
    return stream != NULL ? h2_stream_read_out(stream, size, flags)
                          : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

ssize_t h2_stream_read_out(struct h2_stream *stream, size_t size, uint32_t *flags)
{
    size_t waiting = buffer_size(&stream->out);
    if (waiting == 0 && !stream->out_ended) {
        stream->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (size > waiting)
        size = waiting;
    if (size == waiting && stream->out_ended)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    return (ssize_t)size;
}

int h2_stream_send_out(struct h2_stream *stream, struct span frame_head, size_t size)
{
    struct h2_connection *c = stream->connection;
    int rc = stream_write(c->base.stream, frame_head);
    if (rc == 0)
        rc = stream_write(c->base.stream, span_slice(buffer_span(&stream->out), 0, size));
    if (rc != 0)
        return rc;
    buffer_consume(&stream->out, size);
    c->base.held -= size;
    stream->sent += size;
    // A small frame with more behind it is one that the client's window cut.
    if (size >= H2_USEFUL_BYTES || buffer_size(&stream->out) == 0)
        h2_flood_credit(&c->flood, H2_DATA_CREDIT);
    if (buffer_size(&stream->out) == 0)
        chunk_take_back(&stream->out);
    if (stream->choked && buffer_size(&stream->out) <= c->base.server->limits.low_water) {
        stream->choked = false;
        stream->is_drained = true;
        h2_stream_note(stream);
    }
    return 0;
}

static void wake_sender(struct h2_stream *stream)
{
    if (stream->deferred) {
        stream->deferred = false;
        nghttp2_session_resume_data(stream->connection->session, stream->id);
    }
    h2_want_flush(stream->connection);
}

static int h2_write(struct exchange *ex, struct span bytes)
{
    struct h2_stream *stream = stream_of(ex);
    const struct http_server_limits *limits = &ex->server->limits;
    if (bytes.size > limits->write_buffer_bytes - buffer_size(&stream->out))
        return FAULT_TOO_LARGE;
    chunk_lend(&stream->out);
    int rc = buffer_append(&stream->out, bytes);
    if (rc != 0)
        return rc;
    stream->connection->base.held += bytes.size;
    if (buffer_size(&stream->out) > limits->high_water)
        stream->choked = true;
    wake_sender(stream);
    return 0;
}

static void h2_end(struct exchange *ex)
{
    struct h2_stream *stream = stream_of(ex);
    stream->out_ended = true;
    wake_sender(stream);
}

static void fill_digits(int64_t n, char out[24], struct span *text)
{
    char *at = out + 24;
    do
        *--at = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    *text = span_of(at, (size_t)(out + 24 - at));
}

static void h2_start(struct exchange *ex, const struct http_response *head, struct span body,
                     bool ends)
{
    struct h2_stream *stream = stream_of(ex);
    struct failure why;
    char status[24], length[24];
    struct span text;
    size_t count = 0;
    nghttp2_nv *nv = arena_alloc(ex->arena, (head->header_count + 3) * sizeof *nv);
    fill_digits(head->status, status, &text);
    nv[count++] = pair(SPAN_LITERAL(":status"), text);
    nv[count++] = pair(SPAN_LITERAL("date"), server_date(ex->server));
    for (size_t i = 0; i < head->header_count; i++)
        if (response_header_goes_out(&head->headers[i]))
            nv[count++] = pair(head->headers[i].name, head->headers[i].value);
    bool may_have_body = response_may_have_body(head->status);
    if (may_have_body && head->content_length >= 0) {
        fill_digits(head->content_length, length, &text);
        nv[count++] = pair(SPAN_LITERAL("content-length"), text);
    }
    nghttp2_data_provider provider = {.read_callback = read_out};
    bool bare = !may_have_body || ex->is_head || (ends && body.size == 0);
    nghttp2_submit_response(stream->connection->session, stream->id, nv, count,
                            bare ? NULL : &provider);
    stream->out_ended = ends;
    if (!bare && body.size > 0 && h2_write(ex, body) != 0) {
        failure_set(&why, FAULT_SLOW, "the answer does not fit into the write buffer");
        exchange_abort(ex, &why);
    }
    h2_want_flush(stream->connection);
}

static bool h2_is_choked(const struct exchange *ex)
{
    return stream_of(ex)->choked;
}

static size_t h2_unsent(const struct exchange *ex)
{
    return buffer_size(&stream_of(ex)->out);
}

static void h2_abort(struct exchange *ex, const struct failure *why)
{
    reset(stream_of(ex), why->fault == FAULT_CANCELLED ? NGHTTP2_CANCEL : NGHTTP2_INTERNAL_ERROR,
          why);
}

static const struct carrier_ops h2_carrier = {
    .version = "h2",
    .body_wanted = h2_body_wanted,
    .start = h2_start,
    .write = h2_write,
    .end = h2_end,
    .is_choked = h2_is_choked,
    .unsent = h2_unsent,
    .abort = h2_abort,
};

void h2_stream_check_progress(struct h2_stream *stream)
{
    struct failure why;
    const struct http_server_limits *limits = &stream->ex->server->limits;
    if (reading_is_slow(&stream->reading, stream->sent, buffer_size(&stream->out),
                        least_bytes(limits, limits->write_timeout_ms / 2))) {
        connection_is_hostile(stream->ex->connection, HOSTILITY_SLOW_READER);
        failure_set(&why, FAULT_SLOW, "the client does not read its answer");
        reset(stream, NGHTTP2_ENHANCE_YOUR_CALM, &why);
    }
}
