// SPDX-License-Identifier: Apache-2.0
// From the wish for a sandbox to one that is bound: limits, one pop, the worker's compare-and-set.
#include <inttypes.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

enum { ATTEMPTS_MOST = 3, EMPTY_MS = 1500 };

static void want_leave(struct want *w)
{
    timer_cancel(&w->deadline);
    list_remove(&w->node);
    list_remove(&w->learner.node);
    holding_count(&w->holding, COUNTED_NOT);
    if (w->volume[0] != '\0')
        volume_forget(w);
}

void want_fail(struct want *w, const struct failure *why, int64_t retry_after_ms)
{
    want_leave(w);
    w->done(w, NULL, why, retry_after_ms);
}

static void too_late(struct timer *timer)
{
    struct want *w = CONTAINER_OF(timer, struct want, deadline);
    struct failure why;
    failure_set(&why, FAULT_TIMEOUT, "no sandbox of profile %s was ready within %" PRId64 " ms%s%s",
                w->pool->profile->name, w->pool->profile->start_timeout_ms,
                w->pool->trouble.fault != 0 ? ": " : "",
                w->pool->trouble.fault != 0 ? w->pool->trouble.text : "");
    want_fail(w, &why, 1000);
}

void want_start(struct want *w)
{
    struct pool *p = w->pool;
    w->since_us = loop_now_us(p->b->loop);
    w->cold =
        w->volume[0] != '\0' || fleet_count(p->b->fleet, p->profile, SANDBOX_WARM) <= p->claims;
    timer_init(&w->deadline, p->b->loop, too_late);
    timer_start(&w->deadline, p->profile->start_timeout_ms);
    list_append(w->volume[0] != '\0' ? &p->volume_wants : &p->wanting, &w->node);
    loop_defer(p->b->loop, &p->b->janitor);
}

static void back_in_line(struct want *w)
{
    list_remove(&w->node);
    list_prepend(&w->pool->wanting, &w->node);
    timer_start(&w->deadline, w->pool->profile->start_timeout_ms -
                                  (loop_now_us(w->pool->b->loop) - w->since_us) / 1000);
}

static void bound(void *owner, struct ward *ward, const struct worker_answer *answer,
                  const struct failure *why)
{
    struct want *w = owner;
    struct pool *p = w->pool;
    (void)answer;
    if (why == NULL && sandbox_is_bound(ward->sandbox)) {
        metric_add(p->hits[!w->cold], 1);
        metric_observe_us(p->b->bind_us[!w->cold], loop_now_us(p->b->loop) - w->since_us);
        ward_knows(ward, w->session);
        ward_keep(ward);
        ward_note(ward, w->note);
        want_leave(w);
        w->done(w, ward->sandbox, NULL, 0);
        return;
    }
    // Bound or not, it is never pooled again. Where the worker says that it is another's, it stays.
    if (ward != NULL && why != NULL && why->fault == FAULT_CONFLICT && store_is_shared(p->b->store))
        ward_disown(ward);
    else if (ward != NULL)
        ward_end(ward, ENDING_LOST, "its worker refused to be bound or did not answer");
    if (++w->attempts < ATTEMPTS_MOST && w->volume[0] == '\0')
        back_in_line(w);
    else
        want_fail(w, why, 1000);
}

// A sandbox that another replica made: bound once it was met.
static void learned(struct learner *l, const struct failure *why)
{
    struct want *w = CONTAINER_OF(l, struct want, learner);
    struct ward *ward = ward_find(w->pool->b, span_from_string(w->popped));
    if (ward != NULL && ward->sandbox->state == SANDBOX_WARM) {
        want_bind(w, ward);
    } else if (why != NULL) {
        want_fail(w, why, 1000);
    } else {
        if (ward == NULL)
            store_sandbox_delete(w->pool->b->store, w->popped, NULL, NULL);
        back_in_line(w);
        loop_defer(w->pool->b->loop, &w->pool->b->janitor);
    }
}

static void learn_about(struct want *w, const char *id)
{
    w->learner = (struct learner){.told = learned};
    span_copy_string(span_from_string(id), w->popped, sizeof w->popped);
    learn(w->pool->b, &w->learner);
}

void want_bind(struct want *w, struct ward *ward)
{
    list_remove(&w->node); // its sandbox counts from here on
    const struct ward_claim claim = {.principal = w->principal,
                                     .tenant = w->tenant,
                                     .claimed_ms = store_now_ms(ward->b->store),
                                     .idle_ms = w->idle_ms,
                                     .absolute_ms = w->absolute_ms};
    ward_bound(ward, &claim, "claimed");
    ask_bind(ward, w->principal, w->session, bound, w);
}

static void claimed(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct want *w = owner;
    struct pool *p = w->pool;
    struct binder *b = p->b;
    struct ward *ward = NULL;
    if (why == NULL)
        ward = ward_find(b, span_from_string(answer->name));
    p->claims--;
    w->began |= why == NULL;
    holding_count(&w->holding, COUNTED_NOT); // its sandbox does, from here on
    enum ending outdated;
    bool is_new = ward == NULL || ward->sandbox->state == SANDBOX_CREATING; // just met, being asked
    if (why == NULL && is_new && store_is_shared(b->store)) {
        learn_about(w, answer->name);
        return;
    }
    if (ward != NULL && ward->sandbox->state == SANDBOX_WARM && ward_is_outdated(ward, &outdated)) {
        ward_retire(ward, outdated);
        ward = NULL;
    }
    if (ward != NULL && ward->sandbox->state == SANDBOX_WARM) {
        want_bind(w, ward);
        return;
    }
    if (why != NULL && why->fault != FAULT_NOT_FOUND && why->fault != FAULT_QUOTA) {
        want_fail(w, why, 1000);
        return;
    }
    if (why != NULL && why->fault == FAULT_QUOTA) { // by what other replicas know
        if (answer->number > 0)
            want_refuse_rate(w, answer->name[0] == 't', answer->number);
        else
            want_refuse(w, answer->name[0] == 't');
        return;
    }
    // The pool is empty or named one that is gone: either ends with a change that calls the
    // janitor.
    back_in_line(w);
    if (why != NULL && store_is_shared(b->store)) { // what is warm here was claimed elsewhere
        p->empty_until_ms = loop_now_ms(b->loop) + EMPTY_MS;
        timer_start(&b->relist, 0);
        heal_warm(p); // or fell out of the store
    }
    if (why == NULL)
        loop_defer(b->loop, &b->janitor);
}

static void claim_for(struct pool *p, struct want *w)
{
    struct quota_bucket buckets[2];
    size_t count = owner_buckets(buckets, p->profile, w->principal, w->tenant);
    for (size_t i = 0; i < count && w->began; i++)
        buckets[i].per_minute = 0; // it has one already, which was lost
    want_count(w);
    list_remove(&w->node);
    list_append(&p->claiming, &w->node);
    timer_cancel(&w->deadline); // the worker's answer has its own
    p->claims++;
    store_claim(p->b->store, p->profile->name, buckets, count, claimed, w);
}

// Waiters in the order they came; one that is parked does not hold up the others.
void pool_match(struct pool *p)
{
    struct failure why;
    if (!store_is_up(p->b->store)) {
        failure_set(&why, FAULT_UNAVAILABLE, "the store cannot be reached; nothing new is bound");
        while (!list_is_empty(&p->wanting))
            want_fail(LIST_ENTRY(p->wanting.next, struct want, node), &why, 1000);
        return;
    }
    LIST_EACH(node, &p->wanting)
    {
        struct want *w = LIST_ENTRY(node, struct want, node);
        if (want_admit(w) == ADMITTED &&
            fleet_count(p->b->fleet, p->profile, SANDBOX_WARM) > p->claims)
            claim_for(p, w);
    }
}
