// SPDX-License-Identifier: Apache-2.0
// Birth and death of the binder, for whoever puts the gateway together.
#ifndef WRIST_GATEWAY_POOL_SETUP_H
#define WRIST_GATEWAY_POOL_SETUP_H

#include "gateway/pool/binder.h"

struct driver;
struct keyring;
struct loop;
struct metrics;
struct store;
struct worker_ops;

struct binder_options { // everything borrowed
    struct loop *loop;
    const struct config *config;
    struct store *store;
    struct driver *driver;
    const struct worker_ops *workers;
    void *workers_user;
    const struct keyring *ring;
    struct metrics *metrics;
    const char *fleet_id;
    int directory;    // of cards, an fd; -1: they are not kept
    int64_t grace_ms; // after an empty store: adopt, and delete nothing
};
enum { BINDER_GRACE_MS = 3 * 60 * 1000 };

// Starts at once: finds what runs, adopts it, fills the pools.
struct binder *binder_open(const struct binder_options *options);
void binder_close(struct binder *b); // sandboxes stay; waits are dropped without a word

// Ready: what runs was adopted, and the default profile has a card.
int binder_check_ready(const struct binder *b, struct failure *why);

// One object: each pool's counts, limits, and why its starts fail, where they do.
struct json_writer;
void binder_report(const struct binder *b, struct json_writer *w);

// Compares what stands in the store with what runs, and heals what differs. `done` comes once, from
// the loop; false where one is under way.
struct store_check {
    int64_t sandboxes;           // that run
    int64_t taken_out, put_back; // records of nothing, records that were missing
};
bool binder_check_store(struct binder *b,
                        void (*done)(void *owner, const struct store_check *found,
                                     const struct failure *why),
                        void *owner);
void binder_check_cancel(struct binder *b); // no callback any more

#endif
