// SPDX-License-Identifier: Apache-2.0
//
// Volumes: workspaces with a name that outlive their sandboxes. One record each beside its image,
// on disk before the image is. A volume is its owner's and of its profile for good, one sandbox has
// it at a time, and one that nobody used for as long as it is kept is deleted.
#ifndef WRIST_DRIVER_VOLUMES_H
#define WRIST_DRIVER_VOLUMES_H

#include "driver/engine.h"
#include "driver/files.h"
#include "driver/job.h"
#include "gateway/lib/base/list.h"

struct loop;
struct volumes;

struct volumes_options {
    struct loop *loop; // all borrowed
    const struct driver_config *config;
    const struct engine *engine;
    struct jobs *jobs;
    void (*expired)(void *owner, const struct driver_volume *volume);
    void *owner;
};

// Waits for the end of a deletion; embedded in whoever waits, who takes it off its list before
// dying. `why` is NULL on success.
struct volume_waiter {
    struct list node;
    void (*done)(struct volume_waiter *w, const struct failure *why);
};

int volumes_folder(const struct driver_config *config, char out[FILE_PATH_SIZE],
                   struct failure *why);
// Reads the records there are. Nothing is deleted for want of use before the grace is over.
int volumes_open(const struct volumes_options *options, struct volumes **out, struct failure *why);
void volumes_free(struct volumes *all);

// For a sandbox that is about to be made, until volumes_release. CONFLICT: a sandbox has it, or it
// is being deleted. QUOTA: its owner has enough. DENIED, INVALID: another's, or another profile's.
int volumes_take(struct volumes *all, const struct driver_create *create, struct failure *why);
void volumes_hold(struct volumes *all, const char *id, const char *sandbox); // found at the start
// Its container has ended: used until now. Nothing where another sandbox has it.
void volumes_release(struct volumes *all, const char *id, const char *sandbox);

// `w` is told once its image is gone. NOT_FOUND, or CONFLICT while a sandbox has it; then not.
int volumes_remove(struct volumes *all, const char *id, const char *fleet, struct volume_waiter *w,
                   struct failure *why);
void volumes_each(const struct volumes *all,
                  void (*each)(void *owner, const struct driver_volume *v), void *owner);

#endif
