// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/http/exchange.h"

#include <string.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/exchange_core.h"
#include "gateway/lib/http/response.h"

// ---- life

static void on_abort(struct task *task)
{
    struct exchange *ex = CONTAINER_OF(task, struct exchange, abort);
    if (ex->finished)
        return;
    if (ex->abort_why->fault == FAULT_TOO_LARGE && !ex->started) {
        connection_is_hostile(ex->connection, HOSTILITY_BODY_TOO_LARGE);
        exchange_refuse(ex, 413, ex->abort_why);
        return;
    }
    ex->carrier->abort(ex, ex->abort_why);
}

static void abort_later(struct exchange *ex, const struct failure *why)
{
    if (ex->abort_why != NULL || ex->finished)
        return;
    ex->abort_why = arena_alloc(ex->arena, sizeof *why);
    *ex->abort_why = *why;
    loop_defer(ex->server->loop, &ex->abort);
}

static void on_deadline(struct timer *timer)
{
    struct exchange *ex = CONTAINER_OF(timer, struct exchange, deadline);
    struct failure why;
    bool client_is_slow = ex->body != BODY_OVER;
    failure_set(&why, client_is_slow ? FAULT_SLOW : FAULT_TIMEOUT, "the exchange took too long");
    if (!ex->started && !ex->detached)
        exchange_refuse(ex, client_is_slow ? 408 : 504, &why);
    else
        ex->carrier->abort(ex, &why);
}

static void on_body_timer(struct timer *timer)
{
    struct exchange *ex = CONTAINER_OF(timer, struct exchange, body_timer);
    struct failure why;
    if (ex->body != BODY_WANTED)
        return;
    connection_is_hostile(ex->connection, HOSTILITY_SLOW_BODY);
    failure_set(&why, FAULT_SLOW, "the request body stopped coming");
    if (!ex->started && !ex->detached)
        exchange_refuse(ex, 408, &why);
    else
        ex->carrier->abort(ex, &why);
}

struct exchange *exchange_new(struct connection *c, const struct carrier_ops *carrier,
                              void *carrier_state)
{
    struct http_server *s = c->server;
    struct arena *arena = server_take_arena(s);
    struct exchange *ex = arena_alloc(arena, sizeof *ex);
    ex->arena = arena;
    ex->server = s;
    ex->carrier = carrier;
    ex->carrier_state = carrier_state;
    ex->connection = c;
    ex->stream = c->stream;
    ex->started_us = loop_now_us(s->loop);
    ex->content_length = -1;
    task_init(&ex->abort, on_abort);
    timer_init(&ex->deadline, s->loop, on_deadline);
    timer_init(&ex->body_timer, s->loop, on_body_timer);
    s->counters.exchanges_open++;
    return ex;
}

void exchange_dispatch(struct exchange *ex)
{
    ex->is_head = span_is(ex->method, "HEAD");
    if (!ex->has_body)
        ex->body = BODY_OVER;
    ex->server->ops->request(ex->server->service, ex);
}

static void detach(struct exchange *ex, const struct failure *why)
{
    if (ex->detached)
        return;
    ex->detached = true;
    if (ex->server->ops->closed != NULL)
        ex->server->ops->closed(ex, why);
}

static void release(void *object)
{
    struct exchange *ex = object;
    server_give_arena(ex->server, ex->arena);
}

void exchange_finish(struct exchange *ex, const struct failure *why)
{
    if (ex->finished)
        return;
    ex->finished = true;
    timer_cancel(&ex->deadline);
    timer_cancel(&ex->body_timer);
    task_cancel(&ex->abort);
    detach(ex, why);
    ex->server->counters.exchanges_open--;
    server_exchange_gone(ex->server);
    loop_bury(ex->server->loop, ex, release);
}

void exchange_refuse(struct exchange *ex, int status, const struct failure *why)
{
    timer_cancel(&ex->body_timer);
    if (ex->started) {
        ex->carrier->abort(ex, why);
        return;
    }
    detach(ex, why);
    if (ex->finished)
        return;
    struct span text = response_reason(status);
    const struct http_header type = {SPAN_LITERAL("content-type"), SPAN_LITERAL("text/plain")};
    struct http_response head = {
        .status = status, .headers = &type, .header_count = 1, .content_length = text.size};
    ex->started = ex->ended = true;
    ex->status = status;
    ex->carrier->start(ex, &head, text, true);
}

// ---- the request

bool exchange_authority_is_valid(struct span authority)
{
    if (authority.size == 0 || authority.size > 300)
        return false;
    for (size_t i = 0; i < authority.size; i++) {
        unsigned char c = (unsigned char)authority.data[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && (c == 0 || strchr("-._~:[]%", c) == NULL))
            return false;
    }
    return true;
}

// absolute-form: what stands in the target counts, not the Host header (RFC 9112 §3.2.2).
static bool take_absolute(struct exchange *ex, struct span *target, size_t scheme_size)
{
    struct span rest = span_slice(*target, scheme_size, target->size);
    size_t at = 0;
    while (at < rest.size && rest.data[at] != '/' && rest.data[at] != '?')
        at++;
    ex->authority = span_slice(rest, 0, at);
    *target = span_slice(rest, at, rest.size);
    if (target->size == 0)
        *target = SPAN_LITERAL("/");
    return exchange_authority_is_valid(ex->authority) && target->data[0] == '/';
}

bool exchange_set_target(struct exchange *ex, struct span target)
{
    if (span_equals_nocase(span_slice(target, 0, 7), SPAN_LITERAL("http://"))) {
        if (!take_absolute(ex, &target, 7))
            return false;
    } else if (span_equals_nocase(span_slice(target, 0, 8), SPAN_LITERAL("https://"))) {
        if (!take_absolute(ex, &target, 8))
            return false;
    }
    bool asterisk = span_is(target, "*") && span_is(ex->method, "OPTIONS");
    if (target.size == 0 || (target.data[0] != '/' && !asterisk) ||
        memchr(target.data, '#', target.size) != NULL)
        return false;
    ex->query = target;
    ex->path = span_split(&ex->query, '?');
    return true;
}

// From here on the time runs in which enough of the body must come.
static void await_body(struct exchange *ex)
{
    ex->body_mark = ex->body_seen;
    timer_start(&ex->body_timer, ex->server->limits.body_timeout_ms);
}

void exchange_deliver_body(struct exchange *ex, struct span bytes)
{
    const struct http_server_limits *limits = &ex->server->limits;
    struct failure why;
    ex->body_seen += bytes.size;
    if (ex->detached)
        return;
    if (ex->body_seen > ex->body_limit) {
        connection_is_hostile(ex->connection, HOSTILITY_BODY_TOO_LARGE);
        failure_set(&why, FAULT_TOO_LARGE, "the request body exceeds %zu bytes", ex->body_limit);
        exchange_refuse(ex, 413, &why);
        return;
    }
    if (ex->body_seen - ex->body_mark >= least_bytes(limits, limits->body_timeout_ms))
        await_body(ex);
    if (ex->server->ops->body != NULL)
        ex->server->ops->body(ex, bytes);
}

void exchange_deliver_end(struct exchange *ex)
{
    if (ex->body == BODY_OVER)
        return;
    bool told = ex->body != BODY_UNASKED;
    ex->body = BODY_OVER;
    timer_cancel(&ex->body_timer);
    if (told && !ex->detached && ex->server->ops->body_ended != NULL)
        ex->server->ops->body_ended(ex);
}

struct span exchange_method(const struct exchange *ex)
{
    return ex->method;
}

struct span exchange_path(const struct exchange *ex)
{
    return ex->path;
}

struct span exchange_query(const struct exchange *ex)
{
    return ex->query;
}

struct span exchange_authority(const struct exchange *ex)
{
    return ex->authority;
}

bool exchange_is_encrypted(const struct exchange *ex)
{
    return stream_is_encrypted(ex->stream);
}

size_t exchange_header_count(const struct exchange *ex)
{
    return ex->header_count;
}

const struct http_header *exchange_header_at(const struct exchange *ex, size_t index)
{
    return index < ex->header_count ? &ex->headers[index] : NULL;
}

struct span exchange_header(const struct exchange *ex, const char *name)
{
    struct span wanted = span_from_string(name);
    for (size_t i = 0; i < ex->header_count; i++)
        if (span_equals(ex->headers[i].name, wanted))
            return ex->headers[i].value;
    return SPAN_NONE;
}

size_t exchange_header_repeats(const struct exchange *ex, const char *name)
{
    struct span wanted = span_from_string(name);
    size_t count = 0;
    for (size_t i = 0; i < ex->header_count; i++)
        count += span_equals(ex->headers[i].name, wanted);
    return count;
}

bool exchange_has_body(const struct exchange *ex)
{
    return ex->has_body;
}

struct arena *exchange_arena(struct exchange *ex)
{
    return ex->arena;
}

int64_t exchange_started_us(const struct exchange *ex)
{
    return ex->started_us;
}

void exchange_set_user(struct exchange *ex, void *user)
{
    ex->user = user;
}

void *exchange_user(const struct exchange *ex)
{
    return ex->user;
}

void exchange_read_body(struct exchange *ex, size_t limit_bytes)
{
    struct failure why;
    if (ex->detached || ex->body != BODY_UNASKED)
        return;
    ex->body_limit = limit_bytes;
    if (ex->content_length >= 0 && (uint64_t)ex->content_length > limit_bytes) {
        failure_set(&why, FAULT_TOO_LARGE, "the request body exceeds %zu bytes", limit_bytes);
        abort_later(ex, &why);
        return;
    }
    ex->body = BODY_WANTED;
    await_body(ex);
    ex->carrier->body_wanted(ex);
}

void exchange_pause_body(struct exchange *ex)
{
    if (ex->body != BODY_WANTED)
        return;
    ex->body = BODY_PAUSED;
    timer_cancel(&ex->body_timer);
}

void exchange_resume_body(struct exchange *ex)
{
    if (ex->detached || ex->body != BODY_PAUSED)
        return;
    ex->body = BODY_WANTED;
    await_body(ex);
    ex->carrier->body_wanted(ex);
}

// ---- the response

static bool may_send(const struct exchange *ex)
{
    return !ex->detached && !ex->finished && !ex->ended && ex->abort_why == NULL;
}

void exchange_respond(struct exchange *ex, const struct http_response *head, struct span body)
{
    if (!may_send(ex) || ex->started)
        return;
    struct http_response whole = *head;
    if (!ex->is_head || body.size > 0)
        whole.content_length = (int64_t)body.size;
    ex->started = ex->ended = true;
    ex->status = head->status;
    ex->carrier->start(ex, &whole, body, true);
}

void exchange_start(struct exchange *ex, const struct http_response *head)
{
    if (!may_send(ex) || ex->started)
        return;
    ex->started = true;
    ex->status = head->status;
    ex->carrier->start(ex, head, SPAN_NONE, false);
}

void exchange_write(struct exchange *ex, struct span bytes)
{
    struct failure why;
    if (!may_send(ex) || !ex->started || bytes.size == 0 || ex->is_head ||
        !response_may_have_body(ex->status))
        return;
    if (ex->carrier->write(ex, bytes) == 0)
        return;
    failure_set(&why, FAULT_SLOW, "the client does not read its answer");
    abort_later(ex, &why);
}

void exchange_end(struct exchange *ex)
{
    if (!may_send(ex) || !ex->started)
        return;
    ex->ended = true;
    ex->carrier->end(ex);
}

bool exchange_is_choked(const struct exchange *ex)
{
    return !ex->finished && ex->carrier->is_choked(ex);
}

void exchange_drained(struct exchange *ex)
{
    if (may_send(ex) && ex->started && ex->server->ops->drained != NULL)
        ex->server->ops->drained(ex);
}

size_t exchange_unsent(const struct exchange *ex)
{
    return ex->finished ? 0 : ex->carrier->unsent(ex);
}

void exchange_abort(struct exchange *ex, const struct failure *why)
{
    if (!ex->detached)
        abort_later(ex, why);
}

void exchange_set_deadline(struct exchange *ex, int64_t ms)
{
    if (ex->finished)
        return;
    if (ms > 0)
        timer_start(&ex->deadline, ms);
    else
        timer_cancel(&ex->deadline);
}
