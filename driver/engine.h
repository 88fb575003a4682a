// SPDX-License-Identifier: Apache-2.0
//
// What makes the containers. sandboxes.c drives it: it journals, waits and retries; an engine only
// makes one container, and removes whatever of one there is.
#ifndef WRIST_DRIVER_ENGINE_H
#define WRIST_DRIVER_ENGINE_H

#include <sys/types.h>

#include "driver/config.h"
#include "gateway/lib/control/driver_api.h"

struct engine_profile {
    const struct driver_profile *settings; // borrowed
    char digest[DIGEST_SIZE];              // of image and worker
};

struct engine_order {
    struct driver_create create;
    size_t profile;   // index into the configuration's profiles
    uid_t peer_uid;   // who may connect to the link socket
    int64_t grace_ms; // the worker's, from SIGTERM to its exit
};

struct engine_ops {
    const char *name;
    // In a job's process. Ends in an exec, or returns. After success engine_pid knows the
    // container.
    int (*create)(void *engine, const struct engine_order *order, struct failure *why);
    // In a job's process: ends what runs and removes everything, also of half a creation. 0 where
    // there was nothing.
    int (*destroy)(void *engine, const char *id, struct failure *why);
    // In a job's process: takes a volume off the disk. FAULT_CONFLICT where it is mounted.
    int (*volume_remove)(void *engine, const char *volume, struct failure *why);
    // The rest is called from the loop and does not block.
    int (*pid)(void *engine, const char *id, pid_t *out, struct failure *why);
    void (*endpoint)(void *engine, const char *id, char out[ENDPOINT_SIZE]);
    const char *(*digest)(void *engine, size_t profile);
    // New sandboxes of this profile are made of `fresh`, whose content replaces that of the
    // configuration on success. Blocks for as long as opening the profile at the start did.
    int (*revise)(void *engine, size_t profile, const struct driver_profile *fresh,
                  struct failure *why);
    // Why a creation failed, in the runtime's words; *why keeps what it says where there are none.
    void (*explain)(void *engine, const char *id, struct failure *why);
    // Whether the kernel killed for lack of memory: asked after the end, before destroy.
    bool (*ran_out_of_memory)(void *engine, const char *id);
    // Calls `found` for every id of which something is there.
    int (*each_trace)(void *engine, void (*found)(void *owner, const char *id), void *owner,
                      struct failure *why);
    // Removes what no sandbox with one of these digests needs.
    void (*tidy)(void *engine, bool (*in_use)(void *owner, const char *digest), void *owner);
    void (*free)(void *engine);
};

struct engine {
    const struct engine_ops *ops;
    void *self; // owned
};

#endif
