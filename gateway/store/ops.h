// SPDX-License-Identifier: Apache-2.0
//
// What an implementation of the store provides. It gets a call for each operation and answers it
// with call_answer or call_fail, at once or later; store.c hands the answer over from the loop.
// Strings are borrowed for the call.
#ifndef WRIST_GATEWAY_STORE_OPS_H
#define WRIST_GATEWAY_STORE_OPS_H

#include "gateway/lib/loop/loop.h"
#include "gateway/store/store.h"

struct store_ops {
    int64_t (*now_ms)(struct store *s);
    bool (*was_empty)(struct store *s);
    bool (*is_up)(struct store *s); // NULL: always
    void (*close)(struct store *s); // frees it
    void (*sandbox_put)(struct store *s, struct store_call *call, const struct sandbox_record *r);
    void (*sandbox_delete)(struct store *s, struct store_call *call, const char *id);
    void (*sandbox_list)(struct store *s, struct store_call *call);
    void (*binding_put)(struct store *s, struct store_call *call, const struct binding_record *r);
    void (*binding_claim)(struct store *s, struct store_call *call, const struct binding_record *r);
    void (*binding_get)(struct store *s, struct store_call *call, const char *key);
    void (*warm_put)(struct store *s, struct store_call *call, const char *pool, const char *id);
    void (*warm_remove)(struct store *s, struct store_call *call, const char *pool, const char *id);
    void (*claim)(struct store *s, struct store_call *call, const char *pool,
                  const struct quota_bucket *buckets, size_t bucket_count);
    void (*quota_add)(struct store *s, struct store_call *call, const struct quota_bucket *buckets,
                      size_t bucket_count, const char *id);
    void (*deadline_set)(struct store *s, struct store_call *call, enum deadline_kind kind,
                         const char *name, int64_t at_ms);
    void (*deadline_take)(struct store *s, struct store_call *call, enum deadline_kind kind,
                          int64_t hold_ms);
    void (*lease_take)(struct store *s, struct store_call *call, const char *name,
                       const char *holder, int64_t ttl_ms);
    void (*lease_release)(struct store *s, struct store_call *call, const char *name,
                          const char *holder);
};

// Embedded at the start of each implementation.
struct store {
    const struct store_ops *ops;
    struct loop *loop;
    struct list calls; // asked, in order
    struct task hand_over;
    bool is_shared;
    void (*returned)(void *owner); // NULL: nobody asked
    void *returned_owner;
};
void store_init(struct store *s, const struct store_ops *ops, struct loop *loop);
void store_fini(struct store *s);

// What the answer points to is filled in place. `rows` is owned by the call and freed with it.
struct store_answer *call_answer_begin(struct store_call *call);
void call_keep(struct store_call *call, void *rows);
void call_answer(struct store_call *call);
void call_fail(struct store_call *call, const struct failure *why);

#endif
