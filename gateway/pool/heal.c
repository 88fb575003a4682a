// SPDX-License-Identifier: Apache-2.0
// What stands in the store against what runs: what fell out of an index is put there again, a
// record of nothing is taken out. After the store could not be asked, and now and then by who
// leads.
#include <inttypes.h>

#include "gateway/lib/telemetry/log.h"
#include "gateway/pool/state.h"

enum {
    HEAL_MS = 60 * 1000,
    PUT_AT_ONCE = 100, // each tick: thousands at once would be all that the store does for a while
};

// Another replica may be making it. What was bound once has been made.
bool may_be_coming(const struct binder *b, const struct sandbox_record *r)
{
    enum { START_MOST_MS = 120 * 1000 };
    return store_is_shared(b->store) && r->claimed_ms == 0 &&
           r->created_ms + START_MOST_MS > store_now_ms(b->store);
}

static void claimed(void *owner, const struct store_answer *answer, const struct failure *why)
{
    if (why != NULL && why->fault == FAULT_CONFLICT && answer->binding.state == BINDING_ENDED)
        binding_was_deleted(owner, &answer->binding);
}

static void put_again(struct ward *w)
{
    const struct sandbox *s = w->sandbox;
    struct store *store = w->b->store;
    if (w->to_keep)
        ward_keep(w); // counts it too
    else
        ward_count(w);
    w->to_keep = false;
    if (s->state == SANDBOX_WARM) {
        store_warm_put(store, s->profile->name, s->id, NULL, NULL);
        store_deadline_set(store, DEADLINE_IDLE, s->id, store_now_ms(store) + s->profile->idle_ms,
                           NULL, NULL);
        return;
    }
    if (w->binding != NULL)
        store_binding_claim(store, &w->binding->record, claimed, w->b);
    else
        binding_ask_deleted(w);
}

static void put_some(struct binder *b);

static void tell(struct binder *b, const struct store_check *found, const struct failure *why)
{
    b->checking = false;
    if (b->checked != NULL)
        b->checked(b->check_owner, found, why);
    b->checked = NULL;
}

// The records last: where one is missing, what it says is known here.
static void listed(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct binder *b = owner;
    struct table *recorded = table_new();
    static char there;
    struct store_check found = {0};
    for (size_t i = 0; why == NULL && i < answer->count; i++) {
        const struct sandbox_record *r = &answer->sandboxes[i];
        table_put(recorded, span_from_string(r->id), &there);
        if (ward_find(b, span_from_string(r->id)) != NULL || may_be_coming(b, r))
            continue;
        learn_about_ghost(b, r->id);
        found.taken_out++;
    }
    for (int state = SANDBOX_WARM; why == NULL && state <= SANDBOX_IDLE; state++) {
        struct list *head = fleet_in_state(b->fleet, state);
        LIST_EACH(node, head)
        {
            const struct sandbox *s = LIST_ENTRY(node, struct sandbox, by_state);
            struct ward *w = s->owner;
            found.sandboxes++;
            if (table_get(recorded, span_from_string(s->id)) != NULL)
                continue;
            w->to_put = w->to_keep = b->putting = true;
            found.put_back++;
        }
    }
    table_free(recorded);
    if (found.taken_out + found.put_back > 0)
        LOG(LOG_WARN, "store.healed", LOG_I64("taken_out", found.taken_out),
            LOG_I64("put_back", found.put_back));
    tell(b, &found, why);
    if (b->putting)
        put_some(b);
}

// What runs is known now, also what other replicas made.
static void looked(struct learner *l, const struct failure *why)
{
    struct binder *b = CONTAINER_OF(l, struct binder, check);
    const struct store_check nothing = {0};
    if (why != NULL)
        tell(b, &nothing, why);
    else
        store_sandbox_list(b->store, listed, b);
}

// Those that are bound first; then, once all are there, what stands in the store is looked at.
static void put_some(struct binder *b)
{
    size_t room = PUT_AT_ONCE;
    for (int state = SANDBOX_IDLE; state >= SANDBOX_WARM; state--) {
        struct list *head = fleet_in_state(b->fleet, state);
        LIST_EACH(node, head)
        {
            struct ward *w = LIST_ENTRY(node, struct sandbox, by_state)->owner;
            if (!w->to_put)
                continue;
            if (room-- == 0)
                return;
            w->to_put = false;
            put_again(w);
        }
    }
    b->putting = false;
    if (b->check_due && !b->checking) {
        b->check_due = false;
        b->checking = true;
        b->check = (struct learner){.told = looked};
        learn(b, &b->check);
    }
}

void heal_now(struct binder *b)
{
    for (int state = SANDBOX_WARM; state <= SANDBOX_IDLE; state++) {
        struct list *head = fleet_in_state(b->fleet, state);
        LIST_EACH(node, head)
        {
            struct ward *w = LIST_ENTRY(node, struct sandbox, by_state)->owner;
            w->to_put = true;
        }
    }
    b->putting = b->check_due = true;
    put_some(b);
    b->heal_at_ms = loop_now_ms(b->loop) + HEAL_MS;
}

void heal_warm(struct pool *p)
{
    struct binder *b = p->b;
    struct list *head = fleet_in_state(b->fleet, SANDBOX_WARM);
    LIST_EACH(node, head)
    {
        struct sandbox *s = LIST_ENTRY(node, struct sandbox, by_state);
        struct ward *w = s->owner;
        w->to_put |= s->profile == p->profile;
    }
    b->putting = true;
}

bool binder_check_store(struct binder *b,
                        void (*done)(void *owner, const struct store_check *found,
                                     const struct failure *why),
                        void *owner)
{
    if (b->checked != NULL)
        return false;
    b->checked = done;
    b->check_owner = owner;
    heal_now(b);
    return true;
}

void binder_check_cancel(struct binder *b)
{
    b->checked = NULL;
}

void heal_tick(struct binder *b)
{
    if (b->heal_at_ms == 0)
        b->heal_at_ms = loop_now_ms(b->loop) + HEAL_MS;
    if (store_is_shared(b->store) && store_is_up(b->store) && leads(b) && b->adopted &&
        loop_now_ms(b->loop) >= b->heal_at_ms && !b->putting)
        heal_now(b);
    else if (b->putting && store_is_up(b->store))
        put_some(b);
}
