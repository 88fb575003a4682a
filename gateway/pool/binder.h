// SPDX-License-Identifier: Apache-2.0
//
// From a request to the sandbox that serves it: an existing binding, a warm sandbox, or a cold
// start. Single flight: twenty parallel first calls of one session get one sandbox. The proxy asks
// here and knows nothing of stores, drivers and states.
#ifndef WRIST_GATEWAY_POOL_BINDER_H
#define WRIST_GATEWAY_POOL_BINDER_H

#include "gateway/auth/principal.h"
#include "gateway/config/config.h"

struct binder;
struct bind_wait; // a request that waits for its sandbox
struct lease;     // the use of a sandbox by one request
struct http_client;

// The clock by which sessions are issued and end: wall time that does not jump while we live.
int64_t binder_now_ms(const struct binder *b);

struct bind_request {
    struct principal *principal;   // borrowed for the call
    const struct profile *profile; // the config's
    struct span session;           // internal session id; absent for a modern client
    int64_t session_issued_ms;     // binder_now_ms then; with the session
    struct span sandbox;           // id, where a handle named one; else absent
    struct span volume;            // what a new sandbox has as its workspace; else absent
};

// `done` comes once, from the loop, with a lease or a failure:
//   LOST         the workspace is gone, nothing ran; told to every request that came before the
//                first was told, the next one gets a new sandbox
//   NOT_FOUND    the session or sandbox has ended, or is somebody else's
//   CONFLICT     another sandbox of the principal has the volume; the text says which
//   QUOTA        the text says which limit; retry_after_ms of the failure's wait
//   UNAVAILABLE  no sandbox can be started now, the text says why
//   TIMEOUT      the start deadline passed
struct bind_wait *binder_start(struct binder *b, const struct bind_request *request,
                               void (*done)(void *owner, struct lease *lease,
                                            const struct failure *why, int64_t retry_after_ms),
                               void *owner);
// The same where it is bound already, or is being bound; else LOST, which is not consumed here, and
// nothing is started.
struct bind_wait *binder_reach(struct binder *b, const struct bind_request *request,
                               void (*done)(void *owner, struct lease *lease,
                                            const struct failure *why, int64_t retry_after_ms),
                               void *owner);
void bind_wait_cancel(struct bind_wait *w); // no callback any more; the start itself goes on

// The rest of the questions and orders also answer once, from the loop, through `done`: `why` is
// NULL where it worked. They are asynchronous since another replica's sessions stand in the shared
// store.

// Where no sandbox is needed: is this session alive? NOT_FOUND, or LOST (not consumed here).
struct bind_wait *binder_check_session(struct binder *b, const struct bind_request *request,
                                       void (*done)(void *owner, const struct failure *why),
                                       void *owner);
// DELETE of a session, or of a sandbox by its owner: ends what is bound to it, leaves a tombstone.
// NOT_FOUND where there is none of that principal. Cancelling the wait does not undo it.
struct bind_wait *binder_end_session(struct binder *b, const struct bind_request *request,
                                     void (*done)(void *owner, const struct failure *why),
                                     void *owner);
struct bind_wait *binder_end_sandbox(struct binder *b, const struct principal *principal,
                                     struct span sandbox,
                                     void (*done)(void *owner, const struct failure *why),
                                     void *owner);

// A named sandbox, bound to its owner from the start; requests reach it by bind_request.sandbox.
// Lives of 0 are the profile's; longer ones than those are INVALID.
struct bind_wait *
binder_create_sandbox(struct binder *b, struct principal *principal, const struct profile *profile,
                      int64_t idle_ms, int64_t absolute_ms, struct span volume,
                      void (*done)(void *owner, struct span sandbox, const struct failure *why,
                                   int64_t retry_after_ms),
                      void *owner);
// What its owner may know of a sandbox. Plain values.
struct sandbox_view {
    char id[ID_SIZE];
    const char *profile;            // the config's
    const char *state;              // "bound" or "idle"
    int64_t created_ms, expires_ms; // wall time
    int64_t idle_ms;                // its idle life
    char volume[VOLUME_NAME_SIZE];  // "" for none
};
// False where that principal has no such sandbox.
bool binder_show_sandbox(struct binder *b, const struct principal *principal, struct span sandbox,
                         struct sandbox_view *out);
// The principal's own, at most `room` of them; returns how many there are.
size_t binder_list_sandboxes(struct binder *b, const struct principal *principal,
                             struct sandbox_view *out, size_t room);

// Whether that principal may use it: its own, or granted to it by its owner. True while what runs
// is still being adopted, or another replica may know it: a request will then be told.
bool binder_serves_sandbox(struct binder *b, const struct principal *principal,
                           struct span sandbox);
// Its owner grants it to another principal, or takes that back. QUOTA: it has enough grants;
// NOT_FOUND: there is no such sandbox of that owner, or no such grant.
struct bind_wait *binder_grant_sandbox(struct binder *b, const struct principal *principal,
                                       struct span sandbox, const char *grantee, bool is_granted,
                                       void (*done)(void *owner, const struct failure *why),
                                       void *owner);

// Volumes: workspaces with a name that outlive their sandboxes, one sandbox at a time. A session,
// or a principal on a profile, gets one with its sandbox and never later.
struct volume_view {             // plain values
    char name[VOLUME_NAME_SIZE]; // "" where its key is gone
    char id[VOLUME_HASH_SIZE], owner[VOLUME_HASH_SIZE];
    char profile[PROFILE_NAME_SIZE];
    int64_t bytes;
    int64_t created_ms, used_ms, expires_ms; // wall time; it does not expire while it is used
    char sandbox[ID_SIZE];                   // that has it; "" for none
};
struct volume_question; // under way
// Of a principal, or with NULL of all. `done` comes once, from the loop.
struct volume_question *binder_list_volumes(struct binder *b, const struct principal *principal,
                                            void (*done)(void *owner,
                                                         const struct volume_view *views,
                                                         size_t count, const struct failure *why),
                                            void *owner);
// By name, or with NULL for the principal by id. NOT_FOUND; CONFLICT while a sandbox has it.
struct volume_question *binder_delete_volume(struct binder *b, const struct principal *principal,
                                             struct span name,
                                             void (*done)(void *owner, const struct failure *why),
                                             void *owner);
void volume_question_cancel(struct volume_question *q); // no callback any more

// The link to the sandbox, and the headers that every request on it carries. The link is NULL once
// the sandbox is gone; calls on it have then failed. The rest is valid until the lease is released.
struct http_client *lease_link(const struct lease *l);
const char *lease_authorization(const struct lease *l); // value of the `authorization` header
const char *lease_sandbox(const struct lease *l);       // id, for logs
// The worker said that it does not know the session: bind again, then `again` is called once,
// unless the lease is released before.
void lease_rebind(struct lease *l, void (*again)(void *owner, const struct failure *why),
                  void *owner);
// The link failed in a way that says the sandbox may be gone: it is looked after.
void lease_report_lost(struct lease *l, const struct failure *why);
void lease_release(struct lease *l);

// The card of a profile: what its worker answers to discover, initialize and the lists, as JSON
// (gateway/lib/control README). NULL while no worker could be asked yet: *why says the reason.
struct card;
const struct card *binder_card(struct binder *b, const struct profile *profile,
                               struct failure *why);
struct span card_member(const struct card *c,
                        const char *name); // raw JSON; absent where it is none

#endif
