// SPDX-License-Identifier: Apache-2.0
//
// From a request to the sandbox that serves it: an existing binding, a warm sandbox, or a cold start.
// Single flight: twenty parallel first calls of one session get one sandbox. The proxy asks here and
// knows nothing of stores, drivers and states.
#ifndef WRIST_GATEWAY_POOL_BINDER_H
#define WRIST_GATEWAY_POOL_BINDER_H

#include "gateway/auth/principal.h"
#include "gateway/config/config.h"

struct binder;
struct bind_wait; // a request that waits for its sandbox
struct lease;     // the use of a sandbox by one request
struct http_client;

struct bind_request {
    struct principal *principal;   // borrowed for the call
    const struct profile *profile; // the config's
    struct span session;           // internal session id; absent for a modern client
    int64_t session_issued_ms;     // wall time; with the session
    struct span sandbox;           // id, where a handle named one; else absent
};

// `done` comes once, from the loop, with a lease or a failure:
//   LOST         the workspace is gone, nothing ran; told once, the next request gets a new sandbox
//   NOT_FOUND    the session or sandbox has ended, or is somebody else's
//   QUOTA        the text says which limit; retry_after_ms of the failure's wait
//   UNAVAILABLE  no sandbox can be started now, the text says why
//   TIMEOUT      the start deadline passed
struct bind_wait *binder_start(struct binder *b, const struct bind_request *request,
                               void (*done)(void *owner, struct lease *lease,
                                            const struct failure *why, int64_t retry_after_ms),
                               void *owner);
void bind_wait_cancel(struct bind_wait *w); // no callback any more; the start itself goes on

// Where no sandbox is needed: is this session alive? 0, NOT_FOUND, or LOST (not consumed here).
int binder_check_session(struct binder *b, const struct bind_request *request);
// DELETE of a session, or of a sandbox by its owner: ends what is bound to it, leaves a tombstone.
// NOT_FOUND where there is none of that principal.
int binder_end_session(struct binder *b, const struct bind_request *request, struct failure *why);
int binder_end_sandbox(struct binder *b, const struct principal *principal, struct span sandbox,
                       struct failure *why);

// The link to the sandbox, and the headers that every request on it carries. Alive until the lease
// is released.
struct http_client *lease_link(const struct lease *l);
const char *lease_authorization(const struct lease *l); // value of the `authorization` header
const char *lease_sandbox(const struct lease *l);       // id, for logs
// The worker said that it does not know the session: bind again, then `again` is called once.
void lease_rebind(struct lease *l, void (*again)(void *owner, const struct failure *why),
                  void *owner);
// The link failed in a way that says the sandbox is gone.
void lease_report_lost(struct lease *l, const struct failure *why);
void lease_release(struct lease *l);

// The card of a profile: what its worker answers to discover, initialize and the lists, as JSON
// (gateway/lib/control README). NULL while no worker could be asked yet: *why says the reason.
struct card;
const struct card *binder_card(struct binder *b, const struct profile *profile,
                               struct failure *why);
struct span card_member(const struct card *c, const char *name); // raw JSON; absent where it is none

#endif
