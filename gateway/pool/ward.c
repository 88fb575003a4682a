// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

enum {
    REMOVAL_FIRST_MS = 250,
    REMOVAL_MOST_MS = 10 * 1000,
    REMOVALS_UNTIL_STUCK = 4,
    SESSIONS_MOST = 4096, // past it all are forgotten, and bound again when they come
    SILENT_MOST = 3,
};

static const char *const ending_names[] = {
#define X(name, text) [ENDING_##name] = text,
    ENDING_TABLE(X)
#undef X
};

const char *ending_name(enum ending ending)
{
    return ending_names[ending];
}

static void try_removal(struct timer *timer);

struct ward *ward_new(struct binder *b, const char *id, int64_t generation,
                      const struct profile *profile)
{
    struct ward *w = memory_new(sizeof *w);
    *w = (struct ward){.b = b, .sessions = table_new(), .removal_backoff_ms = REMOVAL_FIRST_MS};
    w->sandbox = sandbox_new(b->fleet, id, generation, profile);
    w->sandbox->owner = w;
    list_init(&w->leases);
    timer_init(&w->again, b->loop, try_removal);
    return w;
}

struct ward *ward_find(struct binder *b, struct span id)
{
    struct sandbox *s = fleet_find(b->fleet, id);
    return s != NULL ? s->owner : NULL;
}

static void unreserve(struct ward *w)
{
    pool_of(w->b, w->sandbox->profile)->reserved -= w->reserved;
    w->reserved = false;
}

void ward_forget(struct ward *w)
{
    timer_cancel(&w->again);
    for (struct list *node; (node = list_pop(&w->leases)) != NULL;)
        LIST_ENTRY(node, struct lease, node)->ward = NULL;
    table_free(w->sessions);
    free(w);
}

void ward_knows(struct ward *w, const char *session)
{
    static char known;
    if (table_count(w->sessions) >= SESSIONS_MOST) {
        table_free(w->sessions);
        w->sessions = table_new();
    }
    if (session[0] != '\0')
        table_put(w->sessions, span_from_string(session), &known);
}

int64_t ward_expires_ms(const struct ward *w)
{
    return w->sandbox->claimed_ms + w->sandbox->absolute_ms;
}

bool ward_is_over(const struct ward *w)
{
    return sandbox_is_bound(w->sandbox) && ward_expires_ms(w) <= store_now_ms(w->b->store);
}

void ward_keep(struct ward *w)
{
    const struct sandbox *s = w->sandbox;
    struct store *store = w->b->store;
    struct sandbox_record record = {.generation = s->generation,
                                    .created_ms = s->created_ms,
                                    .claimed_ms = s->claimed_ms,
                                    .idle_ms = s->idle_ms,
                                    .absolute_ms = s->absolute_ms};
    memcpy(record.id, s->id, sizeof record.id);
    memcpy(record.profile, s->profile->name, sizeof record.profile);
    memcpy(record.principal, s->principal, sizeof record.principal);
    memcpy(record.tenant, s->tenant, sizeof record.tenant);
    record.grants = s->grants;
    store_sandbox_put(store, &record, NULL, NULL);
    ward_count(w);
}

void ward_count(struct ward *w)
{
    const struct sandbox *s = w->sandbox;
    struct store *store = w->b->store;
    int64_t now = store_now_ms(store);
    if (!sandbox_is_bound(s))
        return;
    struct quota_bucket buckets[2];
    size_t count = owner_buckets(buckets, s->profile, s->principal, s->tenant);
    store_quota_add(store, buckets, count, s->id, NULL, NULL);
    int64_t unused_ms = loop_now_ms(w->b->loop) - s->last_used_ms;
    store_deadline_set(store, DEADLINE_IDLE, s->id, now + s->idle_ms - unused_ms, NULL, NULL);
    store_deadline_set(store, DEADLINE_ABSOLUTE, s->id, ward_expires_ms(w), NULL, NULL);
}

void ward_warm(struct ward *w, const char *why)
{
    struct sandbox *s = w->sandbox;
    struct store *store = w->b->store;
    sandbox_set_state(s, SANDBOX_WARM, why);
    ward_keep(w);
    store_warm_put(store, s->profile->name, s->id, NULL, NULL);
    store_deadline_set(store, DEADLINE_IDLE, s->id, store_now_ms(store) + s->profile->idle_ms, NULL,
                       NULL);
    loop_defer(w->b->loop, &w->b->janitor);
}

void ward_note(struct ward *w, const char *key)
{
    struct driver *driver = w->b->with.driver;
    char note[NOTE_SIZE];
    char label[VOLUME_LABEL_SIZE] = "";
    bool named = w->sandbox->volume_name[0] != '\0' &&
                 volume_label_seal(w->b, w->sandbox->volume_name, label) == 0;
    snprintf(note, sizeof note, "%s %s%s%s", key, w->sandbox->tenant, named ? " " : "", label);
    driver->ops->note(driver, w->sandbox->id, note);
}

static void count_with_owners(struct ward *w)
{
    const struct sandbox *s = w->sandbox;
    char principal[STORE_NAME_SIZE], tenant[STORE_NAME_SIZE];
    owner_key_of_principal(principal, s->principal, s->profile);
    owner_key_of_tenant(tenant, s->tenant, s->profile);
    holding_begin(&w->holding, owner_get(w->b->owners, principal), owner_get(w->b->owners, tenant));
}

void ward_met_warm(struct ward *w)
{
    struct sandbox *s = w->sandbox;
    struct store *store = w->b->store;
    sandbox_set_state(s, SANDBOX_WARM, "met");
    store_warm_put(store, s->profile->name, s->id, NULL, NULL); // its maker may have died over it
    store_deadline_set(store, DEADLINE_IDLE, s->id, store_now_ms(store) + s->profile->idle_ms, NULL,
                       NULL);
    loop_defer(w->b->loop, &w->b->janitor);
}

void ward_bound(struct ward *w, const struct ward_claim *claim, const char *why)
{
    struct sandbox *s = w->sandbox;
    span_copy_string(span_from_string(claim->principal), s->principal, sizeof s->principal);
    span_copy_string(span_from_string(claim->tenant), s->tenant, sizeof s->tenant);
    s->claimed_ms = claim->claimed_ms;
    s->idle_ms = claim->idle_ms;
    s->absolute_ms = claim->absolute_ms;
    unreserve(w);
    count_with_owners(w);
    s->last_used_ms = loop_now_ms(w->b->loop);
    sandbox_set_state(s, SANDBOX_BOUND, why);
}

// Removal -------------------------------------------------------------------------------------

static void gone(struct ward *w)
{
    struct binder *b = w->b;
    store_sandbox_delete(b->store, w->sandbox->id, NULL, NULL);
    holding_count(&w->holding, COUNTED_NOT);
    pool_of(b, w->sandbox->profile)->stuck -= w->stuck;
    if (w->unstarted)
        pool_reborn(pool_of(b, w->sandbox->profile), w->sandbox);
    sandbox_set_state(w->sandbox, SANDBOX_GONE, "removed");
    ward_forget(w);
    loop_defer(b->loop, &b->janitor);
}

// Nobody waits for it any more: it counts neither with its owners nor with its pool. Its record
// stays, so that it is still removed after a restart.
static void stuck(struct ward *w)
{
    struct store *store = w->b->store;
    struct sandbox *s = w->sandbox;
    struct sandbox_record record = {.generation = s->generation, .created_ms = s->created_ms};
    memcpy(record.id, s->id, sizeof record.id);
    memcpy(record.profile, s->profile->name, sizeof record.profile);
    w->stuck = true;
    pool_of(w->b, s->profile)->stuck++;
    holding_count(&w->holding, COUNTED_NOT);
    store_sandbox_delete(store, s->id, NULL, NULL); // takes it off its quotas
    store_sandbox_put(store, &record, NULL, NULL);
    loop_defer(w->b->loop, &w->b->janitor);
}

static void removed(void *owner, const struct driver_answer *answer, const struct failure *why)
{
    struct ward *w = owner; // nothing else frees one that is being removed
    (void)answer;
    if (why == NULL || why->fault == FAULT_NOT_FOUND) {
        gone(w);
        return;
    }
    LOG(LOG_WARN, "sandbox.remove", LOG_STRING("sandbox", w->sandbox->id), LOG_FAILURE(why));
    if (++w->removals == REMOVALS_UNTIL_STUCK)
        stuck(w);
    timer_start(&w->again, w->removal_backoff_ms);
    w->removal_backoff_ms *= 2;
    if (w->removal_backoff_ms > REMOVAL_MOST_MS)
        w->removal_backoff_ms = REMOVAL_MOST_MS;
}

static void try_removal(struct timer *timer)
{
    struct ward *w = CONTAINER_OF(timer, struct ward, again);
    struct driver *driver = w->b->with.driver;
    driver->ops->remove(driver, w->sandbox->id, w->sandbox->generation, removed, w);
}

static void tell_end(const struct sandbox *s, enum ending ending, const char *why)
{
    const struct ward *w = s->owner;
    metric_add(pool_of(w->b, s->profile)->ended[ending], 1);
    LOG(LOG_INFO, "sandbox.ended", LOG_STRING("sandbox", s->id),
        LOG_STRING("profile", s->profile->name), LOG_STRING("reason", ending_name(ending)),
        LOG_I64("age_ms", loop_now_ms(w->b->loop) - s->born_ms), LOG_STRING("why", why));
}

void ward_end(struct ward *w, enum ending ending, const char *why)
{
    struct sandbox *s = w->sandbox;
    struct binding *binding = w->binding;
    if (s->state == SANDBOX_DRAINING)
        return;
    if (s->state == SANDBOX_WARM)
        store_warm_remove(w->b->store, s->profile->name, s->id, NULL, NULL);
    if (ending == ENDING_LOST || ending == ENDING_UNSTARTED) {
        if (sandbox_is_bound(s))
            metric_add(w->b->lost, 1);
        sandbox_set_state(s, SANDBOX_FAILED, why);
    }
    unreserve(w);
    w->unstarted = ending == ENDING_UNSTARTED;
    holding_count(&w->holding, COUNTED_LEAVING);
    tell_end(s, ending, why);
    sandbox_set_state(s, SANDBOX_DRAINING, why);
    for (struct list *node; (node = list_pop(&w->leases)) != NULL;)
        LIST_ENTRY(node, struct lease, node)->ward = NULL;
    w->binding = NULL;
    if (binding != NULL)
        binding_sandbox_ended(binding, ending);
    timer_init(&w->again, w->b->loop, try_removal);
    timer_start(&w->again, 0);
    loop_defer(w->b->loop, &w->b->janitor);
}

void ward_disown(struct ward *w)
{
    struct binder *b = w->b;
    sandbox_set_state(w->sandbox, SANDBOX_DRAINING, "another replica's claim of it stands");
    holding_count(&w->holding, COUNTED_NOT);
    sandbox_set_state(w->sandbox, SANDBOX_GONE, "forgotten here");
    ward_forget(w);
    timer_start(&b->relist, 0); // to be met as what it is
}

// A worker ends itself at the end of either life, and may be first to notice.
enum ending ward_ending(const struct ward *w)
{
    enum { SLACK_MS = 1000 };
    const struct sandbox *s = w->sandbox;
    int64_t unused_ms = loop_now_ms(w->b->loop) - s->last_used_ms;
    if (ward_is_over(w))
        return ENDING_OVER;
    if (sandbox_is_bound(s) && s->leases == 0 && unused_ms + SLACK_MS >= s->idle_ms)
        return ENDING_IDLE;
    return ENDING_LOST;
}

// Doubt ---------------------------------------------------------------------------------------

// Then it has ended, and its next call need not wait for the driver to say so.
static bool is_deserted(struct ward *w)
{
    bool deserted = sandbox_is_deserted(w->sandbox);
    if (deserted)
        ward_end(w, ward_ending(w), "nobody listens on its link any more");
    return deserted;
}

static void looked_after(void *owner, struct ward *w, const struct worker_answer *answer,
                         const struct failure *why)
{
    struct binder *b = owner;
    (void)answer;
    if (w == NULL)
        return;
    w->suspected = false;
    if (why == NULL) {
        w->silent = 0;
        return;
    }
    if (!sandbox_is_alive(w->sandbox) || is_deserted(w))
        return;
    if (++w->silent >= SILENT_MOST)
        ward_end(w, ENDING_LOST, "its worker does not answer");
    else
        timer_start(&b->relist, 0); // the driver may know that it is gone
}

void ward_suspect(struct ward *w)
{
    if (w->suspected || !sandbox_is_alive(w->sandbox) || is_deserted(w))
        return;
    w->suspected = true;
    ask_status(w, looked_after, w->b);
}
