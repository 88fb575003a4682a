// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/sessions.h"

#include "gateway/lib/base/random.h"
#include "gateway/lib/base/table.h"

struct session_entry {
    char id[ID_SIZE];
    struct session_stream *stream; // borrowed; NULL: none
    struct list resumed;           // of session_stream
    size_t resumed_count;
};

struct sessions {
    struct table *entries; // owned rows
    struct list streams;
};

struct sessions *sessions_new(void)
{
    struct sessions *s = memory_new(sizeof *s);
    s->entries = table_new();
    list_init(&s->streams);
    return s;
}

void sessions_free(struct sessions *s)
{
    struct span key;
    void *entry;
    for (size_t at = 0; table_next(s->entries, &at, &key, &entry);) {
        table_remove(s->entries, key);
        memory_free_at(&entry);
    }
    table_free(s->entries);
    memory_free_at(&s);
}

static struct session_entry *entry_get(struct sessions *s, struct span session)
{
    struct session_entry *e = table_get(s->entries, session);
    if (e != NULL)
        return e;
    e = memory_new(sizeof *e);
    list_init(&e->resumed);
    if (!span_copy_string(session, e->id, sizeof e->id))
        e->id[0] = '\0';
    table_put(s->entries, span_from_string(e->id), e);
    return e;
}

static void entry_forget_if_idle(struct sessions *s, struct session_entry *e)
{
    if (e->stream != NULL || e->resumed_count > 0)
        return;
    table_remove(s->entries, span_from_string(e->id));
    memory_free_at(&e);
}

void sessions_put_stream(struct sessions *s, struct span session, struct session_stream *stream)
{
    struct session_entry *e = entry_get(s, session);
    struct session_stream *old = e->stream;
    e->stream = stream;
    stream->entry = e;
    list_append(&s->streams, &stream->node);
    if (old == NULL)
        return;
    old->entry = NULL;
    list_remove(&old->node);
    old->ended(old);
}

bool sessions_put_resumed(struct sessions *s, struct span session, struct session_stream *stream)
{
    struct session_entry *e = entry_get(s, session);
    if (e->resumed_count >= SESSION_RESUMED_MAX)
        return false;
    e->resumed_count++;
    stream->entry = e;
    list_append(&e->resumed, &stream->in_session);
    list_append(&s->streams, &stream->node);
    return true;
}

void sessions_remove_stream(struct sessions *s, struct session_stream *stream)
{
    struct session_entry *e = stream->entry;
    if (e == NULL)
        return;
    stream->entry = NULL;
    list_remove(&stream->node);
    if (e->stream == stream) {
        e->stream = NULL;
    } else {
        list_remove(&stream->in_session);
        e->resumed_count--;
    }
    entry_forget_if_idle(s, e);
}

static void end_stream(struct sessions *s, struct session_stream *stream)
{
    sessions_remove_stream(s, stream);
    stream->ended(stream);
}

// The entry goes with its last stream: it is looked up each time.
void sessions_end_streams(struct sessions *s, struct span session)
{
    for (;;) {
        struct session_entry *e = table_get(s->entries, session);
        if (e != NULL && e->stream != NULL)
            end_stream(s, e->stream);
        else if (e != NULL && e->resumed_count > 0)
            end_stream(s, LIST_ENTRY(e->resumed.next, struct session_stream, in_session));
        else
            return;
    }
}

void sessions_end_all_streams(struct sessions *s)
{
    while (!list_is_empty(&s->streams))
        end_stream(s, LIST_ENTRY(s->streams.next, struct session_stream, node));
}
