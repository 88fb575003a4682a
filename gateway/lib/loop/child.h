// SPDX-License-Identifier: Apache-2.0
//
// The end of a child process, told by its pidfd. Programs that are PID 1 reap by SIGCHLD instead.
#ifndef WRIST_GATEWAY_LIB_LOOP_CHILD_H
#define WRIST_GATEWAY_LIB_LOOP_CHILD_H

#include <sys/types.h>

#include "gateway/lib/base/failure.h"

struct loop;
struct child;

// `ended` gets the wait status, or -1 for a process that is not our child. Called once.
struct child *child_watch(struct loop *loop, pid_t pid, void (*ended)(void *owner, int status),
                          void *owner, struct failure *why);
int child_kill(struct child *c, int signal_number); // 0 or -1 with errno; never a re-used pid
void child_forget(struct child *c);                 // no callback any more; the process lives on

#endif
