// SPDX-License-Identifier: Apache-2.0
//
// PID 1's children: every process that ends below us is reaped, whether we started it or it was
// orphaned. Signals are blocked from the first line of main and read from a signalfd, so that the
// sender is known: one from inside the sandbox is not obeyed.
#ifndef WRIST_WORKERS_INIT_REAPER_H
#define WRIST_WORKERS_INIT_REAPER_H

#include <sys/types.h>

#include "gateway/lib/base/failure.h"

struct loop;
struct reaper;

// Blocks every signal that can be blocked, and ignores SIGPIPE. Before anything else in main.
void signals_block(void);
// In a child that runs another program: default actions, nothing blocked.
void signals_reset(void);

struct reaper_ops {
    // SIGTERM or SIGINT from outside.
    void (*terminate)(void *owner);
};
struct reaper *reaper_new(struct loop *loop, const struct reaper_ops *ops, void *owner,
                          struct failure *why);
void reaper_free(struct reaper *r);

// `ended` is called once, from the loop, with the wait status.
void reaper_watch(struct reaper *r, pid_t pid, void (*ended)(void *owner, int status), void *owner);
void reaper_forget(struct reaper *r, pid_t pid); // it is still reaped, but nobody is told

#endif
