// SPDX-License-Identifier: Apache-2.0
#include "workers/link/answer.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/mcp/sse.h"
#include "workers/link/handler.h"
#include "workers/link/replay.h"

enum { ANSWER_LIMIT = 64 << 20, SESSION_SIZE = 64 };

enum answer_state {
    ANSWER_WAITING,   // nothing was sent; responses are collected
    ANSWER_STREAMING, // the head of an event stream was sent
    ANSWER_KEPT,      // the same, and the exchange is the kept stream's
    ANSWER_ENDED,     // all was sent; waits for the exchange to close
};

struct answer {
    struct handler handler;       // its exchange is NULL once the client is gone
    struct loop *loop;            // borrowed
    struct list waits;            // of answer_wait
    struct replay *replay;        // borrowed; NULL: the stream is not kept
    struct replay_stream *stream; // in ANSWER_KEPT
    char *ring;                   // owned; the session it is kept for
    bool primes;
    enum answer_state state;
    size_t left; // responses still to come
    bool is_batch, accepts_json, accepts_events;
    char session[SESSION_SIZE]; // "" for none
    struct timer timer;         // to commit, then to comment
    struct buffer collected;    // responses, with commas
};

static void answer_free(void *object)
{
    struct answer *a = object;
    buffer_fini(&a->collected);
    free(a->ring);
    free(a);
}

static void bury_if_done(struct answer *a)
{
    if (a->handler.ex != NULL || a->stream != NULL || a->left > 0)
        return;
    timer_cancel(&a->timer);
    loop_bury(a->loop, a, answer_free);
}

static void on_closed(struct handler *h)
{
    struct answer *a = CONTAINER_OF(h, struct answer, handler);
    bool nothing_left = a->left == 0; // else the last response buries it
    struct list *node;
    h->ex = NULL;
    timer_cancel(&a->timer);
    buffer_release(&a->collected);
    while ((node = list_pop(&a->waits)) != NULL) {
        struct answer_wait *w = LIST_ENTRY(node, struct answer_wait, node);
        w->gone(w);
    }
    if (nothing_left)
        bury_if_done(a);
}

static const struct handler_ops answer_ops = {.closed = on_closed};

static void start_stream(struct answer *a)
{
    struct exchange *ex = a->handler.ex;
    respond_events(ex, a->session);
    if (a->replay == NULL) {
        a->state = ANSWER_STREAMING;
        timer_start(&a->timer, ANSWER_COMMENT_MS);
        return;
    }
    timer_cancel(&a->timer);
    a->state = ANSWER_KEPT;
    a->handler.ex = NULL;
    a->stream = replay_open(a->replay, span_from_string(a->ring));
    replay_read(a->stream, ex, a->primes);
}

// `answers`: the request's id, absent for what is no answer, or several.
static void write_event(struct answer *a, struct span answers, struct span message)
{
    struct buffer event;
    if (a->state == ANSWER_KEPT) {
        replay_say(a->stream, message, answers);
        return;
    }
    buffer_init(&event, message.size + (message.size / 2) + 1024);
    if (sse_write_event(&event, SPAN_NONE, message) == 0)
        exchange_write(a->handler.ex, buffer_span(&event));
    buffer_fini(&event);
}

// What was collected before it became a stream goes out first; in a batch as one array.
static void flush_collected(struct answer *a)
{
    if (buffer_size(&a->collected) == 0)
        return;
    if (a->is_batch) {
        struct buffer whole;
        buffer_init(&whole, buffer_size(&a->collected) + 2);
        buffer_append_char(&whole, '[');
        buffer_append(&whole, buffer_span(&a->collected));
        buffer_append_char(&whole, ']');
        write_event(a, SPAN_NONE, buffer_span(&whole));
        buffer_fini(&whole);
    } else {
        write_event(a, SPAN_NONE, buffer_span(&a->collected));
    }
    buffer_release(&a->collected);
}

static void commit(struct answer *a)
{
    start_stream(a);
    flush_collected(a);
}

static void on_timer(struct timer *timer)
{
    struct answer *a = CONTAINER_OF(timer, struct answer, timer);
    if (a->state == ANSWER_WAITING)
        commit(a);
    if (a->state != ANSWER_STREAMING)
        return;
    exchange_write(a->handler.ex, SPAN_LITERAL(": working\n\n"));
    timer_start(&a->timer, ANSWER_COMMENT_MS);
}

struct answer *answer_new(struct loop *loop, struct exchange *ex,
                          const struct answer_options *options)
{
    struct answer *a = memory_new(sizeof *a);
    *a = (struct answer){
        .loop = loop,
        .left = options->expected,
        .is_batch = options->is_batch,
        .accepts_json = options->accepts_json,
        .accepts_events = options->accepts_events,
        .replay = options->replay,
        .ring = memory_copy_span(options->ring),
        .primes = options->primes,
    };
    list_init(&a->waits);
    if (!span_is_absent(options->session))
        (void)span_copy_string(options->session, a->session, sizeof a->session);
    buffer_init(&a->collected, ANSWER_LIMIT);
    timer_init(&a->timer, loop, on_timer);
    handler_take(&a->handler, &answer_ops, ex);
    if (!options->accepts_json)
        commit(a);
    else if (options->accepts_events)
        timer_start(&a->timer, ANSWER_COMMIT_MS);
    return a;
}

void answer_watch(struct answer *a, struct answer_wait *w)
{
    list_append(&a->waits, &w->node);
}

void answer_unwatch(struct answer_wait *w)
{
    list_remove(&w->node);
}

static void respond_whole(struct answer *a)
{
    const struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")},
        {SPAN_LITERAL("cache-control"), SPAN_LITERAL("no-store")},
        {SPAN_LITERAL("mcp-session-id"), span_from_string(a->session)},
    };
    struct buffer whole;
    buffer_init(&whole, ANSWER_LIMIT + 2);
    if (a->is_batch)
        buffer_append_char(&whole, '[');
    buffer_append(&whole, buffer_span(&a->collected));
    if (a->is_batch)
        buffer_append_char(&whole, ']');
    const struct http_response head = {
        .status = 200,
        .headers = headers,
        .header_count = ARRAY_COUNT(headers) - (a->session[0] == '\0'),
        .content_length = (int64_t)buffer_size(&whole),
    };
    exchange_respond(a->handler.ex, &head, buffer_span(&whole));
    buffer_fini(&whole);
}

static void end(struct answer *a)
{
    bool anything = buffer_size(&a->collected) > 0;
    timer_cancel(&a->timer);
    if (a->state == ANSWER_WAITING && anything) {
        respond_whole(a);
    } else {
        // Also where every response was cancelled: a stream may end without one.
        if (a->state == ANSWER_WAITING)
            respond_events(a->handler.ex, a->session);
        exchange_end(a->handler.ex);
    }
    a->state = ANSWER_ENDED;
    buffer_release(&a->collected);
}

static void one_less(struct answer *a)
{
    if (--a->left > 0)
        return;
    if (a->state == ANSWER_KEPT) {
        replay_close(a->stream);
        a->stream = NULL;
    } else if (a->handler.ex != NULL) {
        end(a);
    }
    bury_if_done(a);
}

void answer_add(struct answer *a, struct span id, struct span response)
{
    if (a->state == ANSWER_KEPT || (a->handler.ex != NULL && a->state == ANSWER_STREAMING)) {
        write_event(a, id, response);
    } else if (a->handler.ex != NULL) {
        if (buffer_size(&a->collected) > 0)
            buffer_append_char(&a->collected, ',');
        buffer_append(&a->collected, response);
    }
    one_less(a);
}

void answer_skip(struct answer *a)
{
    one_less(a);
}

void answer_notify(struct answer *a, struct span message)
{
    bool is_there = a->handler.ex != NULL || a->state == ANSWER_KEPT;
    if (!is_there || !a->accepts_events)
        return;
    if (a->state == ANSWER_WAITING)
        commit(a);
    write_event(a, SPAN_NONE, message);
}
