// SPDX-License-Identifier: Apache-2.0
// The lease of the pools' keeper. Whoever does not hold it starts sandboxes for its own waiters
// only. It is given up in time where it cannot be renewed, and at once by who ends.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/pool/state.h"

enum { LEASE_MS = 2000, RENEW_MS = 500, SLACK_MS = 200 };

static const char lease_name[] = "keeper";

bool leads(const struct binder *b)
{
    return !store_is_shared(b->store) || loop_now_ms(b->loop) < b->leads_until_ms;
}

static void taken(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct binder *b = owner;
    bool led = leads(b);
    if (why == NULL && !led)
        LOG(LOG_INFO, "lead.taken", LOG_I64("token", answer->number));
    if (why == NULL) // from when it was asked for, at the earliest
        b->leads_until_ms = loop_now_ms(b->loop) + LEASE_MS - RENEW_MS - SLACK_MS;
    if (why == NULL && !led)
        loop_defer(b->loop, &b->janitor);
}

static void take(struct timer *timer)
{
    struct binder *b = CONTAINER_OF(timer, struct binder, lead);
    store_lease_take(b->store, lease_name, b->replica, LEASE_MS, taken, b);
    timer_start(timer, RENEW_MS);
}

void lead_start(struct binder *b)
{
    id_new(b->replica);
    timer_init(&b->lead, b->loop, take);
    if (store_is_shared(b->store))
        timer_start(&b->lead, 0);
}

void lead_stop(struct binder *b)
{
    timer_cancel(&b->lead);
    if (store_is_shared(b->store) && leads(b))
        store_lease_release(b->store, lease_name, b->replica, NULL, NULL);
}
