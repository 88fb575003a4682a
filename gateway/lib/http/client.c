// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/http/client.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/call.h"
#include "gateway/lib/http/response.h"

enum { HIGH_WATER = 256 * 1024 };

void http_client_options_default(struct http_client_options *o)
{
    *o = (struct http_client_options){
        .connections = 64,
        .waiting = 256,
        .head_bytes = 64 * 1024,
        .header_count = 128,
        .body_buffer_bytes = 64 * 1024,
        .write_buffer_bytes = 64 * 1024 * 1024,
        .connect_timeout_ms = 5000,
        .idle_close_ms = 3500, // less than the 4 to 5 s that Node servers keep one open
    };
}

// ---- the line

static void call_free(void *object)
{
    struct http_call *call = object;
    buffer_fini(&call->request);
    arena_free(call->arena);
    free(call);
}

static void leave_line(struct http_call *call)
{
    if (call->state != CALL_WAITING)
        return;
    list_remove(&call->node);
    call->client->waiting_count--;
}

static void on_assign(struct task *task)
{
    struct http_client *c = CONTAINER_OF(task, struct http_client, assign);
    while (!c->closed && !list_is_empty(&c->waiting)) {
        struct http_call *call = LIST_ENTRY(c->waiting.next, struct http_call, node);
        if (!list_is_empty(&c->idle) && !call->redialled) {
            leave_line(call);
            client_link_use(client_link_of_idle_node(c->idle.next), call);
        } else if (c->link_count < c->options.connections) {
            leave_line(call);
            client_link_dial(c, call);
        } else if (!list_is_empty(&c->idle)) {
            // A call that is dialled anew trusts no kept connection; one of them makes room.
            client_link_close(client_link_of_idle_node(c->idle.next));
        } else {
            return;
        }
    }
}

void call_finish(struct http_call *call, const struct failure *why)
{
    if (call->state == CALL_OVER)
        return;
    leave_line(call);
    call->state = CALL_OVER;
    task_cancel(&call->ending);
    if (call->ops->ended != NULL)
        call->ops->ended(call, why);
    loop_bury(call->client->loop, call, call_free);
}

static void on_ending(struct task *task)
{
    struct http_call *call = CONTAINER_OF(task, struct http_call, ending);
    call_finish(call, &call->why);
}

static void fail_later(struct http_call *call, int fault, const char *text)
{
    if (call->state == CALL_OVER || call->state == CALL_ENDING)
        return;
    leave_line(call);
    if (call->link != NULL) {
        call->sent = client_link_was_sent(call->link);
        client_link_close(call->link);
        call->link = NULL;
    }
    call->state = CALL_ENDING;
    failure_set(&call->why, (enum fault)fault, "%s", text);
    loop_defer(call->client->loop, &call->ending);
}

void call_redial(struct http_call *call, struct span unsent)
{
    struct http_client *c = call->client;
    call->redialled = true;
    call->state = CALL_WAITING;
    call->request.limit = c->options.write_buffer_bytes;
    list_prepend(&c->waiting, &call->node);
    c->waiting_count++;
    if (buffer_append(&call->request, unsent) != 0)
        fail_later(call, FAULT_TOO_LARGE, "the request does not fit into the write buffer");
    loop_defer(c->loop, &c->assign);
}

// ---- the client

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options)
{
    struct http_client *c = memory_new(sizeof *c);
    *c = (struct http_client){.loop = loop, .options = *options};
    c->limits = (struct h1_limits){options->head_bytes, options->header_count};
    list_init(&c->waiting);
    list_init(&c->idle);
    list_init(&c->busy);
    task_init(&c->assign, on_assign);
    return c;
}

static void client_free(void *object)
{
    struct http_client *c = object;
    task_cancel(&c->assign);
    free(c);
}

// Its calls end in this turn's deferred tasks, before the client is freed.
void http_client_close(struct http_client *c)
{
    static const char text[] = "the client was closed";
    if (c == NULL || c->closed)
        return;
    c->closed = true;
    http_client_close_idle(c);
    while (!list_is_empty(&c->busy))
        fail_later(client_link_call_of_busy_node(c->busy.next), FAULT_CANCELLED, text);
    while (!list_is_empty(&c->waiting))
        fail_later(LIST_ENTRY(c->waiting.next, struct http_call, node), FAULT_CANCELLED, text);
    loop_bury(c->loop, c, client_free);
}

void http_client_close_idle(struct http_client *c)
{
    while (!list_is_empty(&c->idle))
        client_link_close(client_link_of_idle_node(c->idle.next));
}

size_t http_client_idle_connections(const struct http_client *c)
{
    return c->idle_count;
}

size_t http_client_connections(const struct http_client *c)
{
    return c->link_count;
}

// ---- a call

static char *put(char *at, struct span s)
{
    if (s.size > 0)
        memcpy(at, s.data, s.size);
    return at + s.size;
}

static char *put_header(char *at, struct span name, struct span value)
{
    at = put(put(at, name), SPAN_LITERAL(": "));
    return put(put(at, value), SPAN_LITERAL("\r\n"));
}

static char *put_content_length(char *at, uint64_t bytes)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + bytes % 10);
        bytes /= 10;
    } while (bytes > 0);
    return put_header(at, SPAN_LITERAL("content-length"),
                      span_of(digits + first, sizeof digits - first));
}

static bool is_safe(const struct http_request *r)
{
    bool safe = response_value_is_safe(r->method) && response_value_is_safe(r->target) &&
                response_value_is_safe(r->host) && r->target.size > 0 &&
                memchr(r->target.data, ' ', r->target.size) == NULL;
    for (size_t i = 0; i < r->header_count; i++)
        safe = safe && response_value_is_safe(r->headers[i].name) &&
               response_value_is_safe(r->headers[i].value);
    return safe;
}

// What the head takes at most.
static size_t head_bytes(const struct http_request *r)
{
    enum { REST = 96 }; // version, Host, length or transfer coding, line ends
    size_t sum = r->method.size + r->target.size + r->host.size + REST;
    for (size_t i = 0; i < r->header_count; i++)
        sum += r->headers[i].name.size + r->headers[i].value.size + sizeof ": \r\n" - 1;
    return sum;
}

static int write_head(struct http_call *call, const struct http_request *r)
{
    struct buffer *b = &call->request;
    bool takes_body = span_is(r->method, "POST") || span_is(r->method, "PUT") || r->body.size > 0;
    char *start;
    int fault = buffer_reserve(b, head_bytes(r) + r->body.size, &start);
    if (fault != 0)
        return fault;
    char *at = put(put(start, r->method), SPAN_LITERAL(" "));
    at = put(put(at, r->target), SPAN_LITERAL(" HTTP/1.1\r\n"));
    at = put_header(at, SPAN_LITERAL("host"),
                    r->host.size > 0 ? r->host : SPAN_LITERAL("localhost"));
    for (size_t i = 0; i < r->header_count; i++)
        at = put_header(at, r->headers[i].name, r->headers[i].value);
    call->chunked = r->streams_body && r->content_length < 0;
    if (call->chunked)
        at = put_header(at, SPAN_LITERAL("transfer-encoding"), SPAN_LITERAL("chunked"));
    else if (r->streams_body)
        at = put_content_length(at, (uint64_t)r->content_length);
    else if (takes_body)
        at = put_content_length(at, r->body.size);
    at = put(at, SPAN_LITERAL("\r\n"));
    if (!r->streams_body)
        at = put(at, r->body);
    buffer_commit(b, (size_t)(at - start));
    return 0;
}

struct http_call *http_call_start(struct http_client *c, const struct http_request *request,
                                  const struct http_call_ops *ops, void *user)
{
    struct http_call *call = memory_new(sizeof *call);
    call->client = c;
    call->ops = ops;
    call->user = user;
    call->content_length = -1;
    call->arena = arena_new(c->options.head_bytes * 4 + 4096);
    call->is_head = span_is(request->method, "HEAD");
    call->request_ended = !request->streams_body;
    buffer_init(&call->request, c->options.write_buffer_bytes);
    list_init(&call->node);
    task_init(&call->ending, on_ending);
    call->state = CALL_WAITING;
    list_append(&c->waiting, &call->node);
    c->waiting_count++;
    if (c->closed)
        fail_later(call, FAULT_CANCELLED, "the client was closed");
    else if (!is_safe(request))
        fail_later(call, FAULT_INVALID, "the request's head holds a line break");
    else if (write_head(call, request) != 0)
        fail_later(call, FAULT_TOO_LARGE, "the request does not fit into the write buffer");
    else if (c->waiting_count > c->options.waiting)
        fail_later(call, FAULT_UNAVAILABLE, "too many calls wait for this upstream");
    else
        loop_defer(c->loop, &c->assign);
    return call;
}

void *http_call_user(const struct http_call *call)
{
    return call->user;
}

struct span http_call_header(const struct http_call *call, const char *name)
{
    struct span wanted = span_from_string(name);
    for (size_t i = 0; i < call->header_count; i++)
        if (span_equals(call->headers[i].name, wanted))
            return call->headers[i].value;
    return SPAN_NONE;
}

int64_t http_call_content_length(const struct http_call *call)
{
    return call->content_length;
}

static void send_bytes(struct http_call *call, struct span bytes)
{
    int rc = 0;
    if (call->state == CALL_RUNNING)
        rc = client_link_write(call->link, bytes);
    else if (call->state == CALL_WAITING)
        rc = buffer_append(&call->request, bytes);
    if (rc == FAULT_TOO_LARGE)
        fail_later(call, rc, "the request does not fit into the write buffer");
}

void http_call_write(struct http_call *call, struct span bytes)
{
    char line[24];
    if (call->request_ended || bytes.size == 0)
        return;
    if (!call->chunked) {
        send_bytes(call, bytes);
        return;
    }
    size_t at = sizeof line;
    line[--at] = '\n';
    line[--at] = '\r';
    for (size_t size = bytes.size; size > 0; size >>= 4)
        line[--at] = "0123456789abcdef"[size & 15];
    send_bytes(call, span_of(line + at, sizeof line - at));
    send_bytes(call, bytes);
    send_bytes(call, SPAN_LITERAL("\r\n"));
}

void http_call_write_end(struct http_call *call)
{
    if (call->request_ended)
        return;
    call->request_ended = true;
    if (call->chunked)
        send_bytes(call, SPAN_LITERAL("0\r\n\r\n"));
}

bool http_call_is_choked(const struct http_call *call)
{
    if (call->state == CALL_RUNNING)
        return client_link_is_choked(call->link);
    return buffer_size(&call->request) > HIGH_WATER;
}

void http_call_pause(struct http_call *call)
{
    call->paused = true;
    if (call->state == CALL_RUNNING)
        client_link_pause(call->link);
}

void http_call_resume(struct http_call *call)
{
    if (!call->paused)
        return;
    call->paused = false;
    if (call->state == CALL_RUNNING)
        client_link_resume(call->link);
}

bool http_call_was_sent(const struct http_call *call)
{
    return call->sent || (call->state == CALL_RUNNING && client_link_was_sent(call->link));
}

void http_call_cancel(struct http_call *call)
{
    if (call->state == CALL_OVER)
        return;
    leave_line(call);
    if (call->link != NULL)
        client_link_close(call->link);
    call->link = NULL;
    call->state = CALL_OVER;
    task_cancel(&call->ending);
    loop_bury(call->client->loop, call, call_free);
}
