// SPDX-License-Identifier: Apache-2.0
// A request on its way to a lease: its session, then what it is bound to, then the worker.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

struct bind_wait *wait_new(struct binder *b, enum wait_kind kind, const struct principal *principal,
                           void *owner)
{
    struct bind_wait *w = memory_new(sizeof *w);
    w->b = b;
    w->kind = kind;
    w->owner = owner;
    span_copy_string(span_from_string(principal_hash(principal)), w->principal,
                     sizeof w->principal);
    span_copy_string(span_from_string(principal_tenant_hash(principal)), w->tenant,
                     sizeof w->tenant);
    list_append(&b->waits, &w->all);
    return w;
}

void wait_free(struct bind_wait *w)
{
    list_remove(&w->node);
    list_remove(&w->all);
    list_remove(&w->learner.node);
    asking_cancel(w->asking);
    if (w->naming != NULL)
        w->naming->wait = NULL;
    if (w->keeping != NULL)
        store_call_cancel(w->keeping);
    free(w);
}

void bind_wait_cancel(struct bind_wait *w)
{
    wait_free(w);
}

void wait_arrive(struct bind_wait *w)
{
    list_remove(&w->node);
    list_append(&w->b->arrivals, &w->node);
    loop_defer(w->b->loop, &w->b->janitor);
}

void wait_finish(struct bind_wait *w, const struct failure *why, int64_t retry_after_ms)
{
    struct bind_wait was = *w;
    wait_free(w);
    switch (was.kind) {
    case WAIT_LEASE:
    case WAIT_REACH:
        was.got(was.owner, NULL, why, retry_after_ms);
        break;
    case WAIT_CREATE:
        was.made(was.owner, SPAN_NONE, why, retry_after_ms);
        break;
    default:
        was.done(was.owner, why);
    }
}

static void refuse(struct bind_wait *w, enum fault fault, const char *text)
{
    struct failure why;
    failure_set(&why, fault, "%s", text);
    wait_finish(w, &why, 0);
}

static void give_lease(struct bind_wait *w, struct ward *ward)
{
    struct bind_wait was = *w;
    wait_free(w);
    was.got(was.owner, lease_new(ward, was.principal, was.session), NULL, 0);
}

static void joined(void *owner, struct ward *ward, const struct worker_answer *answer,
                   const struct failure *why)
{
    struct bind_wait *w = owner;
    (void)answer;
    w->asking = NULL;
    if (ward != NULL && why == NULL && sandbox_is_bound(ward->sandbox)) {
        ward_knows(ward, w->session);
        give_lease(w, ward);
        return;
    }
    // The worker's word decides: one that does not take its own principal is not ours any more.
    bool refused = why != NULL && (why->fault == FAULT_CONFLICT || why->fault == FAULT_NOT_FOUND ||
                                   why->fault == FAULT_UNAUTHENTICATED);
    if (ward != NULL && refused && strcmp(w->principal, ward->sandbox->principal) != 0) {
        refuse(w, FAULT_NOT_FOUND, "there is no such sandbox"); // its grant has ended
        return;
    }
    if (ward != NULL && refused && sandbox_is_bound(ward->sandbox))
        ward_end(ward, ENDING_LOST, "its worker refused its principal");
    if (ward != NULL)
        ward_suspect(ward);
    if (ward == NULL || !sandbox_is_bound(ward->sandbox)) {
        wait_arrive(w); // to be told what became of it
        return;
    }
    struct failure mine = *why;
    mine.fault = FAULT_UNAVAILABLE;
    failure_prefix(&mine, "the sandbox does not answer");
    wait_finish(w, &mine, 1000);
}

void wait_take(struct bind_wait *w, struct ward *ward)
{
    if (w->session[0] == '\0' || table_get(ward->sessions, span_from_string(w->session)) != NULL) {
        give_lease(w, ward);
        return;
    }
    list_remove(&w->node);
    w->asking = ask_bind(ward, w->principal, w->session, joined, w);
}

bool wait_is_view(const struct bind_wait *w)
{
    return w->sandbox[0] != '\0' || w->profile->bind == BIND_MODE_PRINCIPAL;
}

// Of what an unnamed sandbox is bound to.
static void key_of_target(char key[STORE_NAME_SIZE], const struct bind_wait *w)
{
    if (w->session[0] != '\0' && w->profile->bind == BIND_MODE_SESSION)
        key_of_session(key, w->session);
    else
        key_of_principal(key, w->principal, w->profile, w->volume);
}

// Where the request's calls go, if that is alive and known here.
static struct ward *target(const struct bind_wait *w)
{
    char key[STORE_NAME_SIZE];
    if (w->sandbox[0] != '\0')
        return ward_find(w->b, span_from_string(w->sandbox));
    key_of_target(key, w);
    struct binding *binding = binding_find(w->b, key);
    return binding != NULL ? binding->ward : NULL;
}

static void ended_kept(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct bind_wait *w = owner;
    (void)answer;
    (void)why; // who cannot keep it ends the sandbox all the same
    w->keeping = NULL;
    wait_finish(w, NULL, 0);
}

// Answers once the store has the end's record: should we die behind the answer, another replica
// ends the sandbox. The store answers in the order in which it was asked.
static void finish_kept(struct bind_wait *w, const char *key)
{
    list_remove(&w->node);
    w->keeping = store_binding_get(w->b->store, key, ended_kept, w);
}

static void end_named(struct bind_wait *w, struct ward *ward)
{
    struct binding_record r = {.state = BINDING_ENDED,
                               .generation = ward->sandbox->generation,
                               .until_ms = ward_expires_ms(ward)};
    key_of_named(r.key, ward->sandbox->id);
    memcpy(r.principal, ward->sandbox->principal, sizeof r.principal);
    memcpy(r.profile, ward->sandbox->profile->name, sizeof r.profile);
    memcpy(r.sandbox, ward->sandbox->id, sizeof r.sandbox);
    store_binding_put(w->b->store, &r, NULL, NULL);
    ward_end(ward, ENDING_DELETED, "its owner deleted it");
    finish_kept(w, r.key);
}

// One session of several on a sandbox: only the session ends.
static void end_view(struct bind_wait *w, struct binding *session)
{
    struct ward *ward = target(w);
    char key[STORE_NAME_SIZE];
    memcpy(key, session->record.key, sizeof key);
    binding_end(session);
    if (ward != NULL && sandbox_is_bound(ward->sandbox) &&
        table_remove(ward->sessions, span_from_string(w->session)) != NULL)
        w->b->with.workers->end_session(w->b->with.workers_user, ward->sandbox, w->session);
    finish_kept(w, key);
}

static void end_whole(struct bind_wait *w, struct binding *binding)
{
    struct ward *ward = binding->ward;
    char key[STORE_NAME_SIZE];
    memcpy(key, binding->record.key, sizeof key);
    if (ward != NULL)
        ward_end(ward, ENDING_DELETED, "its session was deleted"); // may free the binding
    else
        binding_end(binding);
    finish_kept(w, key);
}

static void settle_view(struct bind_wait *w, struct binding *session)
{
    if (w->kind == WAIT_END_SESSION) {
        end_view(w, session);
        return;
    }
    w->session_checked = true;
    wait_look_up(w);
}

static void settle_bound(struct bind_wait *w, struct binding *binding)
{
    if (w->kind == WAIT_CHECK)
        wait_finish(w, NULL, 0);
    else
        wait_take(w, binding->ward);
}

static void settle_free(struct bind_wait *w, struct binding *binding)
{
    if (w->kind == WAIT_CHECK)
        wait_finish(w, NULL, 0);
    else if (binding->phase == PHASE_WANTING)
        list_append(&binding->waiters, &w->node);
    else if (w->kind == WAIT_REACH)
        refuse(w, FAULT_LOST, "no sandbox is bound");
    else
        binding_want(binding, w);
}

// Whoever asked before the loss was told meant the old workspace: none of it may run in the new
// one.
static void mark_lost(const struct binding *binding)
{
    char key[STORE_NAME_SIZE];
    LIST_EACH(node, &binding->b->waits)
    {
        struct bind_wait *w = LIST_ENTRY(node, struct bind_wait, all);
        if (w->kind != WAIT_LEASE || w->sandbox[0] != '\0')
            continue;
        key_of_target(key, w);
        w->is_lost |= strcmp(key, binding->record.key) == 0 &&
                      strcmp(w->principal, binding->record.principal) == 0;
    }
}

static void settle_lost(struct bind_wait *w, struct binding *binding)
{
    if (w->kind == WAIT_LEASE && !w->is_lost) {
        mark_lost(binding);
        binding_told(binding);
    }
    refuse(w, FAULT_LOST, "the sandbox is gone, and its workspace with it; nothing ran");
}

void wait_settle(struct bind_wait *w, struct binding *binding)
{
    const struct binding_record *r = &binding->record;
    bool session_record = r->key[0] == 's';
    bool over = w->session[0] != '\0' && r->ended_ms != 0 && w->issued_ms <= r->ended_ms;
    if (over || r->state == BINDING_ENDED || strcmp(r->principal, w->principal) != 0) {
        refuse(w, FAULT_NOT_FOUND, "the session has ended, or never was");
        return;
    }
    if (session_record && wait_is_view(w)) {
        settle_view(w, binding);
        return;
    }
    if (w->kind == WAIT_END_SESSION) {
        end_whole(w, binding);
        return;
    }
    if (w->is_lost) {
        settle_lost(w, binding);
        return;
    }
    switch (r->state) {
    case BINDING_BOUND:
        settle_bound(w, binding);
        break;
    case BINDING_LOST:
        settle_lost(w, binding);
        break;
    default:
        settle_free(w, binding);
    }
}

static bool knows(const struct ward *ward, const struct bind_wait *w)
{
    return w->session[0] == '\0' || w->session_checked ||
           table_get(ward->sessions, span_from_string(w->session)) != NULL;
}

static void look_up_named(struct bind_wait *w);

static void learned(struct learner *l, const struct failure *why)
{
    struct bind_wait *w = CONTAINER_OF(l, struct bind_wait, learner);
    w->learned = true;
    if (why != NULL)
        wait_finish(w, why, 1000);
    else
        look_up_named(w);
}

static void confirmed(void *owner, struct ward *ward, const struct worker_answer *answer,
                      const struct failure *why)
{
    struct bind_wait *w = owner;
    w->asking = NULL;
    w->learned = true;
    if (ward != NULL && why == NULL && ward->sandbox->state == SANDBOX_WARM &&
        answer->status.principal[0] != '\0')
        ward_met_bound(ward, &answer->status);
    look_up_named(w);
}

static void look_up_named(struct bind_wait *w)
{
    char key[STORE_NAME_SIZE];
    struct ward *ward = target(w);
    bool unsure = !w->learned && store_is_shared(w->b->store);
    if (unsure && ward != NULL && ward->sandbox->state == SANDBOX_WARM) {
        list_remove(&w->node);
        w->asking = ask_status(ward, confirmed, w); // another replica may have bound it
        return;
    }
    if (ward == NULL && unsure) { // another replica's?
        list_remove(&w->node);
        w->learner = (struct learner){.told = learned};
        learn(w->b, &w->learner);
        return;
    }
    if (ward != NULL && ward_is_over(ward))
        ward_end(ward, ENDING_OVER, "its absolute life is over");
    bool is_owners = w->kind == WAIT_END_SANDBOX || w->kind == WAIT_GRANT;
    if (ward == NULL || !sandbox_serves(ward->sandbox, w->principal) ||
        (is_owners && strcmp(ward->sandbox->principal, w->principal) != 0)) {
        refuse(w, FAULT_NOT_FOUND, "there is no such sandbox");
        return;
    }
    w->profile = ward->sandbox->profile;
    if (w->kind == WAIT_END_SANDBOX) {
        end_named(w, ward);
    } else if (w->kind == WAIT_GRANT) {
        grant_start(w, ward);
    } else if (w->kind == WAIT_END_SESSION || !knows(ward, w)) {
        key_of_session(key, w->session);
        binding_bring(w->b, key, w);
    } else if (w->kind == WAIT_CHECK) {
        wait_finish(w, NULL, 0);
    } else {
        wait_take(w, ward);
    }
}

static void look_up_bound(struct bind_wait *w)
{
    char key[STORE_NAME_SIZE];
    struct ward *ward = target(w);
    if (ward != NULL && ward_is_over(ward)) {
        ward_end(ward, ENDING_OVER, "its absolute life is over");
        ward = NULL;
    }
    bool by_session = w->session[0] != '\0' && w->profile->bind == BIND_MODE_SESSION;
    bool known = ward != NULL ? knows(ward, w) : w->session[0] == '\0' || w->session_checked;
    if (by_session || w->kind == WAIT_END_SESSION || !known)
        key_of_session(key, w->session);
    else
        key_of_principal(key, w->principal, w->profile, w->volume);
    binding_bring(w->b, key, w);
}

void wait_look_up(struct bind_wait *w)
{
    if (w->kind == WAIT_CREATE) {
        naming_start(w);
        return;
    }
    if (w->session[0] != '\0' &&
        w->issued_ms + w->profile->absolute_ms <= store_now_ms(w->b->store)) {
        refuse(w, FAULT_NOT_FOUND, "the session's life is over");
        return;
    }
    if (w->sandbox[0] != '\0')
        look_up_named(w);
    else
        look_up_bound(w);
}
