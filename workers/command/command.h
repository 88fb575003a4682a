// SPDX-License-Identifier: Apache-2.0
//
// Commands, as PID 1 sees them: started, cancelled, ended with a result. Never blocks.
#ifndef WRIST_WORKERS_COMMAND_COMMAND_H
#define WRIST_WORKERS_COMMAND_COMMAND_H

#include "gateway/lib/base/buffer.h"
#include "workers/command/supervisor.h"

struct loop;
struct command;

struct command_result {
    enum command_ending ending;
    int exit_code; // 128 + n where signal n ended it, 124 after a timeout
    uint64_t output_bytes;
    bool cut;
    uint32_t still_running;
    struct span text; // the output, or why it did not start; gone after the call
};

struct command_options {
    struct loop *loop; // borrowed, as all of this
    const struct command_identity *who;
    size_t output_limit;
    int64_t linger_ms;
    // What it writes, as it comes; the result then has no text of it. NULL: it comes at the end.
    void (*wrote)(void *owner, struct span bytes);
    struct line_watch *lines;                               // NULL: none are told
    void (*found)(void *owner, const struct line_found *f); // with `lines` and `wrote`
    int (*body)(void *task); // runs in the command's process instead of a shell; NULL: the line
    void *body_task;
};

// `ended` comes once, from the loop, also after command_cancel. The line must hold no NUL.
struct command *command_start(const struct command_options *options, struct span line,
                              int64_t timeout_ms,
                              void (*ended)(void *owner, const struct command_result *result),
                              void *owner, struct failure *why);
void command_cancel(struct command *c);
// No callback any more; the tree is ended all the same.
void command_forget(struct command *c);

#endif
