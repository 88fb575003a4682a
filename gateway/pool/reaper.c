// SPDX-License-Identifier: Apache-2.0
// Walks the deadlines, and what is alive: ends what is over, asks what may be idle, calls on those
// nobody talks to so that they do not take themselves for orphans.
#include "gateway/lib/base/memory.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

enum {
    TICK_MS = 250,
    HOLD_MS = 30 * 1000,       // for the answer of a worker
    BUSY_AGAIN_MS = 15 * 1000, // a running call is asked about again after this
    IDLE_AFTER_MS = 1000,      // without a request of ours
    PING_MS = 60 * 1000,
    PRUNE_MS = 60 * 1000,
    SURPLUS_MS = 60 * 1000, // after which one more than the pool keeps is ended
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void put_off(struct ward *w, int64_t by_ms)
{
    struct store *store = w->b->store;
    store_deadline_set(store, DEADLINE_IDLE, w->sandbox->id, store_now_ms(store) + by_ms, NULL,
                       NULL);
}

static int64_t unused_ms(const struct ward *w)
{
    return w->sandbox->leases > 0 ? 0 : loop_now_ms(w->b->loop) - w->sandbox->last_used_ms;
}

static void idle_answered(void *owner, struct ward *w, const struct worker_answer *answer,
                          const struct failure *why)
{
    (void)owner;
    if (w == NULL || !sandbox_is_bound(w->sandbox))
        return;
    int64_t life = w->sandbox->idle_ms;
    if (why != NULL) {
        ward_suspect(w);
        put_off(w, least(life, BUSY_AGAIN_MS));
    } else if (answer->status.calls > 0) {
        put_off(w, least(life, BUSY_AGAIN_MS));
    } else {
        int64_t idle = least(answer->status.idle_ms, unused_ms(w));
        if (idle >= life)
            ward_end(w, ENDING_IDLE, "its idle life is over");
        else
            put_off(w, life - idle);
    }
}

// A warm one that its pool does not need: a card was asked of it, or the pool was larger.
static void warm_is_old(struct ward *w)
{
    const struct profile *profile = w->sandbox->profile;
    bool surplus = (int64_t)fleet_count(w->b->fleet, profile, SANDBOX_WARM) > profile->warm;
    if (surplus && list_is_empty(&pool_of(w->b, profile)->claiming))
        ward_end(w, ENDING_UNUSED, "warm for its idle life, and more than the pool keeps");
    else
        put_off(w, profile->idle_ms);
}

static void idle_is_due(struct ward *w)
{
    if (w->sandbox->state == SANDBOX_WARM)
        warm_is_old(w);
    else if (unused_ms(w) < w->sandbox->idle_ms)
        put_off(w, w->sandbox->idle_ms - unused_ms(w));
    else
        ask_status(w, idle_answered, NULL);
}

static void due(struct binder *b, enum deadline_kind kind, const struct store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        struct ward *w = ward_find(b, span_from_string(answer->names[i]));
        if (w == NULL && store_is_shared(b->store))
            learn_about_ghost(b, answer->names[i]);          // or another replica's
        else if (w == NULL || !sandbox_is_alive(w->sandbox)) // a ghost
            store_deadline_set(b->store, kind, answer->names[i], 0, NULL, NULL);
        else if (kind == DEADLINE_IDLE)
            idle_is_due(w);
        else if (ward_is_over(w))
            ward_end(w, ENDING_OVER, "its absolute life is over");
    }
}

static void idle_taken(void *owner, const struct store_answer *answer, const struct failure *why)
{
    if (why == NULL)
        due(owner, DEADLINE_IDLE, answer);
}

static void absolute_taken(void *owner, const struct store_answer *answer,
                           const struct failure *why)
{
    if (why == NULL)
        due(owner, DEADLINE_ABSOLUTE, answer);
}

static void pinged(void *owner, struct ward *w, const struct worker_answer *answer,
                   const struct failure *why)
{
    (void)owner;
    (void)answer;
    if (w != NULL && why != NULL)
        ward_suspect(w);
    else if (w != NULL)
        w->silent = 0;
}

// More than the pool keeps, as after a store that had lost what was warm. One that was started for
// the card alone has its idle life.
static bool is_surplus(const struct ward *w, int64_t now)
{
    struct binder *b = w->b;
    const struct sandbox *s = w->sandbox;
    int64_t kept = s->profile->warm > 1 ? s->profile->warm : 1;
    const struct pool *p = pool_of(b, s->profile);
    return s->state == SANDBOX_WARM && leads(b) && now - s->state_since_ms >= SURPLUS_MS &&
           (int64_t)fleet_count(b->fleet, s->profile, SANDBOX_WARM) > kept &&
           list_is_empty(&p->wanting) && list_is_empty(&p->claiming);
}

static void call_on(struct ward *w, int64_t now)
{
    enum ending outdated;
    if (is_surplus(w, now)) {
        ward_end(w, ENDING_UNUSED, "more than the pool keeps");
        return;
    }
    if (w->sandbox->state == SANDBOX_WARM && ward_is_outdated(w, &outdated)) {
        ward_retire(w, outdated);
        return;
    }
    if (w->sandbox->state == SANDBOX_BOUND && unused_ms(w) >= IDLE_AFTER_MS &&
        w->sandbox->leases == 0)
        sandbox_set_state(w->sandbox, SANDBOX_IDLE, "no request");
    if (w->next_ping_ms == 0)
        w->next_ping_ms = now + PING_MS;
    if (w->next_ping_ms > now)
        return;
    w->next_ping_ms = now + PING_MS;
    ask_status(w, pinged, NULL);
}

void reaper_tick(struct timer *timer)
{
    struct binder *b = CONTAINER_OF(timer, struct binder, tick);
    int64_t now = loop_now_ms(b->loop);
    store_deadline_take(b->store, DEADLINE_ABSOLUTE, HOLD_MS, absolute_taken, b);
    store_deadline_take(b->store, DEADLINE_IDLE, HOLD_MS, idle_taken, b);
    for (int state = SANDBOX_WARM; state <= SANDBOX_IDLE; state++) {
        struct list *head = fleet_in_state(b->fleet, state);
        LIST_EACH(node, head)
        call_on(LIST_ENTRY(node, struct sandbox, by_state)->owner, now);
    }
    if (now >= b->prune_at_ms) {
        owners_prune(b->owners, loop_now_us(b->loop));
        b->prune_at_ms = now + PRUNE_MS;
    }
    heal_tick(b);
    timer_start(&b->tick, TICK_MS);
}
