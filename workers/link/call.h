// SPDX-License-Identifier: Apache-2.0
//
// Running tool calls: by a hand or by a command. A call outlives the connection that asked for it;
// it ends by itself, at its deadline, or when it is cancelled. `ended` always comes from the loop.
#ifndef WRIST_WORKERS_LINK_CALL_H
#define WRIST_WORKERS_LINK_CALL_H

#include "workers/command/command.h"
#include "workers/command/shells.h"
#include "workers/hands/pool.h"
#include "workers/tools/tool.h"

struct call;
struct calls;
struct life;

enum { CALLS_MAX = 32 };

struct calls_options {
    struct loop *loop; // borrowed, as all of this
    struct hand_pool *hands;
    struct life *life;
    struct command_options command;
    struct shells *shells;
};
struct calls *calls_new(const struct calls_options *options);
void calls_free(struct calls *c); // ends all; no callback

struct call_request {
    const struct tool *tool;
    const struct json *doc; // for the call of call_start, as the spans
    int arguments;          // JSON_NONE: none
    struct span reader;
    struct span session; // whose it is; see caller_whose
    struct span id;      // the JSON-RPC id, raw
    struct span link_id; // wrist-call; absent: none
};
// `result` is a CallToolResult as a JSON object, absent where the call was cancelled. It is gone
// after the call.
struct call *call_start(struct calls *c, const struct call_request *request,
                        void (*ended)(void *owner, struct span result), void *owner);

void call_cancel(struct call *call); // `ended` comes all the same
// It is another request's now: what a cancellation names.
void call_rename(struct call *call, struct span id, struct span link_id);

// Cancel what matches; how many did.
size_t calls_cancel_request(struct calls *c, struct span session, struct span id);
size_t calls_cancel_link(struct calls *c, struct span link_id);
// For the end of a session, or of a principal's use: its background shells end as well, and its
// calls have a result that says so.
size_t calls_cancel_session(struct calls *c, struct span session);
void calls_cancel_all(struct calls *c);

#endif
