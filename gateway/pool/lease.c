// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

static void rebind_too_late(struct task *task);

struct lease *lease_new(struct ward *ward, const char *principal, const char *session)
{
    struct sandbox *s = ward->sandbox;
    struct lease *l = memory_new(sizeof *l);
    l->ward = ward;
    l->loop = ward->b->loop;
    task_init(&l->late, rebind_too_late);
    memcpy(l->sandbox, s->id, sizeof l->sandbox);
    memcpy(l->session, session, sizeof l->session);
    memcpy(l->principal, principal, sizeof l->principal);
    memcpy(l->authorization, s->authorization, sizeof l->authorization);
    list_append(&ward->leases, &l->node);
    s->leases++;
    s->last_used_ms = loop_now_ms(ward->b->loop);
    if (s->state == SANDBOX_IDLE)
        sandbox_set_state(s, SANDBOX_BOUND, "a request");
    return l;
}

struct http_client *lease_link(const struct lease *l)
{
    return l->ward != NULL ? sandbox_link(l->ward->sandbox) : NULL;
}

const char *lease_authorization(const struct lease *l)
{
    return l->authorization;
}

const char *lease_sandbox(const struct lease *l)
{
    return l->sandbox;
}

static void rebound(void *owner, struct ward *ward, const struct worker_answer *answer,
                    const struct failure *why)
{
    struct lease *l = owner;
    struct failure ended;
    (void)answer;
    l->asking = NULL;
    if (why == NULL && l->ward != NULL)
        ward_knows(ward, l->session);
    else if (ward != NULL && why != NULL && why->fault == FAULT_CONFLICT) {
        if (strcmp(l->principal, ward->sandbox->principal) == 0)
            ward_end(ward, ENDING_LOST, "its worker refused its principal");
        else if (failure_set(&ended, FAULT_NOT_FOUND, "its grant has ended") != 0)
            why = &ended;
    }
    l->again(l->owner, why);
}

static void rebind_too_late(struct task *task)
{
    struct lease *l = CONTAINER_OF(task, struct lease, late);
    struct failure why;
    failure_set(&why, FAULT_LOST, "the sandbox is gone");
    l->again(l->owner, &why);
}

void lease_rebind(struct lease *l, void (*again)(void *owner, const struct failure *why),
                  void *owner)
{
    l->again = again;
    l->owner = owner;
    if (l->ward == NULL) {
        loop_defer(l->loop, &l->late);
        return;
    }
    table_remove(l->ward->sessions, span_from_string(l->session));
    l->asking = ask_bind(l->ward, l->principal, l->session, rebound, l);
}

void lease_report_lost(struct lease *l, const struct failure *why)
{
    (void)why;
    if (l->ward != NULL)
        ward_suspect(l->ward);
}

void lease_release(struct lease *l)
{
    struct ward *ward = l->ward;
    asking_cancel(l->asking);
    task_cancel(&l->late);
    list_remove(&l->node);
    if (ward != NULL) {
        ward->sandbox->leases--;
        ward->sandbox->last_used_ms = loop_now_ms(ward->b->loop);
    }
    memory_wipe(l->authorization, sizeof l->authorization);
    free(l);
}
