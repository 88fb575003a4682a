// SPDX-License-Identifier: Apache-2.0
//
// One sandbox of this driver, from the request to make it until nothing of it is left. Owned by
// sandboxes.c; its phase changes only through sandbox_set_phase.
#ifndef WRIST_DRIVER_SANDBOX_H
#define WRIST_DRIVER_SANDBOX_H

#include "driver/engine.h"
#include "driver/journal.h"
#include "gateway/lib/base/list.h"
#include "gateway/lib/loop/timer.h"

#define SANDBOX_PHASE_TABLE(X)                                                                     \
    X(CREATING, "creating") /* its creation waits in line or runs */                               \
    X(RUNNING, "running")   /* the container runs and is watched */                                \
    X(STOPPING, "stopping") /* its end was asked for; the creation or the container has to end */  \
    X(EXITED, "exited")     /* it ended by itself; its folder and its record are left */           \
    X(REMOVING, "removing") /* the engine takes away what is left */                               \
    X(GONE, "gone")         /* nothing is left; the object dies after the turn */
enum sandbox_phase {
#define X(name, text) SANDBOX_##name,
    SANDBOX_PHASE_TABLE(X)
#undef X
};
const char *sandbox_phase_name(enum sandbox_phase phase);
bool sandbox_phase_follows(enum sandbox_phase from, enum sandbox_phase to);

struct sandboxes;
struct child;

struct sandbox {
    struct sandboxes *all; // borrowed
    enum sandbox_phase phase;
    struct journal_entry entry;
    struct engine_order order; // its secret is wiped once the creation ended
    struct child *child;       // the watch on the container's first process
    struct list creation_waiters, removal_waiters;
    struct timer timer; // EXITED: until it is removed; REMOVING: until the next try
    int64_t requested_us;
    unsigned tries; // to remove it
};

// Checks the table, keeps the record's state in step, and logs the change with its reason.
void sandbox_set_phase(struct sandbox *s, enum sandbox_phase to, const char *reason);

#endif
