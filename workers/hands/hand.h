// SPDX-License-Identifier: Apache-2.0
//
// The process that runs blocking file tools. Its real uid stays the worker's, so that commands can
// neither signal nor trace it; files it touches as the command's user, by fsuid, without any
// capability.
#ifndef WRIST_WORKERS_HANDS_HAND_H
#define WRIST_WORKERS_HANDS_HAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "workers/exports/export.h"

struct hand_task {
    struct workspace *workspace; // borrowed; its fds are kept
    int snapshots_fd;            // borrowed; -1 where snapshots cannot be kept
    struct export_limits exports;
    uid_t uid;
    gid_t gid;
    bool same_user;
};

void hand_run(int socket, void *task); // a struct hand_task; never returns

#endif
