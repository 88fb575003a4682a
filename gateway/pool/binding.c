// SPDX-License-Identifier: Apache-2.0
// What a session, or a principal on a profile, is bound to. Cached while it is bound or somebody
// waits for it; the store has all of them.
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

// Each request makes a key or two; the parts are of bounded sizes that fit together.
static void join(char out[STORE_NAME_SIZE], const char *const *parts, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = strnlen(parts[i], STORE_NAME_SIZE - 1 - at);
        memcpy(out + at, parts[i], size);
        at += size;
    }
    out[at] = '\0';
}

void key_of_session(char out[STORE_NAME_SIZE], const char *session)
{
    const char *const parts[] = {"s:", session};
    join(out, parts, ARRAY_COUNT(parts));
}

void key_of_principal(char out[STORE_NAME_SIZE], const char *principal,
                      const struct profile *profile, const char *volume)
{
    const char *const parts[] = {"p:", principal, ":", profile->name, "~", volume};
    join(out, parts, volume[0] != '\0' ? 6 : 4);
}

void key_of_named(char out[STORE_NAME_SIZE], const char *sandbox)
{
    snprintf(out, STORE_NAME_SIZE, "n:%s", sandbox);
}

static bool is_session(const struct binding *binding)
{
    return binding->record.key[0] == 's';
}

struct binding *binding_find(struct binder *b, const char *key)
{
    return table_get(b->bindings, span_from_string(key));
}

static struct binding *binding_new(struct binder *b, const char *key, const char *principal,
                                   const struct profile *profile)
{
    struct binding *binding = memory_new(sizeof *binding);
    *binding = (struct binding){.b = b, .profile = profile, .record = {.state = BINDING_FREE}};
    struct binding_record *r = &binding->record;
    span_copy_string(span_from_string(key), r->key, sizeof r->key);
    span_copy_string(span_from_string(principal), r->principal, sizeof r->principal);
    memcpy(r->profile, profile->name, sizeof r->profile);
    list_init(&binding->waiters);
    table_put(b->bindings, span_from_string(key), binding);
    return binding;
}

void binding_free(struct binding *binding)
{
    list_remove(&binding->learner.node);
    if (binding->ward != NULL) {
        binding->ward->binding = NULL;
        metric_add(binding->b->sessions, -1);
    }
    table_remove(binding->b->bindings, span_from_string(binding->record.key));
    free(binding);
}

void binding_release(struct binding *binding)
{
    if (binding->held == 0 && binding->ward == NULL && binding->phase == PHASE_SETTLED &&
        list_is_empty(&binding->waiters))
        binding_free(binding);
}

static void keep(struct binding *binding)
{
    store_binding_put(binding->b->store, &binding->record, NULL, NULL);
}

static void attach(struct binding *binding, struct ward *ward)
{
    struct binding_record *r = &binding->record;
    binding->ward = ward;
    ward->binding = binding;
    r->state = BINDING_BOUND;
    memcpy(r->sandbox, ward->sandbox->id, sizeof r->sandbox);
    r->generation = ward->sandbox->generation;
    metric_add(binding->b->sessions, 1);
}

static void fail_waiters(struct binding *binding, const struct failure *why, int64_t retry_after_ms)
{
    for (struct list *node; (node = list_pop(&binding->waiters)) != NULL;)
        wait_finish(LIST_ENTRY(node, struct bind_wait, node), why, retry_after_ms);
}

static void settle_waiters(struct binding *binding)
{
    struct list waiting;
    list_init(&waiting);
    binding->held++;
    for (struct list *node; (node = list_pop(&binding->waiters)) != NULL;)
        list_append(&waiting, node);
    for (struct list *node; (node = list_pop(&waiting)) != NULL;)
        wait_settle(LIST_ENTRY(node, struct bind_wait, node), binding);
    binding->held--;
    binding_release(binding);
}

// Ending --------------------------------------------------------------------------------------

static void record_end(struct binding *binding, enum ending ending)
{
    struct binding_record *r = &binding->record;
    int64_t now = store_now_ms(binding->b->store);
    bool lost = ending == ENDING_LOST || ending == ENDING_IDLE;
    if (!is_session(binding)) // as long as a session that saw it may live
        r->until_ms = now + binding->profile->absolute_ms;
    if (lost && binding->profile->on_loss == ON_LOSS_REPLACE) {
        r->state = BINDING_LOST;
    } else if (is_session(binding)) {
        r->state = BINDING_ENDED;
    } else {
        // Other sessions of this principal may begin anew; those that exist are over.
        r->state = BINDING_FREE;
        r->ended_ms = now;
    }
    keep(binding);
}

void binding_sandbox_ended(struct binding *binding, enum ending ending)
{
    binding->ward = NULL;
    metric_add(binding->b->sessions, -1);
    // What another replica made of it meanwhile counts; who loads it next sees that it is lost.
    if (ending != ENDING_LOST || !store_is_shared(binding->b->store))
        record_end(binding, ending);
    binding_release(binding);
}

void binding_end(struct binding *binding)
{
    struct failure why;
    binding->record.state = BINDING_ENDED;
    keep(binding);
    failure_set(&why, FAULT_NOT_FOUND, "the session has ended");
    fail_waiters(binding, &why, 0);
}

void binding_told(struct binding *binding)
{
    binding->record.state = BINDING_FREE;
    keep(binding);
}

// Loading -------------------------------------------------------------------------------------

static struct ward *live_ward(const struct binding *binding)
{
    const struct binding_record *r = &binding->record;
    struct ward *w = ward_find(binding->b, span_from_string(r->sandbox));
    bool same = w != NULL && sandbox_is_bound(w->sandbox) &&
                w->sandbox->generation == r->generation &&
                strcmp(w->sandbox->principal, r->principal) == 0;
    return same ? w : NULL;
}

static void fail_loading(struct binding *binding, const struct failure *why)
{
    binding->phase = PHASE_SETTLED;
    fail_waiters(binding, why, 1000);
    binding_release(binding);
}

static void settle_loaded(struct binding *binding, struct ward *ward)
{
    binding->phase = PHASE_SETTLED;
    if (ward != NULL)
        attach(binding, ward);
    else if (binding->record.state == BINDING_BOUND)
        record_end(binding, ENDING_LOST);
    settle_waiters(binding);
}

// Where the store cannot be asked, the note beside the sandbox says it, and its worker confirmed to
// whom it is bound.
static struct ward *noted_ward(struct binding *binding)
{
    return ward_of_note(binding->b, binding->record.key, binding->record.principal);
}

static void learned(struct learner *l, const struct failure *why)
{
    struct binding *binding = CONTAINER_OF(l, struct binding, learner);
    struct failure mine;
    struct ward *ward = binding->unasked ? noted_ward(binding) : live_ward(binding);
    if (ward == NULL && why != NULL) {
        fail_loading(binding, why);
    } else if (ward == NULL && binding->unasked) {
        failure_set(&mine, FAULT_UNAVAILABLE, "the store cannot be asked for the session");
        fail_loading(binding, &mine);
    } else {
        settle_loaded(binding, ward);
    }
}

// Warm as far as was known here: another replica bound it since.
static void confirmed(void *owner, struct ward *ward, const struct worker_answer *answer,
                      const struct failure *why)
{
    struct binding *binding = owner;
    struct failure mine;
    if (ward != NULL && why != NULL) {
        mine = *why;
        mine.fault = FAULT_UNAVAILABLE;
        failure_prefix(&mine, "the sandbox does not answer");
        fail_loading(binding, &mine);
        return;
    }
    if (ward != NULL && ward->sandbox->state == SANDBOX_WARM &&
        answer->status.principal[0] != '\0') {
        memcpy(ward->note, binding->record.key, sizeof ward->note);
        ward_met_bound(ward, &answer->status);
    }
    settle_loaded(binding, live_ward(binding));
}

static void loaded(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct binding *binding = owner;
    struct ward *warm;
    bool shared = store_is_shared(binding->b->store);
    if (why == NULL)
        binding->record = answer->binding;
    binding->unasked = why != NULL && why->fault != FAULT_NOT_FOUND;
    if (binding->unasked && !shared) {
        fail_loading(binding, why);
        return;
    }
    bool bound = binding->record.state == BINDING_BOUND;
    struct ward *ward = binding->unasked ? noted_ward(binding) : bound ? live_ward(binding) : NULL;
    warm = ward == NULL && shared && bound
               ? ward_find(binding->b, span_from_string(binding->record.sandbox))
               : NULL;
    if (warm != NULL && warm->sandbox->state == SANDBOX_WARM) {
        ask_status(warm, confirmed, binding);
        return;
    }
    if (ward == NULL && shared && (bound || binding->unasked)) { // another replica's?
        binding->learner = (struct learner){.told = learned};
        learn(binding->b, &binding->learner);
        return;
    }
    settle_loaded(binding, ward);
}

// How long the record is kept: as long as its session may live, or its sandbox.
static int64_t until_ms(struct binder *b, const struct bind_wait *w)
{
    int64_t from = w->session[0] != '\0' ? w->issued_ms : store_now_ms(b->store);
    return from + w->profile->absolute_ms;
}

void binding_bring(struct binder *b, const char *key, struct bind_wait *w)
{
    struct binding *binding = binding_find(b, key);
    if (binding == NULL) {
        binding = binding_new(b, key, w->principal, w->profile);
        binding->record.until_ms = until_ms(b, w);
        store_binding_get(b->store, key, loaded, binding);
    }
    if (binding->phase == PHASE_LOADING) {
        list_append(&binding->waiters, &w->node);
        return;
    }
    binding->held++;
    wait_settle(w, binding);
    binding->held--;
    binding_release(binding);
}

void binding_was_deleted(struct binder *b, const struct binding_record *r)
{
    struct ward *ward = ward_find(b, span_from_string(r->sandbox));
    bool all_of_it = r->key[0] == 'n' || (r->key[0] == 's' && ward != NULL &&
                                          ward->sandbox->profile->bind == BIND_MODE_SESSION);
    if (ward != NULL && all_of_it && sandbox_is_bound(ward->sandbox) &&
        ward->sandbox->generation == r->generation)
        ward_end(ward, ENDING_DELETED, "it was deleted");
}

static void asked_deleted(void *owner, const struct store_answer *answer, const struct failure *why)
{
    if (why == NULL && answer->binding.state == BINDING_ENDED)
        binding_was_deleted(owner, &answer->binding);
}

void binding_ask_deleted(struct ward *ward)
{
    char key[STORE_NAME_SIZE];
    key_of_named(key, ward->sandbox->id);
    store_binding_get(ward->b->store, key, asked_deleted, ward->b);
}

static void noted(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct binding *binding = owner;
    struct binding_record *r = &binding->record;
    // An empty store knows nothing of it; the note beside the sandbox does.
    if (why != NULL && why->fault == FAULT_NOT_FOUND) {
        struct ward *ward = ward_find(binding->b, span_from_string(r->sandbox));
        if (ward != NULL && sandbox_is_bound(ward->sandbox)) {
            r->state = BINDING_BOUND;
            r->until_ms = ward_expires_ms(ward);
            keep(binding);
            struct store_answer mine = {.binding = *r};
            loaded(binding, &mine, NULL);
            return;
        }
    }
    if (why == NULL && answer->binding.state == BINDING_ENDED)
        binding_was_deleted(binding->b, &answer->binding);
    loaded(binding, answer, why);
}

void binding_of_note(struct ward *ward)
{
    struct binder *b = ward->b;
    const struct sandbox *s = ward->sandbox;
    bool known_kind = strncmp(ward->note, "s:", 2) == 0 || strncmp(ward->note, "p:", 2) == 0;
    if (strncmp(ward->note, "n:", 2) == 0)
        binding_ask_deleted(ward);
    if (!known_kind || !store_name_is_valid(span_from_string(ward->note)) ||
        binding_find(b, ward->note) != NULL)
        return;
    struct binding *binding = binding_new(b, ward->note, s->principal, s->profile);
    memcpy(binding->record.sandbox, s->id, sizeof binding->record.sandbox);
    binding->record.generation = s->generation;
    store_binding_get(b->store, ward->note, noted, binding);
}

// Wanting a sandbox ---------------------------------------------------------------------------

// Another replica may have bound the same session meanwhile: the first record counts, and a sandbox
// that came second was not used.
static void recorded(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct binding *binding = owner;
    struct ward *ward = ward_find(binding->b, span_from_string(binding->want.popped));
    bool lives = ward != NULL && sandbox_is_bound(ward->sandbox);
    if (why != NULL && lives)
        ward_end(ward, ENDING_UNUSED, "its session was bound by another replica");
    if (why != NULL && why->fault == FAULT_CONFLICT) {
        loaded(binding, answer, NULL);
    } else if (why != NULL) {
        fail_loading(binding, why);
    } else if (binding->record.state == BINDING_ENDED) { // deleted while it was under way
        if (lives)
            ward_end(ward, ENDING_DELETED, "its session was deleted");
        keep(binding);
        settle_loaded(binding, NULL);
    } else if (lives) {
        settle_loaded(binding, ward);
    } else {
        binding->record.state = BINDING_LOST;
        keep(binding);
        settle_loaded(binding, NULL);
    }
}

static void claim_record(struct binding *binding, const struct sandbox *s)
{
    struct binding_record r = binding->record;
    r.state = BINDING_BOUND;
    memcpy(r.sandbox, s->id, sizeof r.sandbox);
    r.generation = s->generation;
    memcpy(binding->want.popped, s->id, sizeof binding->want.popped);
    binding->phase = PHASE_LOADING;
    store_binding_claim(binding->b->store, &r, recorded, binding);
}

// Another replica may have bound this very session to the sandbox that has the volume.
struct elsewhere {
    struct binding *binding;
    struct failure why;
    int64_t retry_after_ms;
};

static void looked_elsewhere(void *owner, const struct store_answer *answer,
                             const struct failure *why)
{
    struct elsewhere *e = owner;
    struct binding *binding = e->binding;
    if (why == NULL && answer->binding.state == BINDING_BOUND) {
        loaded(binding, answer, NULL);
    } else {
        binding->phase = PHASE_SETTLED;
        fail_waiters(binding, &e->why, e->retry_after_ms);
        binding_release(binding);
    }
    free(e);
}

static void volume_is_elsewhere(struct binding *binding, const struct failure *why,
                                int64_t retry_after_ms)
{
    struct elsewhere *e = memory_new(sizeof *e);
    *e = (struct elsewhere){.binding = binding, .why = *why, .retry_after_ms = retry_after_ms};
    binding->phase = PHASE_LOADING;
    store_binding_get(binding->b->store, binding->record.key, looked_elsewhere, e);
}

static void got_sandbox(struct want *want, struct sandbox *s, const struct failure *why,
                        int64_t retry_after_ms)
{
    struct binding *binding = CONTAINER_OF(want, struct binding, want);
    binding->phase = PHASE_SETTLED;
    if (s == NULL && why->fault == FAULT_CONFLICT && store_is_shared(binding->b->store)) {
        volume_is_elsewhere(binding, why, retry_after_ms);
        return;
    }
    if (s == NULL) {
        fail_waiters(binding, why, retry_after_ms);
        binding_release(binding);
        return;
    }
    if (binding->record.state == BINDING_ENDED) { // deleted while it was under way
        ward_end(s->owner, ENDING_DELETED, "its session was deleted");
        settle_waiters(binding);
        return;
    }
    if (!is_session(binding))
        binding->record.until_ms = ward_expires_ms(s->owner);
    if (store_is_shared(binding->b->store)) {
        claim_record(binding, s);
        return;
    }
    attach(binding, s->owner);
    keep(binding);
    settle_waiters(binding);
}

void binding_want(struct binding *binding, struct bind_wait *w)
{
    struct want *want = &binding->want;
    const struct profile *profile = binding->profile;
    list_append(&binding->waiters, &w->node);
    binding->phase = PHASE_WANTING;
    *want = (struct want){.pool = pool_of(binding->b, profile),
                          .idle_ms = profile->idle_ms,
                          .absolute_ms = profile->absolute_ms,
                          .done = got_sandbox};
    memcpy(want->principal, w->principal, sizeof want->principal);
    memcpy(want->tenant, w->tenant, sizeof want->tenant);
    memcpy(want->session, w->session, sizeof want->session);
    memcpy(want->note, binding->record.key, sizeof want->note);
    memcpy(want->volume, w->volume, sizeof want->volume);
    want_start(want);
}
