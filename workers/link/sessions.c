// SPDX-License-Identifier: Apache-2.0
#include "workers/link/sessions.h"

#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "workers/link/handler.h"

enum { STREAM_COMMENT_MS = 10000 };

struct session {
    struct list node; // the one used last stands first
    char id[ID_SIZE];
    enum mcp_revision revision;
    struct sessions *sessions;
    struct handler stream; // its exchange is NULL while there is none
    struct timer timer;
};

struct sessions {
    struct loop *loop; // borrowed
    struct table *by_id;
    struct list recent;
};

struct sessions *sessions_new(struct loop *loop)
{
    struct sessions *s = memory_new(sizeof *s);
    s->loop = loop;
    s->by_id = table_new();
    list_init(&s->recent);
    return s;
}

static void stream_close_of(struct session *session)
{
    struct exchange *ex = session->stream.ex;
    if (ex == NULL)
        return;
    session->stream.ex = NULL;
    timer_cancel(&session->timer);
    exchange_set_user(ex, NULL);
    exchange_end(ex);
}

static void session_drop(struct session *session)
{
    struct sessions *s = session->sessions;
    stream_close_of(session);
    table_remove(s->by_id, span_from_string(session->id));
    list_remove(&session->node);
    loop_bury(s->loop, session, free);
}

void sessions_free(struct sessions *s)
{
    if (s == NULL)
        return;
    LIST_EACH(node, &s->recent)
    session_drop(LIST_ENTRY(node, struct session, node));
    table_free(s->by_id);
    free(s);
}

static void on_timer(struct timer *timer)
{
    struct session *session = CONTAINER_OF(timer, struct session, timer);
    exchange_write(session->stream.ex, SPAN_LITERAL(": here\n\n"));
    timer_start(timer, STREAM_COMMENT_MS);
}

void sessions_open(struct sessions *s, enum mcp_revision revision, char id[ID_SIZE],
                   char evicted[ID_SIZE])
{
    evicted[0] = '\0';
    if (table_count(s->by_id) >= SESSIONS_MAX) {
        struct session *oldest = LIST_ENTRY(s->recent.prev, struct session, node);
        memcpy(evicted, oldest->id, ID_SIZE);
        session_drop(oldest);
    }
    struct session *session = memory_new(sizeof *session);
    *session = (struct session){.revision = revision, .sessions = s};
    timer_init(&session->timer, s->loop, on_timer);
    id_new(session->id);
    memcpy(id, session->id, ID_SIZE);
    table_put(s->by_id, span_from_string(id), session);
    list_prepend(&s->recent, &session->node);
}

bool sessions_find(struct sessions *s, struct span id, enum mcp_revision *revision)
{
    struct session *session = table_get(s->by_id, id);
    if (session == NULL)
        return false;
    list_remove(&session->node);
    list_prepend(&s->recent, &session->node);
    *revision = session->revision;
    return true;
}

bool sessions_end(struct sessions *s, struct span id)
{
    struct session *session = table_get(s->by_id, id);
    if (session != NULL)
        session_drop(session);
    return session != NULL;
}

static void on_stream_closed(struct handler *h)
{
    struct session *session = CONTAINER_OF(h, struct session, stream);
    h->ex = NULL;
    timer_cancel(&session->timer);
}

static const struct handler_ops stream_ops = {.closed = on_stream_closed};

bool sessions_hold_stream(struct sessions *s, struct span id, struct exchange *ex)
{
    struct session *session = table_get(s->by_id, id);
    if (session == NULL || session->stream.ex != NULL)
        return false;
    handler_take(&session->stream, &stream_ops, ex);
    respond_events(ex, "");
    on_timer(&session->timer);
    return true;
}

void sessions_close_streams(struct sessions *s)
{
    LIST_EACH(node, &s->recent)
    stream_close_of(LIST_ENTRY(node, struct session, node));
}
