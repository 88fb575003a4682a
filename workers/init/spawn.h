// SPDX-License-Identifier: Apache-2.0
//
// Helper processes of PID 1, forked and not executed: each has one socket to PID 1 and whatever fds
// it is told to keep, and none of PID 1's secrets.
#ifndef WRIST_WORKERS_INIT_SPAWN_H
#define WRIST_WORKERS_INIT_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#include "gateway/lib/base/failure.h"

enum { SPAWN_SECRETS_MAX = 4, SPAWN_KEEP_MAX = 8 };

// Memory that no helper may have: wiped there first of all.
void spawn_guard(void *secret, size_t size);

struct spawn {
    int keep[SPAWN_KEEP_MAX]; // fds besides 0, 1, 2 and the socket
    size_t keep_count;
    // Never returns. `socket` is blocking.
    void (*run)(int socket, void *task);
    void *task;
};
// Returns the pid and, in *socket, PID 1's non-blocking end; or a negative fault.
pid_t spawn_start(const struct spawn *s, int *socket, struct failure *why);

// Everything but the kept fds (and 0, 1, 2) is closed.
void spawn_close_others(const int *keep, size_t count);

#endif
