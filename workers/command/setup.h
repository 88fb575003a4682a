// SPDX-License-Identifier: Apache-2.0
//
// What a command's process is: whom it runs as, what it may use, where it stands. Everything here
// is given up before the first instruction of the command.
#ifndef WRIST_WORKERS_COMMAND_SETUP_H
#define WRIST_WORKERS_COMMAND_SETUP_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/control/worker_start.h"

struct seccomp_program;

// Made once at start; borrowed by every command.
struct command_identity {
    uint32_t uid, gid;
    bool same_user; // weak isolation: the worker's own uid
    struct worker_limits limits;
    int workspace_fd; // the command's directory
    char workspace[WORKER_PATH_SIZE];
    const struct seccomp_program *seccomp; // NULL: the kernel has none
};

// Turns this process (a fresh child) into the command's: session, streams, limits, user, filter,
// directory. `output` becomes stdout and stderr.
int command_become(const struct command_identity *who, int output, struct failure *why);
// Runs `bash -c line`, or sh. Returns only where that fails.
int command_execute(const struct command_identity *who, const char *line, struct failure *why);

#endif
