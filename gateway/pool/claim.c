// SPDX-License-Identifier: Apache-2.0
// From the wish for a sandbox to one that is bound: limits, one pop, the worker's compare-and-set.
#include <inttypes.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

enum { ATTEMPTS_MOST = 3 };

static void want_leave(struct want *w)
{
    timer_cancel(&w->deadline);
    list_remove(&w->node);
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
    want_fail(w, &why, 0);
}

void want_start(struct want *w)
{
    struct pool *p = w->pool;
    w->since_us = loop_now_us(p->b->loop);
    w->cold = fleet_count(p->b->fleet, p->profile, SANDBOX_WARM) <= p->claims;
    timer_init(&w->deadline, p->b->loop, too_late);
    timer_start(&w->deadline, p->profile->start_timeout_ms);
    list_append(&p->wanting, &w->node);
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
        p->b->with.driver->ops->note(p->b->with.driver, ward->sandbox->id, w->note);
        want_leave(w);
        w->done(w, ward->sandbox, NULL, 0);
        return;
    }
    // Bound or not, it is never pooled again.
    if (ward != NULL)
        ward_end(ward, ENDING_LOST, "its worker refused to be bound or did not answer");
    if (++w->attempts < ATTEMPTS_MOST)
        back_in_line(w);
    else
        want_fail(w, why, 1000);
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
    enum ending outdated;
    if (ward != NULL && ward->sandbox->state == SANDBOX_WARM && ward_is_outdated(ward, &outdated)) {
        ward_retire(ward, outdated);
        ward = NULL;
    }
    if (ward != NULL && ward->sandbox->state == SANDBOX_WARM) {
        list_remove(&w->node); // its sandbox counts from here on
        ward_bound(ward, w->principal, store_now_ms(b->store), w->idle_ms, w->absolute_ms,
                   "claimed");
        ask_bind(ward, w->session, bound, w);
        return;
    }
    if (why != NULL && why->fault != FAULT_NOT_FOUND && why->fault != FAULT_QUOTA) {
        want_fail(w, why, 1000);
        return;
    }
    // The pool is empty, named one that is gone, or a sandbox of this principal still has to go:
    // each of these ends with a change that calls the janitor.
    back_in_line(w);
    if (why == NULL)
        loop_defer(b->loop, &b->janitor);
}

// How many of a principal's sandboxes stay, and how many are on their way out.
static void count_owned(struct pool *p, const char *principal, int64_t *staying, int64_t *leaving)
{
    *staying = *leaving = 0;
    for (int state = SANDBOX_BOUND; state < SANDBOX_GONE; state++) {
        struct list *head = fleet_in_state(p->b->fleet, state);
        LIST_EACH(node, head)
        {
            const struct sandbox *s = LIST_ENTRY(node, struct sandbox, by_state);
            const struct ward *ward = s->owner;
            if (s->profile != p->profile || strcmp(s->principal, principal) != 0)
                continue;
            if (sandbox_is_bound(s) && !ward->leaving)
                ++*staying;
            else
                ++*leaving;
        }
    }
    LIST_EACH(node, &p->claiming)
    {
        const struct want *other = LIST_ENTRY(node, struct want, node);
        if (strcmp(other->principal, principal) == 0)
            ++*staying;
    }
}

enum admission { ADMIT, PARK, REFUSE };

static enum admission admit(struct pool *p, struct want *w)
{
    int64_t staying, leaving, most = p->profile->per_principal;
    count_owned(p, w->principal, &staying, &leaving);
    if (staying + leaving < most)
        return ADMIT;
    if (staying < most || evict_one(p, w->principal))
        return PARK;
    return REFUSE;
}

static void refuse(struct pool *p, struct want *w)
{
    struct failure why;
    failure_set(&why, FAULT_QUOTA,
                "you have %" PRId64 " sandboxes of profile %s in use, which is the limit",
                p->profile->per_principal, p->profile->name);
    want_fail(w, &why, 5000);
}

static void claim_for(struct pool *p, struct want *w)
{
    struct quota_bucket bucket = quota_of(p->profile, w->principal);
    list_remove(&w->node);
    list_append(&p->claiming, &w->node);
    timer_cancel(&w->deadline); // the worker's answer has its own
    p->claims++;
    store_claim(p->b->store, p->profile->name, &bucket, 1, claimed, w);
}

// Waiters in the order they came; one that is parked does not hold up the others.
void pool_match(struct pool *p)
{
    LIST_EACH(node, &p->wanting)
    {
        struct want *w = LIST_ENTRY(node, struct want, node);
        enum admission admission = admit(p, w);
        if (admission == REFUSE)
            refuse(p, w);
        else if (admission == ADMIT &&
                 fleet_count(p->b->fleet, p->profile, SANDBOX_WARM) > p->claims)
            claim_for(p, w);
    }
}
