// SPDX-License-Identifier: Apache-2.0
// An owner lets another principal use its sandbox, or no longer. The worker is told first when a
// grant is made and last when one is taken back, so that it is never refused what we let through.
#include "gateway/lib/telemetry/log.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

bool binder_serves_sandbox(struct binder *b, const struct principal *principal, struct span sandbox)
{
    const struct ward *ward = ward_find(b, sandbox);
    if (!b->adopted || (ward == NULL && store_is_shared(b->store)))
        return true; // who asks for it will wait, and then be told
    return ward != NULL && sandbox_serves(ward->sandbox, principal_hash(principal));
}

struct bind_wait *binder_grant_sandbox(struct binder *b, const struct principal *principal,
                                       struct span sandbox, const char *grantee, bool is_granted,
                                       void (*done)(void *owner, const struct failure *why),
                                       void *owner)
{
    struct bind_wait *w = wait_new(b, WAIT_GRANT, principal, owner);
    w->done = done;
    w->is_granted = is_granted;
    span_copy_string(span_from_string(grantee), w->grantee, sizeof w->grantee);
    if (!span_copy_string(sandbox, w->sandbox, sizeof w->sandbox) || w->sandbox[0] == '\0')
        memcpy(w->sandbox, "none", sizeof "none");
    wait_arrive(w);
    return w;
}

static const struct failure *no_such_grant(struct failure *why)
{
    failure_set(why, FAULT_NOT_FOUND, "there is no such grant");
    return why;
}

static const struct failure *too_many(struct failure *why)
{
    failure_set(why, FAULT_QUOTA, "a sandbox has at most %d grants", LINK_GRANTS_MOST);
    return why;
}

static void told(void *owner, struct ward *ward, const struct worker_answer *answer,
                 const struct failure *why)
{
    struct bind_wait *w = owner;
    struct failure mine;
    (void)answer;
    w->asking = NULL;
    if (why == NULL && w->is_granted) {
        if (sandbox_grants_add(&ward->sandbox->grants, w->grantee))
            ward_keep(ward);
        else
            why = too_many(&mine);
    } else if (why != NULL && why->fault == FAULT_NOT_FOUND && !w->is_granted) {
        why = w->was_granted ? NULL : no_such_grant(&mine);
    }
    if (why == NULL)
        LOG(LOG_INFO, w->is_granted ? "sandbox.granted" : "sandbox.revoked",
            LOG_STRING("sandbox", w->sandbox));
    wait_finish(w, why, 0);
}

// A grant that is not in the record is still taken back from the worker: an earlier order may have
// got no answer.
void grant_start(struct bind_wait *w, struct ward *ward)
{
    struct sandbox_grants *grants = &ward->sandbox->grants;
    struct failure why;
    w->was_granted = sandbox_grants_has(grants, w->grantee);
    if (w->is_granted && !w->was_granted && grants->count == LINK_GRANTS_MOST) {
        wait_finish(w, too_many(&why), 0);
        return;
    }
    if (!w->is_granted && w->was_granted) {
        sandbox_grants_remove(grants, w->grantee);
        ward_keep(ward);
    }
    list_remove(&w->node);
    w->asking = ask_grant(ward, w->grantee, w->is_granted, told, w);
}
