// SPDX-License-Identifier: Apache-2.0
#include "workers/link/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/mcp/envelope.h"
#include "gateway/lib/mcp/sse.h"
#include "workers/link/handler.h"

enum { STREAM_ID_SIZE = 17, EVENT_ID_SIZE = 48, EVENT_EXTRA = 1024, ERROR_LIMIT = 4096 };

#define TOO_LARGE                                                                                  \
    "The call ran, but its result was too large to be kept for a stream that is resumed."

struct event {
    struct list in_session, in_all; // oldest first
    struct replay_stream *stream;
    uint64_t number;
    size_t size;
    char bytes[];
};

struct ring { // of one session
    struct replay *replay;
    char *session;       // owned
    struct list events;  // owned
    struct list streams; // oldest first
    size_t bytes, event_count, stream_count;
};

struct replay_stream {
    struct list node;      // of the ring
    struct ring *ring;     // NULL: nothing is kept (any more)
    struct loop *loop;     // borrowed
    bool is_written;       // by somebody, who will close it
    size_t kept;           // its events in the ring
    uint64_t next;         // number of the next event; 0 is the priming one
    struct handler reader; // its exchange is NULL while nobody reads
    struct timer comment;
    char id[STREAM_ID_SIZE];
};

struct replay {
    struct loop *loop;   // borrowed
    struct table *rings; // by session; owned
    struct list events;  // of all rings
    size_t bytes;
};

struct replay *replay_new(struct loop *loop)
{
    struct replay *r = memory_new(sizeof *r);
    r->loop = loop;
    r->rings = table_new();
    list_init(&r->events);
    return r;
}

size_t replay_bytes(const struct replay *r)
{
    return r->bytes;
}

// --- what is kept ---------------------------------------------------------------------------

static size_t event_cost(const struct event *e)
{
    return sizeof *e + e->size;
}

static void ring_free_if_empty(struct ring *ring)
{
    if (ring->stream_count > 0)
        return;
    table_remove(ring->replay->rings, span_from_string(ring->session));
    free(ring->session);
    free(ring);
}

static void stream_leave(struct replay_stream *s)
{
    list_remove(&s->node);
    s->ring->stream_count--;
    s->ring = NULL;
}

// A stream that nobody writes, reads or can read again.
static void stream_bury_if_over(struct replay_stream *s)
{
    if (s->is_written || s->reader.ex != NULL || (s->ring != NULL && s->kept > 0))
        return;
    if (s->ring != NULL) {
        struct ring *ring = s->ring;
        stream_leave(s);
        ring_free_if_empty(ring);
    }
    timer_cancel(&s->comment);
    loop_bury(s->loop, s, free);
}

static void event_drop(struct event *e)
{
    struct replay_stream *s = e->stream;
    struct ring *ring = s->ring;
    list_remove(&e->in_session);
    list_remove(&e->in_all);
    ring->bytes -= event_cost(e);
    ring->replay->bytes -= event_cost(e);
    ring->event_count--;
    s->kept--;
    free(e);
}

static void event_give_up(struct event *e)
{
    struct replay_stream *s = e->stream;
    event_drop(e);
    stream_bury_if_over(s);
}

static struct event *oldest(struct ring *ring)
{
    return LIST_ENTRY(ring->events.next, struct event, in_session);
}

// The writer's own ring stays, since its stream is written.
static void make_room(struct ring *ring, size_t cost)
{
    struct replay *r = ring->replay;
    while (!list_is_empty(&ring->events) && (ring->bytes + cost > REPLAY_SESSION_BYTES ||
                                             ring->event_count >= REPLAY_SESSION_EVENTS))
        event_give_up(oldest(ring));
    while (!list_is_empty(&r->events) && r->bytes + cost > REPLAY_BYTES)
        event_give_up(LIST_ENTRY(r->events.next, struct event, in_all));
}

static void keep(struct replay_stream *s, uint64_t number, struct span bytes)
{
    struct ring *ring = s->ring;
    struct event *e = memory_new(sizeof *e + bytes.size);
    e->stream = s;
    e->number = number;
    e->size = bytes.size;
    memcpy(e->bytes, bytes.data, bytes.size);
    make_room(ring, event_cost(e));
    list_append(&ring->events, &e->in_session);
    list_append(&ring->replay->events, &e->in_all);
    ring->bytes += event_cost(e);
    ring->replay->bytes += event_cost(e);
    ring->event_count++;
    s->kept++;
}

// --- who reads ------------------------------------------------------------------------------

static void reader_end(struct replay_stream *s)
{
    struct exchange *ex = s->reader.ex;
    timer_cancel(&s->comment);
    if (ex == NULL)
        return;
    s->reader.ex = NULL;
    exchange_set_user(ex, NULL);
    exchange_end(ex);
}

static void on_reader_closed(struct handler *h)
{
    struct replay_stream *s = CONTAINER_OF(h, struct replay_stream, reader);
    h->ex = NULL;
    timer_cancel(&s->comment);
    stream_bury_if_over(s);
}

static const struct handler_ops reader_ops = {.closed = on_reader_closed};

static void on_comment(struct timer *timer)
{
    struct replay_stream *s = CONTAINER_OF(timer, struct replay_stream, comment);
    if (!exchange_is_choked(s->reader.ex))
        exchange_write(s->reader.ex, SPAN_LITERAL(": working\n\n"));
    timer_start(timer, REPLAY_COMMENT_MS);
}

// Who comes again is the one that is alive: what the one before has not read is not waited for.
static void reader_take(struct replay_stream *s, struct exchange *ex)
{
    struct failure why;
    struct exchange *before = s->reader.ex;
    if (before != NULL && exchange_is_choked(before)) {
        failure_set(&why, FAULT_CANCELLED, "its stream is read by another");
        s->reader.ex = NULL;
        exchange_set_user(before, NULL);
        exchange_abort(before, &why);
    }
    reader_end(s);
    handler_take(&s->reader, &reader_ops, ex);
    timer_start(&s->comment, REPLAY_COMMENT_MS);
}

void replay_read(struct replay_stream *s, struct exchange *ex, bool primes)
{
    char text[128];
    reader_take(s, ex);
    if (!primes)
        return;
    int size =
        snprintf(text, sizeof text, "id: %s-0\nretry: %d\ndata: \n\n", s->id, REPLAY_RETRY_MS);
    exchange_write(ex, span_of(text, (size_t)size));
}

// --- the writer -----------------------------------------------------------------------------

static struct ring *ring_of(struct replay *r, struct span session)
{
    struct ring *ring = table_get(r->rings, session);
    if (ring != NULL)
        return ring;
    ring = memory_new(sizeof *ring);
    ring->replay = r;
    ring->session = memory_copy_span(session);
    list_init(&ring->events);
    list_init(&ring->streams);
    table_put(r->rings, session, ring);
    return ring;
}

static void drop_events(struct replay_stream *s)
{
    LIST_EACH(node, &s->ring->events)
    {
        struct event *e = LIST_ENTRY(node, struct event, in_session);
        if (e->stream == s)
            event_drop(e);
    }
}

// Calls are bounded, so the streams that are written are too; the rest give way.
static void limit_streams(struct ring *ring)
{
    LIST_EACH(node, &ring->streams)
    {
        struct replay_stream *s = LIST_ENTRY(node, struct replay_stream, node);
        if (ring->stream_count < REPLAY_SESSION_STREAMS)
            return;
        if (s->is_written)
            continue;
        drop_events(s);
        reader_end(s);
        stream_leave(s);
        stream_bury_if_over(s);
    }
}

struct replay_stream *replay_open(struct replay *r, struct span session)
{
    char id[ID_SIZE];
    struct replay_stream *s = memory_new(sizeof *s);
    *s = (struct replay_stream){.loop = r->loop, .is_written = true, .next = 1};
    id_new(id);
    (void)span_copy_string(span_of(id, STREAM_ID_SIZE - 1), s->id, sizeof s->id);
    timer_init(&s->comment, r->loop, on_comment);
    s->ring = ring_of(r, session);
    limit_streams(s->ring);
    list_append(&s->ring->streams, &s->node);
    s->ring->stream_count++;
    return s;
}

static int write_event(struct replay_stream *s, uint64_t number, struct span message,
                       struct buffer *out)
{
    char id[EVENT_ID_SIZE];
    int size = snprintf(id, sizeof id, "%s-%" PRIu64, s->id, number);
    buffer_init(out, message.size + (message.size / 2) + EVENT_EXTRA);
    return sse_write_event(out, s->ring != NULL ? span_of(id, (size_t)size) : SPAN_NONE, message);
}

static void keep_error(struct replay_stream *s, uint64_t number, struct span answers)
{
    struct buffer error, event;
    buffer_init(&error, ERROR_LIMIT);
    if (mcp_write_error(&error, answers, MCP_ERROR_INTERNAL, SPAN_LITERAL(TOO_LARGE), SPAN_NONE) ==
        0) {
        if (write_event(s, number, buffer_span(&error), &event) == 0)
            keep(s, number, buffer_span(&event));
        buffer_fini(&event);
    }
    buffer_fini(&error);
}

void replay_say(struct replay_stream *s, struct span message, struct span answers)
{
    struct buffer event;
    uint64_t number = s->next++;
    if (write_event(s, number, message, &event) == 0 && s->reader.ex != NULL) {
        exchange_write(s->reader.ex, buffer_span(&event));
        timer_start(&s->comment, REPLAY_COMMENT_MS);
    }
    bool fits = sizeof(struct event) + buffer_size(&event) <= REPLAY_SESSION_BYTES;
    if (s->ring != NULL && fits)
        keep(s, number, buffer_span(&event));
    else if (s->ring != NULL && !span_is_absent(answers))
        keep_error(s, number, answers);
    buffer_fini(&event);
}

void replay_close(struct replay_stream *s)
{
    s->is_written = false;
    reader_end(s);
    stream_bury_if_over(s);
}

// --- coming back ----------------------------------------------------------------------------

static bool event_id_read(struct span text, struct span *stream, uint64_t *number)
{
    *stream = span_split(&text, '-');
    return stream->size == STREAM_ID_SIZE - 1 && !span_is_absent(text) && span_to_u64(text, number);
}

static bool has_later(const struct replay_stream *s, uint64_t number)
{
    LIST_EACH(node, &s->ring->events)
    {
        const struct event *e = LIST_ENTRY(node, struct event, in_session);
        if (e->stream == s && e->number > number)
            return true;
    }
    return false;
}

struct replay_stream *replay_find(struct replay *r, struct span session, struct span last_event)
{
    struct span id;
    uint64_t number;
    struct ring *ring = table_get(r->rings, session);
    if (ring == NULL || !event_id_read(last_event, &id, &number))
        return NULL;
    LIST_EACH(node, &ring->streams)
    {
        struct replay_stream *s = LIST_ENTRY(node, struct replay_stream, node);
        if (span_is(id, s->id))
            return number < s->next && (s->is_written || has_later(s, number)) ? s : NULL;
    }
    return NULL;
}

void replay_resume(struct replay_stream *s, struct span last_event, struct exchange *ex)
{
    struct span id;
    uint64_t number = 0;
    (void)event_id_read(last_event, &id, &number);
    reader_take(s, ex);
    LIST_EACH(node, &s->ring->events)
    {
        const struct event *e = LIST_ENTRY(node, struct event, in_session);
        if (e->stream == s && e->number > number)
            exchange_write(ex, span_of(e->bytes, e->size));
    }
    if (!s->is_written)
        reader_end(s);
}

// --- the end --------------------------------------------------------------------------------

static void ring_end(struct ring *ring)
{
    while (!list_is_empty(&ring->events))
        event_drop(oldest(ring));
    while (!list_is_empty(&ring->streams)) {
        struct replay_stream *s = LIST_ENTRY(ring->streams.next, struct replay_stream, node);
        reader_end(s);
        stream_leave(s);
        stream_bury_if_over(s);
    }
    ring_free_if_empty(ring);
}

void replay_forget(struct replay *r, struct span session)
{
    struct ring *ring = table_get(r->rings, session);
    if (ring != NULL)
        ring_end(ring);
}

void replay_free(struct replay *r)
{
    struct span session;
    void *ring;
    if (r == NULL)
        return;
    for (size_t at = 0; table_next(r->rings, &at, &session, &ring);)
        ring_end(ring);
    table_free(r->rings);
    free(r);
}
