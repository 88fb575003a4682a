// SPDX-License-Identifier: Apache-2.0
//
// What starts and ends sandboxes: wrist-driver, later the Kubernetes API. Every operation answers
// once, from the loop.
#ifndef WRIST_GATEWAY_SANDBOX_DRIVER_H
#define WRIST_GATEWAY_SANDBOX_DRIVER_H

#include "gateway/lib/control/driver_api.h"

struct driver_profile {
    char name[PROFILE_NAME_SIZE];
    char digest[DIGEST_SIZE]; // "" where it is not known before a start
    char revision[REVISION_SIZE];
};

// Plain values, the driver's until `done` returns.
struct driver_answer {
    const struct driver_record *records;
    const struct driver_profile *profiles;
    const struct driver_volume *volumes;
    size_t count; // of the one of them that was asked for
};
typedef void driver_done(void *owner, const struct driver_answer *answer,
                         const struct failure *why);

struct driver_events {
    // The stream of events stands. What happened before is not told: list and compare.
    void (*connected)(void *owner);
    void (*exited)(void *owner, struct span id, int64_t generation, struct span reason);
    void (*profiles_changed)(void *owner); // what new sandboxes are made of
    // The driver deleted a volume that nobody used.
    void (*volume_expired)(void *owner, struct span fleet, struct span profile);
    // It broke, or could not be opened; it is tried again without being asked.
    void (*disconnected)(void *owner, const struct failure *why);
};

struct driver;
struct driver_ops {
    void (*listen)(struct driver *d, const struct driver_events *events, void *owner);
    // CONFLICT, QUOTA, UNAVAILABLE, … are the driver's own; past the deadline TIMEOUT.
    void (*create)(struct driver *d, const struct driver_create *create, int64_t deadline_ms,
                   driver_done *done, void *owner);
    void (*list)(struct driver *d, const char *fleet, driver_done *done, void *owner);
    void (*remove)(struct driver *d, const char *id, int64_t generation, driver_done *done,
                   void *owner);
    void (*note)(struct driver *d, const char *id, const char *note); // for what it is worth
    void (*profiles)(struct driver *d, driver_done *done, void *owner);
    // Of a principal's hash, or with "" of the whole fleet.
    void (*volumes)(struct driver *d, const char *fleet, const char *principal, driver_done *done,
                    void *owner);
    // CONFLICT while a sandbox has it.
    void (*remove_volume)(struct driver *d, const char *fleet, const char *id, driver_done *done,
                          void *owner);
    void (*close)(struct driver *d); // no callback after it
};
struct driver {
    const struct driver_ops *ops;
};

// Over the unix socket at `path` (gateway/lib/control/README.md).
struct loop;
int driver_client_open(struct loop *loop, const char *path, struct driver **out,
                       struct failure *why);

#endif
