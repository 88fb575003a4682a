// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection to an upstream, with at most one call on it.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/call.h"

enum { LOW_WATER = 64 * 1024, HIGH_WATER = 256 * 1024 };

struct client_link {
    struct list node; // in the client: idle or busy
    struct http_client *client;
    struct stream *stream;  // owned; NULL once closed
    struct http_call *call; // borrowed; NULL while idle
    struct h1_parser parser;
    bool reused, answer_begun, read_over, processing;
    uint64_t written_mark; // of the stream, when the call was put on it
    struct timer idle;
};

static void link_free(void *object)
{
    struct client_link *link = object;
    h1_parser_fini(&link->parser);
    free(link);
}

void client_link_close(struct client_link *link)
{
    struct http_client *c = link->client;
    if (link->stream == NULL)
        return;
    stream_close(link->stream);
    link->stream = NULL;
    if (link->call == NULL)
        c->idle_count--;
    link->call = NULL;
    timer_cancel(&link->idle);
    list_remove(&link->node);
    c->link_count--;
    loop_defer(c->loop, &c->assign);
    loop_bury(c->loop, link, link_free);
}

static void on_idle_timer(struct timer *timer)
{
    client_link_close(CONTAINER_OF(timer, struct client_link, idle));
}

bool client_link_was_sent(const struct client_link *link)
{
    return link->stream != NULL && stream_bytes_written(link->stream) > link->written_mark;
}

static void fail_call(struct client_link *link, const struct failure *why)
{
    struct http_call *call = link->call;
    call->sent = client_link_was_sent(link);
    call->link = NULL;
    if (link->reused && !link->answer_begun && !call->sent && !call->redialled) {
        call_redial(call, stream_unwritten(link->stream));
        client_link_close(link);
        return;
    }
    client_link_close(link);
    call_finish(call, why);
}

static void become_idle(struct client_link *link)
{
    struct http_client *c = link->client;
    h1_parser_next(&link->parser);
    list_remove(&link->node);
    list_prepend(&c->idle, &link->node);
    c->idle_count++;
    timer_start(&link->idle, c->options.idle_close_ms);
    loop_defer(c->loop, &c->assign);
}

// The answer is whole. The connection is kept only where both sides have nothing left to say.
static void finish_call(struct client_link *link, size_t bytes_left)
{
    struct http_call *call = link->call;
    bool keep = h1_parser_keeps_alive(&link->parser) && call->request_ended && bytes_left == 0 &&
                !link->read_over && !link->client->closed && stream_pending(link->stream) == 0;
    call->sent = true;
    call->link = NULL;
    if (keep) {
        link->call = NULL;
        become_idle(link);
    } else {
        client_link_close(link);
    }
    call_finish(call, NULL);
}

// ---- the answer

static bool take_head(struct client_link *link)
{
    struct http_call *call = link->call;
    struct failure why;
    struct h1_head head;
    int status = link->parser.http.status_code;
    if (status == 101) {
        failure_set(&why, FAULT_PEER, "the upstream switched protocols unasked");
        fail_call(link, &why);
        return false;
    }
    if (h1_parser_take_head(&link->parser, call->arena, &head) != 0) {
        failure_set(&why, FAULT_PEER, "the answer's head is too large");
        fail_call(link, &why);
        return false;
    }
    if (status / 100 == 1) { // something provisional: not for the owner
        arena_reset(call->arena);
        return true;
    }
    call->headers = head.headers;
    call->header_count = head.header_count;
    call->content_length = h1_parser_content_length(&link->parser);
    if (call->ops->head != NULL)
        call->ops->head(call, status);
    return true;
}

static void end_of_message(struct client_link *link, size_t bytes_left)
{
    bool provisional = link->parser.http.status_code / 100 == 1;
    if (provisional) {
        h1_parser_next(&link->parser);
        link->parser.bodyless = link->call->is_head;
    } else {
        finish_call(link, bytes_left);
    }
}

// One step. False where it must wait, or the link is done with.
static bool step(struct client_link *link, struct buffer *in)
{
    struct http_call *call = link->call;
    struct failure why;
    size_t used;
    enum h1_event event =
        h1_parser_step(&link->parser, in->data + in->start, buffer_size(in), &used);
    buffer_consume(in, used);
    switch (event) {
    case H1_HEAD:
        return take_head(link);
    case H1_BODY:
        if (call->ops->body != NULL)
            call->ops->body(call, span_of(link->parser.body, link->parser.body_size));
        return true;
    case H1_END:
        end_of_message(link, buffer_size(in));
        return true;
    case H1_BAD:
        failure_set(&why, FAULT_PEER, "the upstream's answer: %s", link->parser.error.text);
        fail_call(link, &why);
        return false;
    case H1_MORE:
        return false;
    }
    return false;
}

static void on_readable(void *owner, struct buffer *in)
{
    struct client_link *link = owner;
    if (link->call == NULL) { // bytes that answer nothing
        client_link_close(link);
        return;
    }
    link->answer_begun = true;
    link->processing = true;
    while (link->stream != NULL && link->call != NULL && !link->call->paused && step(link, in))
        ;
    link->processing = false;
}

static void on_read_ended(void *owner)
{
    struct client_link *link = owner;
    struct failure why;
    link->read_over = true;
    if (link->call == NULL) {
        client_link_close(link);
        return;
    }
    if (h1_parser_finish(&link->parser) == H1_END) { // an answer without a length ends so
        finish_call(link, 0);
        return;
    }
    failure_set(&why, FAULT_CLOSED, "the upstream closed the connection before its answer ended");
    fail_call(link, &why);
}

static void on_drained(void *owner)
{
    struct client_link *link = owner;
    if (link->call != NULL && link->call->ops->drained != NULL)
        link->call->ops->drained(link->call);
}

static void on_closed(void *owner, const struct failure *why)
{
    struct client_link *link = owner;
    if (link->call != NULL)
        fail_call(link, why);
    else
        client_link_close(link);
}

static const struct stream_ops stream_ops = {
    .readable = on_readable,
    .read_ended = on_read_ended,
    .drained = on_drained,
    .closed = on_closed,
};

// ---- calls come and go

static void put_call(struct client_link *link, struct http_call *call)
{
    struct http_client *c = link->client;
    struct failure why;
    link->call = call;
    link->answer_begun = false;
    link->parser.bodyless = call->is_head;
    link->written_mark = stream_bytes_written(link->stream);
    list_remove(&link->node);
    list_append(&c->busy, &link->node);
    call->state = CALL_RUNNING;
    call->link = link;
    int rc = stream_write(link->stream, buffer_span(&call->request));
    buffer_release(&call->request);
    if (call->paused)
        stream_pause(link->stream);
    // A stream that failed already says why by itself, in `closed`.
    if (rc != 0 && rc != FAULT_CLOSED) {
        failure_set(&why, FAULT_TOO_LARGE, "the request does not fit into the write buffer");
        fail_call(link, &why);
    }
}

void client_link_dial(struct http_client *c, struct http_call *call)
{
    struct stream_limits limits = {
        .read_bytes = c->options.body_buffer_bytes,
        .write_bytes = c->options.write_buffer_bytes,
        .high_water = HIGH_WATER,
        .low_water = LOW_WATER,
    };
    struct client_link *link = memory_new(sizeof *link);
    link->client = c;
    list_init(&link->node);
    timer_init(&link->idle, c->loop, on_idle_timer);
    h1_parser_init(&link->parser, HTTP_RESPONSE, &c->limits);
    link->stream =
        stream_connect(c->loop, &c->options.address, &limits, c->options.connect_timeout_ms);
    c->link_count++;
    put_call(link, call);
    if (link->stream != NULL)
        stream_set_owner(link->stream, &stream_ops, link);
}

struct client_link *client_link_of_idle_node(struct list *node)
{
    return LIST_ENTRY(node, struct client_link, node);
}

void client_link_use(struct client_link *link, struct http_call *call)
{
    link->client->idle_count--;
    timer_cancel(&link->idle);
    link->reused = true;
    put_call(link, call);
}

struct http_call *client_link_call_of_busy_node(struct list *node)
{
    return LIST_ENTRY(node, struct client_link, node)->call;
}

void client_link_pause(struct client_link *link)
{
    stream_pause(link->stream);
}

int client_link_write(struct client_link *link, struct span bytes)
{
    return stream_write(link->stream, bytes);
}

void client_link_resume(struct client_link *link)
{
    if (!link->processing)
        stream_resume(link->stream);
}

bool client_link_is_choked(const struct client_link *link)
{
    return stream_is_choked(link->stream);
}
