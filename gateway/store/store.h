// SPDX-License-Identifier: Apache-2.0
//
// What replicas share: which sandboxes there are, what is bound to which, warm pools, deadlines,
// leases and quotas. The contract stands in README.md; `memory` keeps it in this process, Redis for
// several. Every operation answers once, from the loop, through `done`, in the order asked.
#ifndef WRIST_GATEWAY_STORE_STORE_H
#define WRIST_GATEWAY_STORE_STORE_H

#include "gateway/store/record.h"

struct store;
struct store_call; // an operation under way

// Plain values; `sandboxes` and `names` are the store's until `done` returns.
struct store_answer {
    int64_t number; // a token, a time
    char name[STORE_NAME_SIZE];
    struct binding_record binding;
    const struct sandbox_record *sandboxes;
    const char (*names)[STORE_NAME_SIZE];
    size_t count; // of sandboxes or names
};
// `why` is NULL where it worked. UNAVAILABLE: the store could not be asked, or could not keep it.
typedef void store_done(void *owner, const struct store_answer *answer, const struct failure *why);

// Set where the answer is of no interest: `done` may be NULL. Cancelling takes the callback off,
// the operation itself is not undone.
void store_call_cancel(struct store_call *call);

// The store's own clock: wall time that does not jump while the process lives.
int64_t store_now_ms(struct store *s);
// Nothing was known when it was opened: what runs is adopted before anything is deleted.
bool store_was_empty(struct store *s);
// Others may change what stands in it.
bool store_is_shared(const struct store *s);
bool store_is_up(struct store *s); // it answered lately; else what is asked will fail
// It can be asked again after it could not, and may have forgotten something, or all.
void store_on_return(struct store *s, void (*returned)(void *owner), void *owner);
void store_close(struct store *s); // calls under way are dropped

struct store_call *store_sandbox_put(struct store *s, const struct sandbox_record *record,
                                     store_done *done, void *owner);
// Also takes it off its pool, its deadlines and its quotas.
struct store_call *store_sandbox_delete(struct store *s, const char *id, store_done *done,
                                        void *owner);
struct store_call *store_sandbox_list(struct store *s, store_done *done, void *owner);

// Bindings are kept until `until_ms`, with or without a sandbox.
struct store_call *store_binding_put(struct store *s, const struct binding_record *record,
                                     store_done *done, void *owner);
// The same, unless it is bound to another sandbox or has ended: CONFLICT, with what stands there in
// the answer.
struct store_call *store_binding_claim(struct store *s, const struct binding_record *record,
                                       store_done *done, void *owner);
struct store_call *store_binding_get(struct store *s, const char *key, store_done *done,
                                     void *owner); // NOT_FOUND where there is none

// A warm pool is a queue of sandbox ids. Putting one that is there, or was claimed, changes
// nothing.
struct store_call *store_warm_put(struct store *s, const char *pool, const char *id,
                                  store_done *done, void *owner);
struct store_call *store_warm_remove(struct store *s, const char *pool, const char *id,
                                     store_done *done, void *owner);
// Takes the oldest id out of the pool and adds it to every bucket, or does neither: QUOTA with the
// full bucket in answer->name, NOT_FOUND with an empty pool. The id comes in answer->name.
struct store_call *store_claim(struct store *s, const char *pool,
                               const struct quota_bucket *buckets, size_t bucket_count,
                               store_done *done, void *owner);
// Adds without asking for the limit: a sandbox that is bound already.
struct store_call *store_quota_add(struct store *s, const struct quota_bucket *buckets,
                                   size_t bucket_count, const char *id, store_done *done,
                                   void *owner);

// Sorted sets: names by the time when they are due, 0 to take one out.
struct store_call *store_deadline_set(struct store *s, enum deadline_kind kind, const char *name,
                                      int64_t at_ms, store_done *done, void *owner);
// The names due at or before now, at most STORE_DUE_MAX, and puts them off by `hold_ms`: one reaper
// handles each, and another one later if the first dies over it.
struct store_call *store_deadline_take(struct store *s, enum deadline_kind kind, int64_t hold_ms,
                                       store_done *done, void *owner);

// A lease is held by one for ttl_ms after it was last taken; taking one's own renews it and keeps
// its token. Tokens only grow. CONFLICT where another holds it.
struct store_call *store_lease_take(struct store *s, const char *name, const char *holder,
                                    int64_t ttl_ms, store_done *done, void *owner);
struct store_call *store_lease_release(struct store *s, const char *name, const char *holder,
                                       store_done *done, void *owner);

#endif
