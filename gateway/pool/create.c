// SPDX-License-Identifier: Apache-2.0
// Sandboxes that are made on request and reached by name.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/pool/state.h"

static void made(struct want *want, struct sandbox *s, const struct failure *why,
                 int64_t retry_after_ms)
{
    struct naming *n = CONTAINER_OF(want, struct naming, want);
    struct bind_wait *w = n->wait;
    list_remove(&n->node);
    free(n);
    // With nobody waiting any more it lives on: its owner finds it in the list.
    if (w == NULL)
        return;
    w->naming = NULL;
    if (s == NULL) {
        wait_finish(w, why, retry_after_ms);
        return;
    }
    struct bind_wait was = *w;
    wait_free(w);
    was.made(was.owner, span_from_string(s->id), NULL, 0);
}

void naming_start(struct bind_wait *w)
{
    struct naming *n = memory_new(sizeof *n);
    *n = (struct naming){.wait = w,
                         .want = {.pool = pool_of(w->b, w->profile),
                                  .idle_ms = w->idle_ms,
                                  .absolute_ms = w->absolute_ms,
                                  .done = made,
                                  .note = "n:"}};
    memcpy(n->want.principal, w->principal, sizeof n->want.principal);
    memcpy(n->want.tenant, w->tenant, sizeof n->want.tenant);
    memcpy(n->want.volume, w->volume, sizeof n->want.volume);
    w->naming = n;
    list_append(&w->b->namings, &n->node);
    want_start(&n->want);
}

static void show(const struct ward *ward, struct sandbox_view *out)
{
    const struct sandbox *s = ward->sandbox;
    *out = (struct sandbox_view){.profile = s->profile->name,
                                 .state = sandbox_state_name(s->state),
                                 .created_ms = s->claimed_ms,
                                 .expires_ms = ward_expires_ms(ward),
                                 .idle_ms = s->idle_ms};
    memcpy(out->id, s->id, sizeof out->id);
    memcpy(out->volume, s->volume_name, sizeof out->volume);
}

static bool is_owned(const struct ward *ward, const char *principal)
{
    return sandbox_is_bound(ward->sandbox) && !ward_is_over(ward) &&
           strcmp(ward->sandbox->principal, principal) == 0;
}

bool binder_show_sandbox(struct binder *b, const struct principal *principal, struct span sandbox,
                         struct sandbox_view *out)
{
    struct ward *ward = ward_find(b, sandbox);
    if (ward == NULL || !is_owned(ward, principal_hash(principal)))
        return false;
    show(ward, out);
    return true;
}

size_t binder_list_sandboxes(struct binder *b, const struct principal *principal,
                             struct sandbox_view *out, size_t room)
{
    size_t count = 0;
    for (int state = SANDBOX_BOUND; state <= SANDBOX_IDLE; state++) {
        struct list *head = fleet_in_state(b->fleet, state);
        LIST_EACH(node, head)
        {
            const struct ward *ward = LIST_ENTRY(node, struct sandbox, by_state)->owner;
            if (!is_owned(ward, principal_hash(principal)))
                continue;
            if (count < room)
                show(ward, &out[count]);
            count++;
        }
    }
    return count;
}
