// SPDX-License-Identifier: Apache-2.0
// How many sandboxes a pool starts now: for those who wait at once, up to its minimum as fast as it
// may, up to its target at its own pace.
#include <inttypes.h>

#include "gateway/lib/base/memory.h"
#include "gateway/pool/state.h"

int64_t pool_waiting(const struct pool *p)
{
    int64_t count = 0;
    for (const struct list *node = p->wanting.next; node != &p->wanting; node = node->next)
        count++;
    return count;
}

static int64_t count_in(const struct pool *p, enum sandbox_state state)
{
    return (int64_t)fleet_count(p->b->fleet, p->profile, state);
}

int64_t pool_total(const struct pool *p)
{
    return (int64_t)(fleet_total(p->b->fleet, p->profile) - p->stuck);
}

// What a want with a volume waits for is nobody else's.
static int64_t starting(const struct pool *p)
{
    return count_in(p, SANDBOX_CREATING) - (int64_t)p->reserved;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Waiters that no start under way will serve learn why, when it is more than a hiccup.
static void fail_surplus(struct pool *p)
{
    int64_t coming = starting(p) + count_in(p, SANDBOX_WARM) + count_in(p, SANDBOX_DRAINING) +
                     count_in(p, SANDBOX_FAILED) - (int64_t)p->stuck;
    int64_t wait_ms = p->retry_at_ms - loop_now_ms(p->b->loop);
    struct failure why = p->trouble;
    bool full = pool_total(p) >= p->profile->maximum;
    if (full) {
        failure_set(&why, FAULT_QUOTA,
                    "profile %s is at its maximum of %" PRId64 " sandboxes in all",
                    p->profile->name, p->profile->maximum);
        wait_ms = 5000;
    } else if (p->failures < 3 && !driver_is_away(p->b)) {
        return;
    } else if (driver_is_away(p->b)) {
        why = p->b->trouble;
        why.fault = FAULT_UNAVAILABLE;
        wait_ms = 1000;
    } else if (why.fault != FAULT_QUOTA && why.fault != FAULT_TIMEOUT) {
        why.fault = FAULT_UNAVAILABLE;
    }
    while (pool_waiting(p) > coming) // the ones that came last
        want_fail(LIST_ENTRY(p->wanting.prev, struct want, node), &why, wait_ms);
}

// One that nobody waits for is started all the same where no worker was asked for its card yet.
static int64_t minimum(const struct pool *p)
{
    return p->profile->warm_minimum == 0 && p->card == NULL ? 1 : p->profile->warm_minimum;
}

static bool pace_allows(struct pool *p)
{
    const struct profile *profile = p->profile;
    int64_t wait_us = pace_take(&p->pace, loop_now_us(p->b->loop), profile->refill_rate,
                                profile->parallel_starts);
    if (wait_us > 0)
        timer_start(&p->retry, wait_us / 1000 + 1);
    return wait_us == 0;
}

static bool wants_another(struct pool *p)
{
    bool empty = loop_now_ms(p->b->loop) < p->empty_until_ms; // whatever it looks like from here
    int64_t warm = count_in(p, SANDBOX_WARM), coming = starting(p) + (empty ? 0 : warm);
    int64_t waited_for = pool_waiting(p) + (int64_t)p->claims;
    if (!leads(p->b) || coming < waited_for)
        return coming < waited_for;
    // What the pool keeps is there also where the store has lost it for a moment.
    int64_t kept = starting(p) + warm - waited_for;
    return kept < minimum(p) || (kept < p->profile->warm && pace_allows(p));
}

bool pool_is_backing_off(const struct pool *p)
{
    return loop_now_ms(p->b->loop) < p->retry_at_ms || p->b->trouble.fault != 0 ||
           !store_is_up(p->b->store);
}

void pool_refill(struct pool *p)
{
    int64_t room = p->profile->maximum - pool_total(p);
    room = least(room, p->profile->parallel_starts - count_in(p, SANDBOX_CREATING));
    while (!pool_is_backing_off(p) && room-- > 0 && wants_another(p))
        pool_start_one(p);
    fail_surplus(p);
}
