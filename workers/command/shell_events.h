// SPDX-License-Identifier: Apache-2.0
//
// What happened to a watched shell, with numbers that only grow. The last SHELL_EVENTS_MAX are
// kept.
#ifndef WRIST_WORKERS_COMMAND_SHELL_EVENTS_H
#define WRIST_WORKERS_COMMAND_SHELL_EVENTS_H

#include "gateway/lib/base/span.h"

enum {
    SHELL_EVENTS_MAX = 512,
    SHELL_EVENT_LINE = 400, // bytes of a line that are kept
};

enum shell_event_kind {
    SHELL_EVENT_STARTED,
    SHELL_EVENT_ERROR, // a line matched a pattern
    SHELL_EVENT_IDLE,  // nothing was written for the time asked for
    SHELL_EVENT_EXITED,
};
const char *shell_event_name(enum shell_event_kind kind); // "started", "error", …

struct shell_event {
    uint64_t id; // from 1
    enum shell_event_kind kind;
    int64_t wall_ms;
    uint64_t offset; // error: of the line; else: of the end of the output
    char *pattern;   // owned; error
    char *line;      // owned; error, cut
    int exit_code;   // exited
};

struct shell_events {
    struct shell_event *ring; // owned; SHELL_EVENTS_MAX, made with the first
    uint64_t next;            // the id of the next one
};

void shell_events_init(struct shell_events *e);
void shell_events_fini(struct shell_events *e);
// Texts are copied; absent ones stay NULL. Returns the event, to be filled in further.
struct shell_event *shell_events_add(struct shell_events *e, enum shell_event_kind kind,
                                     int64_t wall_ms, uint64_t offset, struct span pattern,
                                     struct span line);
// The first kept event with an id greater than `since`; NULL where there is none.
const struct shell_event *shell_events_after(const struct shell_events *e, uint64_t since);

#endif
