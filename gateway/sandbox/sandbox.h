// SPDX-License-Identifier: Apache-2.0
//
// A sandbox as the gateway sees it, and the fleet of them: a list for each state, counters for each
// profile. The fleet owns its sandboxes; a sandbox that is gone is buried after the turn.
#ifndef WRIST_GATEWAY_SANDBOX_SANDBOX_H
#define WRIST_GATEWAY_SANDBOX_SANDBOX_H

#include "gateway/config/config.h"
#include "gateway/lib/base/list.h"
#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/control/link.h"
#include "gateway/store/record.h"

struct fleet;
struct http_client;
struct keyring;
struct loop;
struct metrics;

#define SANDBOX_STATE_TABLE(X)                                                                     \
    /* Asked of the driver and journalled, or found after a restart and not asked yet. */          \
    X(CREATING, "creating")                                                                        \
    /* Its worker answers and is bound to nobody; stands in its profile's warm pool. */            \
    X(WARM, "warm")                                                                                \
    /* Claimed for one principal for life; the worker's compare-and-set is done or under way. */   \
    X(BOUND, "bound")                                                                              \
    /* Bound, and no request of ours uses it. The reaper may ask whether it is still needed. */    \
    X(IDLE, "idle")                                                                                \
    /* Ended by itself, or could not be started. What it left is still to be removed. */           \
    X(FAILED, "failed")                                                                            \
    /* Being removed; the driver is asked until it says so. */                                     \
    X(DRAINING, "draining")                                                                        \
    /* Nothing of it is left. */                                                                   \
    X(GONE, "gone")
enum sandbox_state {
#define X(name, text) SANDBOX_##name,
    SANDBOX_STATE_TABLE(X)
#undef X
        SANDBOX_STATES
};
const char *sandbox_state_name(enum sandbox_state state);
bool sandbox_may_become(enum sandbox_state from, enum sandbox_state to);

struct sandbox {
    struct fleet *fleet;  // borrowed
    struct list by_state; // in the fleet's list of its state
    enum sandbox_state state;
    char id[ID_SIZE];
    int64_t generation;
    const struct profile *profile; // the config's
    char endpoint[ENDPOINT_SIZE];  // "" until the driver said
    char digest[DIGEST_SIZE], revision[REVISION_SIZE];
    char principal[PRINCIPAL_HASH_SIZE]; // "" while it is unbound
    char tenant[ID_SIZE];                // of that principal
    struct sandbox_grants grants;        // who may use it besides
    // Whose workspace outlives it. It is its principal's from its start, and never in the pool.
    char volume[VOLUME_HASH_SIZE]; // "" for none
    char volume_name[VOLUME_NAME_SIZE];
    char authorization[16 + 2 * LINK_SECRET_BYTES];
    struct http_client *link;     // owned; see sandbox_link
    int64_t created_ms;           // wall time
    int64_t born_ms;              // monotonic, also of one that was found: its age
    int64_t claimed_ms;           // the store's time; 0 while it is unbound
    int64_t idle_ms, absolute_ms; // its lives, from the claim
    int64_t state_since_ms;       // monotonic
    int64_t last_used_ms;         // monotonic; by requests of ours
    int64_t leases;               // requests that use it now
    void *owner;                  // whatever its keeper holds for it
};

// `config` and `ring` are borrowed; profiles are counted by their place in the config.
struct fleet *fleet_new(struct loop *loop, const struct config *config, const struct keyring *ring,
                        struct metrics *metrics);
void fleet_free(struct fleet *f); // forgets them all; nothing is deleted

// In CREATING.
struct sandbox *sandbox_new(struct fleet *f, const char *id, int64_t generation,
                            const struct profile *profile);
struct sandbox *fleet_find(const struct fleet *f, struct span id); // NULL where there is none
size_t fleet_count(const struct fleet *f, const struct profile *profile, enum sandbox_state state);
size_t fleet_total(const struct fleet *f, const struct profile *profile); // of all states
struct list *fleet_in_state(struct fleet *f, enum sandbox_state state);   // by their by_state nodes

// The one setter. `why` is for the log. Towards GONE it also closes the link and buries it.
void sandbox_set_state(struct sandbox *s, enum sandbox_state state, const char *why);
bool sandbox_is_alive(const struct sandbox *s); // warm, bound or idle
bool sandbox_is_bound(const struct sandbox *s); // bound or idle
// Bound to it, or granted to it.
bool sandbox_serves(const struct sandbox *s, const char *principal);

// The link's secret, derived from the ring's key number `key` (0 is the newest) for this sandbox
// and generation. False where there is no such key. Also sets the authorization.
bool sandbox_set_secret(struct sandbox *s, size_t key, unsigned char out[LINK_SECRET_BYTES]);
// The client to its worker, made at first use. NULL where the endpoint is missing or bad.
struct http_client *sandbox_link(struct sandbox *s);
// Nobody listens at its endpoint any more: of its worker nothing is left. False where that cannot
// be told at once.
bool sandbox_is_deserted(const struct sandbox *s);

#endif
