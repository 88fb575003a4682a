// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/reply.h"

#include <stdio.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/mcp/sse.h"
#include "gateway/proxy/inside.h"

enum { WHOLE_EVENT_BYTES = 64 * 1024 };
#define EVENT_BEGIN "event: message\ndata: "
#define EVENT_END   "\n\n"
#define COMMENT     ": wait\n\n"

static void write_bytes(struct reply *r, struct span bytes)
{
    if (r->v->ex != NULL)
        exchange_write(r->v->ex, bytes);
}

void reply_start_stream(struct visit *v, struct span session)
{
    struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("text/event-stream")},
        {SPAN_LITERAL("cache-control"), SPAN_LITERAL("no-cache, no-transform")},
        {SPAN_LITERAL("x-accel-buffering"), SPAN_LITERAL("no")},
        {SPAN_LITERAL("mcp-session-id"), session},
    };
    visit_start(v, 200, headers, span_is_absent(session) ? 3 : 4, -1);
    if (v->ex != NULL)
        exchange_write(v->ex, SPAN_LITERAL(COMMENT));
}

static void commit_to_events(struct reply *r)
{
    r->form = REPLY_EVENTS;
    r->line_ends = 2;
    timer_cancel(&r->commit);
    timer_start(&r->keepalive, r->v->config->keepalive_ms);
    reply_start_stream(r->v, r->session);
    meters_stream(r->v->proxy->meters, 1);
}

static void on_commit(struct timer *t)
{
    struct reply *r = CONTAINER_OF(t, struct reply, commit);
    if (r->form == REPLY_OPEN && r->v->ex != NULL)
        commit_to_events(r);
}

static void on_keepalive(struct timer *t)
{
    struct reply *r = CONTAINER_OF(t, struct reply, keepalive);
    if (r->form != REPLY_EVENTS || r->v->ex == NULL)
        return;
    if (reply_is_between_messages(r) && !exchange_is_choked(r->v->ex))
        write_bytes(r, SPAN_LITERAL(COMMENT));
    timer_start(&r->keepalive, r->v->config->keepalive_ms);
}

void reply_init(struct reply *r, struct visit *v, struct accept accept, bool is_batch)
{
    *r = (struct reply){.v = v, .accept = accept, .is_batch = is_batch, .is_first = true};
    timer_init(&r->commit, v->proxy->loop, on_commit);
    timer_init(&r->keepalive, v->proxy->loop, on_keepalive);
}

static void set_ended(struct reply *r)
{
    if (r->form == REPLY_EVENTS)
        meters_stream(r->v->proxy->meters, -1);
    r->form = REPLY_ENDED;
    timer_cancel(&r->commit);
    timer_cancel(&r->keepalive);
}

void reply_fini(struct reply *r)
{
    set_ended(r);
}

void reply_set_retry(struct reply *r, int64_t ms)
{
    int64_t seconds = ms > 0 ? (ms + 999) / 1000 : 1;
    snprintf(r->retry_after, sizeof r->retry_after, "%lld", (long long)seconds);
}

void reply_commit_later(struct reply *r)
{
    if (r->form == REPLY_OPEN && r->accept.events && !timer_is_pending(&r->commit))
        timer_start(&r->commit, r->v->config->commit_ms);
}

bool reply_is_between_messages(const struct reply *r)
{
    return !r->in_message && (r->form != REPLY_EVENTS || r->line_ends >= 2);
}

static size_t json_headers(const struct reply *r, struct http_header out[3])
{
    out[0] = (struct http_header){SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")};
    size_t count = 1;
    if (!span_is_absent(r->session))
        out[count++] = (struct http_header){SPAN_LITERAL("mcp-session-id"), r->session};
    if (r->retry_after[0] != '\0')
        out[count++] =
            (struct http_header){SPAN_LITERAL("retry-after"), span_from_string(r->retry_after)};
    return count;
}

// Decides the form when the first message is there. A batch prefers the stream, since its later
// answers may take long; a single answer that came in time is plain JSON.
static void decide(struct reply *r, int status, int64_t length)
{
    struct http_header headers[3];
    if (r->form != REPLY_OPEN)
        return;
    if (r->accept.events && (r->is_batch || !r->accept.json)) {
        commit_to_events(r);
        return;
    }
    timer_cancel(&r->commit);
    r->form = r->is_batch ? REPLY_ARRAY : REPLY_JSON;
    visit_start(r->v, status, headers, json_headers(r, headers), r->is_batch ? -1 : length);
}

// One write, so that it is one frame and one read at the other end.
static void write_whole_event(struct reply *r, struct span json)
{
    struct buffer event;
    buffer_init(&event, 2 * json.size + 64);
    if (sse_write_event(&event, SPAN_NONE, json) == 0)
        write_bytes(r, buffer_span(&event));
    buffer_fini(&event);
    timer_start(&r->keepalive, r->v->config->keepalive_ms);
}

void reply_message(struct reply *r, int status, struct span json)
{
    struct http_header headers[3];
    // Statuses drive clients: a refusal is never dressed up as a stream.
    if (r->form == REPLY_OPEN && !r->is_batch && (r->accept.json || status != 200)) {
        visit_respond(r->v, status, headers, json_headers(r, headers), json);
        set_ended(r);
        return;
    }
    decide(r, status, (int64_t)json.size);
    if (r->form == REPLY_EVENTS && json.size <= WHOLE_EVENT_BYTES) {
        write_whole_event(r, json);
        return;
    }
    reply_begin(r, (int64_t)json.size);
    reply_piece(r, json);
    reply_complete(r);
}

void reply_begin(struct reply *r, int64_t length)
{
    decide(r, 200, length);
    r->in_message = true;
    if (r->form == REPLY_EVENTS)
        write_bytes(r, SPAN_LITERAL(EVENT_BEGIN));
    else if (r->form == REPLY_ARRAY)
        write_bytes(r, r->is_first ? SPAN_LITERAL("[") : SPAN_LITERAL(","));
    r->is_first = false;
}

// Line ends in JSON are white space between tokens; in an event they would end the line.
void reply_piece(struct reply *r, struct span bytes)
{
    while (r->form == REPLY_EVENTS && bytes.size > 0) {
        size_t run = 0;
        while (run < bytes.size && bytes.data[run] != '\n' && bytes.data[run] != '\r')
            run++;
        if (run > 0)
            write_bytes(r, span_slice(bytes, 0, run));
        bytes = span_slice(bytes, run + 1, bytes.size);
    }
    if (r->form != REPLY_EVENTS && r->form != REPLY_ENDED && bytes.size > 0)
        write_bytes(r, bytes);
}

void reply_complete(struct reply *r)
{
    r->in_message = false;
    if (r->form == REPLY_EVENTS)
        write_bytes(r, SPAN_LITERAL(EVENT_END));
    if (r->form == REPLY_EVENTS)
        timer_start(&r->keepalive, r->v->config->keepalive_ms);
}

void reply_events(struct reply *r, struct span bytes)
{
    if (r->form == REPLY_OPEN)
        commit_to_events(r);
    if (r->form != REPLY_EVENTS)
        return;
    if (bytes.size > 4)
        r->line_ends = 0;
    for (size_t i = bytes.size > 4 ? bytes.size - 4 : 0; i < bytes.size; i++) {
        if (bytes.data[i] == '\n')
            r->line_ends++;
        else if (bytes.data[i] != '\r')
            r->line_ends = 0;
    }
    write_bytes(r, bytes);
    timer_start(&r->keepalive, r->v->config->keepalive_ms);
}

void reply_status(struct reply *r, int status)
{
    if (r->form != REPLY_OPEN)
        return;
    visit_respond(r->v, status, NULL, 0, SPAN_LITERAL(""));
    set_ended(r);
}

void reply_end(struct reply *r)
{
    if (r->form == REPLY_ENDED)
        return;
    // Where the only call was cancelled nothing was said, and that is the answer.
    if (r->form == REPLY_OPEN && r->accept.events)
        commit_to_events(r);
    else if (r->form == REPLY_OPEN)
        reply_status(r, 202);
    if (r->form == REPLY_ARRAY)
        write_bytes(r, r->is_first ? SPAN_LITERAL("[]") : SPAN_LITERAL("]"));
    if (r->form == REPLY_ENDED)
        return;
    if (r->v->ex != NULL)
        exchange_end(r->v->ex);
    set_ended(r);
}

void reply_abort(struct reply *r, const struct failure *why)
{
    set_ended(r);
    if (r->v->ex != NULL)
        exchange_abort(r->v->ex, why);
}

bool reply_is_choked(const struct reply *r)
{
    return r->v->ex != NULL && exchange_is_choked(r->v->ex);
}
