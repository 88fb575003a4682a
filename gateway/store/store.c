// SPDX-License-Identifier: Apache-2.0
#include "gateway/store/store.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/store/ops.h"

struct store_call {
    struct list node; // in the store's calls
    struct store *store;
    store_done *done; // NULL: nobody listens
    void *owner;
    bool answered;
    struct failure why; // fault 0: it worked
    struct store_answer answer;
    void *rows; // owned
};

static void call_free(struct store_call *call)
{
    list_remove(&call->node);
    free(call->rows);
    free(call);
}

// Answers go out in the order in which they were asked for, so a caller may count on it whichever
// implementation stands below.
static void hand_over(struct task *task)
{
    struct store *s = CONTAINER_OF(task, struct store, hand_over);
    while (!list_is_empty(&s->calls)) {
        struct store_call *call = LIST_ENTRY(s->calls.next, struct store_call, node);
        if (!call->answered)
            return;
        list_remove(&call->node);
        if (call->done != NULL)
            call->done(call->owner, &call->answer, call->why.fault != 0 ? &call->why : NULL);
        call_free(call);
    }
}

void store_init(struct store *s, const struct store_ops *ops, struct loop *loop)
{
    s->ops = ops;
    s->loop = loop;
    list_init(&s->calls);
    task_init(&s->hand_over, hand_over);
}

void store_fini(struct store *s)
{
    task_cancel(&s->hand_over);
    while (!list_is_empty(&s->calls))
        call_free(LIST_ENTRY(s->calls.next, struct store_call, node));
}

static struct store_call *call_new(struct store *s, store_done *done, void *owner)
{
    struct store_call *call = memory_new(sizeof *call);
    call->store = s;
    call->done = done;
    call->owner = owner;
    list_append(&s->calls, &call->node);
    return call;
}

struct store_answer *call_answer_begin(struct store_call *call)
{
    return &call->answer;
}

void call_keep(struct store_call *call, void *rows)
{
    call->rows = rows;
}

void call_answer(struct store_call *call)
{
    call->answered = true;
    loop_defer(call->store->loop, &call->store->hand_over);
}

void call_fail(struct store_call *call, const struct failure *why)
{
    call->why = *why;
    call_answer(call);
}

void store_call_cancel(struct store_call *call)
{
    call->done = NULL;
}

int64_t store_now_ms(struct store *s)
{
    return s->ops->now_ms(s);
}

bool store_was_empty(struct store *s)
{
    return s->ops->was_empty(s);
}

bool store_is_shared(const struct store *s)
{
    return s->is_shared;
}

bool store_is_up(struct store *s)
{
    return s->ops->is_up == NULL || s->ops->is_up(s);
}

void store_on_return(struct store *s, void (*returned)(void *owner), void *owner)
{
    s->returned = returned;
    s->returned_owner = owner;
}

void store_close(struct store *s)
{
    if (s != NULL)
        s->ops->close(s);
}

#define ASK(op, ...)                                                                               \
    do {                                                                                           \
        struct store_call *call = call_new(s, done, owner);                                        \
        s->ops->op(s, call, ##__VA_ARGS__);                                                        \
        return call;                                                                               \
    } while (0)

struct store_call *store_sandbox_put(struct store *s, const struct sandbox_record *record,
                                     store_done *done, void *owner)
{
    ASK(sandbox_put, record);
}

struct store_call *store_sandbox_delete(struct store *s, const char *id, store_done *done,
                                        void *owner)
{
    ASK(sandbox_delete, id);
}

struct store_call *store_sandbox_list(struct store *s, store_done *done, void *owner)
{
    ASK(sandbox_list);
}

struct store_call *store_binding_put(struct store *s, const struct binding_record *record,
                                     store_done *done, void *owner)
{
    ASK(binding_put, record);
}

struct store_call *store_binding_claim(struct store *s, const struct binding_record *record,
                                       store_done *done, void *owner)
{
    ASK(binding_claim, record);
}

struct store_call *store_binding_get(struct store *s, const char *key, store_done *done,
                                     void *owner)
{
    ASK(binding_get, key);
}

struct store_call *store_warm_put(struct store *s, const char *pool, const char *id,
                                  store_done *done, void *owner)
{
    ASK(warm_put, pool, id);
}

struct store_call *store_warm_remove(struct store *s, const char *pool, const char *id,
                                     store_done *done, void *owner)
{
    ASK(warm_remove, pool, id);
}

struct store_call *store_claim(struct store *s, const char *pool,
                               const struct quota_bucket *buckets, size_t bucket_count,
                               store_done *done, void *owner)
{
    ASK(claim, pool, buckets, bucket_count);
}

struct store_call *store_quota_add(struct store *s, const struct quota_bucket *buckets,
                                   size_t bucket_count, const char *id, store_done *done,
                                   void *owner)
{
    ASK(quota_add, buckets, bucket_count, id);
}

struct store_call *store_deadline_set(struct store *s, enum deadline_kind kind, const char *name,
                                      int64_t at_ms, store_done *done, void *owner)
{
    ASK(deadline_set, kind, name, at_ms);
}

struct store_call *store_deadline_take(struct store *s, enum deadline_kind kind, int64_t hold_ms,
                                       store_done *done, void *owner)
{
    ASK(deadline_take, kind, hold_ms);
}

struct store_call *store_lease_take(struct store *s, const char *name, const char *holder,
                                    int64_t ttl_ms, store_done *done, void *owner)
{
    ASK(lease_take, name, holder, ttl_ms);
}

struct store_call *store_lease_release(struct store *s, const char *name, const char *holder,
                                       store_done *done, void *owner)
{
    ASK(lease_release, name, holder);
}
