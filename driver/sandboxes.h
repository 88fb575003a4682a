// SPDX-License-Identifier: Apache-2.0
//
// All sandboxes of this driver: makes, watches and removes them by jobs, keeps the journal, adopts
// what an earlier run left and removes what nobody knows of. Deleting is legal in every phase.
#ifndef WRIST_DRIVER_SANDBOXES_H
#define WRIST_DRIVER_SANDBOXES_H

#include "driver/config.h"
#include "driver/engine.h"
#include "driver/job.h"
#include "driver/journal.h"
#include "driver/sandbox.h"

struct sandboxes;
struct volumes;

struct sandboxes_options {
    struct loop *loop; // all borrowed
    const struct driver_config *config;
    const struct engine *engine;
    const struct journal *journal;
    struct jobs *jobs;
    struct volumes *volumes;
    // A container ended, by itself or because it was told to.
    void (*exited)(void *owner, const struct driver_record *record, const char *reason);
    void *owner;
};

// Waits for the end of a creation or of a removal; embedded in whoever waits, who takes it off its
// list (list_remove) before dying. `why` is NULL on success.
struct sandbox_waiter {
    struct list node;
    void (*done)(struct sandbox_waiter *w, const struct failure *why);
};

struct sandboxes *sandboxes_new(const struct sandboxes_options *options);
void sandboxes_free(struct sandboxes *all); // containers run on

// Once, before the first request: reads the journal, adopts what runs, removes what was broken off.
int sandboxes_recover(struct sandboxes *all, struct failure *why);
// Removes traces that no sandbox here explains; at start and then from time to time by itself.
void sandboxes_sweep(struct sandboxes *all);

// `*out` is the new sandbox, or the one that has this id and generation already (*existed).
int sandboxes_create(struct sandboxes *all, const struct driver_create *create, uid_t peer_uid,
                     struct sandbox **out, bool *existed, struct failure *why);
struct sandbox *sandboxes_get(const struct sandboxes *all, const char *id);
// `done` may come before this returns where it runs already.
void sandbox_wait_created(struct sandbox *s, struct sandbox_waiter *w);
void sandbox_remove(struct sandbox *s, const char *reason,
                    struct sandbox_waiter *w); // w may be NULL
int sandbox_set_note(struct sandbox *s, struct span note, struct failure *why);

size_t sandboxes_count(const struct sandboxes *all);
void sandboxes_each(const struct sandboxes *all, void (*each)(void *owner, const struct sandbox *s),
                    void *owner);

#endif
