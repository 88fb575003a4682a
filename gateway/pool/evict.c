// SPDX-License-Identifier: Apache-2.0
// Room under a principal's limit: its sandbox that was used least lately goes, if nothing runs in
// it.
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

enum { BUSY_MS = 1000 };

static void asked(void *owner, struct ward *w, const struct worker_answer *answer,
                  const struct failure *why)
{
    struct binder *b = owner;
    if (w == NULL)
        return;
    w->leaving = false;
    if (sandbox_is_bound(w->sandbox))
        holding_count(&w->holding, COUNTED_STAYING);
    if (why != NULL)
        ward_suspect(w);
    if (why == NULL && answer->status.calls == 0 && w->sandbox->leases == 0 &&
        sandbox_is_bound(w->sandbox))
        ward_end(w, ENDING_IDLE, "idle, and its principal needs the room");
    else
        w->busy_until_ms = loop_now_ms(b->loop) + BUSY_MS;
    loop_defer(b->loop, &b->janitor);
}

static bool may_leave(const struct sandbox *s, const struct pool *p, const char *principal)
{
    const struct ward *w = s->owner;
    return s->profile == p->profile && s->leases == 0 && !w->leaving &&
           w->busy_until_ms <= loop_now_ms(p->b->loop) && strcmp(s->principal, principal) == 0;
}

bool evict_one(struct pool *p, const char *principal)
{
    struct sandbox *oldest = NULL;
    for (int state = SANDBOX_BOUND; state <= SANDBOX_IDLE; state++) {
        struct list *head = fleet_in_state(p->b->fleet, state);
        LIST_EACH(node, head)
        {
            struct sandbox *s = LIST_ENTRY(node, struct sandbox, by_state);
            if (may_leave(s, p, principal) &&
                (oldest == NULL || s->last_used_ms < oldest->last_used_ms))
                oldest = s;
        }
    }
    if (oldest == NULL)
        return false;
    struct ward *w = oldest->owner;
    w->leaving = true;
    holding_count(&w->holding, COUNTED_LEAVING);
    ask_status(w, asked, p->b);
    return true;
}
