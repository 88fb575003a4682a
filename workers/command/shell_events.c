// SPDX-License-Identifier: Apache-2.0
#include "workers/command/shell_events.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"

const char *shell_event_name(enum shell_event_kind kind)
{
    switch (kind) {
    case SHELL_EVENT_STARTED:
        return "started";
    case SHELL_EVENT_ERROR:
        return "error";
    case SHELL_EVENT_IDLE:
        return "idle_timeout";
    case SHELL_EVENT_EXITED:
        return "exited";
    }
    return "unknown";
}

void shell_events_init(struct shell_events *e)
{
    *e = (struct shell_events){.next = 1};
}

static void event_clear(struct shell_event *event)
{
    free(event->pattern);
    free(event->line);
}

void shell_events_fini(struct shell_events *e)
{
    for (size_t i = 0; e->ring != NULL && i < SHELL_EVENTS_MAX; i++)
        event_clear(&e->ring[i]);
    free(e->ring);
    e->ring = NULL;
}

static char *copy_or_null(struct span text)
{
    return span_is_absent(text) ? NULL : memory_copy_span(text);
}

struct shell_event *shell_events_add(struct shell_events *e, enum shell_event_kind kind,
                                     int64_t wall_ms, uint64_t offset, struct span pattern,
                                     struct span line)
{
    if (e->ring == NULL)
        e->ring = memory_new_array(SHELL_EVENTS_MAX, sizeof *e->ring);
    struct shell_event *event = &e->ring[e->next % SHELL_EVENTS_MAX];
    event_clear(event);
    *event = (struct shell_event){
        .id = e->next++,
        .kind = kind,
        .wall_ms = wall_ms,
        .offset = offset,
        .pattern = copy_or_null(pattern),
        .line = copy_or_null(span_slice(line, 0, SHELL_EVENT_LINE)),
    };
    return event;
}

const struct shell_event *shell_events_after(const struct shell_events *e, uint64_t since)
{
    uint64_t oldest = e->next > SHELL_EVENTS_MAX ? e->next - SHELL_EVENTS_MAX : 1;
    uint64_t id = since + 1 > oldest ? since + 1 : oldest;
    return e->ring != NULL && id < e->next ? &e->ring[id % SHELL_EVENTS_MAX] : NULL;
}
