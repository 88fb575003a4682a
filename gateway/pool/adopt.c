// SPDX-License-Identifier: Apache-2.0
// Compares what the driver has with what is known here: at the start, whenever its stream of events
// stands again, and when a worker falls silent. What is found unknown is asked, and its answer
// alone decides; what cannot answer is removed, but after an empty store not before a grace period.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

enum {
    ASK_MOST = 3,
    ASK_AGAIN_MS = 300,
    RELIST_MS = 1000,
    PATIENCE_MS = 2000,
};

static void in_trouble(struct binder *b, const struct failure *why)
{
    if (b->trouble.fault == 0) {
        LOG(LOG_WARN, "driver.away", LOG_FAILURE(why));
        b->trouble_since_ms = loop_now_ms(b->loop);
        timer_start(&b->patience, PATIENCE_MS);
    }
    b->trouble = *why;
    failure_prefix(&b->trouble, "driver");
}

static void patience_ends(struct timer *timer)
{
    struct binder *b = CONTAINER_OF(timer, struct binder, patience);
    loop_defer(b->loop, &b->janitor);
}

bool driver_is_away(const struct binder *b)
{
    return b->trouble.fault != 0 && loop_now_ms(b->loop) - b->trouble_since_ms >= PATIENCE_MS;
}

static bool is_in_grace(const struct binder *b)
{
    return loop_now_ms(b->loop) < b->grace_until_ms;
}

static void adoption_may_be_over(struct binder *b)
{
    if (b->adopting > 0)
        return;
    if (!b->listing)
        learn_finish(b, NULL);
    if (b->adopted)
        return;
    b->adopted = true;
    cards_tidy(b);
    free(b->kept);
    b->kept = NULL;
    b->kept_count = 0;
    LOG(LOG_INFO, "binder.ready", LOG_I64("bindings", (int64_t)table_count(b->bindings)));
    loop_defer(b->loop, &b->janitor);
}

static void settled(struct ward *w)
{
    struct binder *b = w->b;
    b->adopting--;
    adoption_may_be_over(b);
}

static const struct sandbox_record *kept_record(const struct binder *b, const char *id)
{
    for (size_t i = 0; i < b->kept_count; i++)
        if (strcmp(b->kept[i].id, id) == 0)
            return &b->kept[i];
    return NULL;
}

// Its record is the business of the replica that serves it.
static bool is_known(const struct binder *b, const struct ward *w)
{
    return store_is_shared(b->store) && (b->adopted || kept_record(b, w->sandbox->id) != NULL);
}

void ward_met_bound(struct ward *w, const struct link_status *status)
{
    struct binder *b = w->b;
    const struct profile *profile = w->sandbox->profile;
    const struct sandbox_record *kept = kept_record(b, w->sandbox->id);
    bool matches = kept != NULL && strcmp(kept->principal, status->principal) == 0;
    int64_t idle_ms = matches ? kept->idle_ms : profile->idle_ms;
    int64_t absolute_ms = matches ? kept->absolute_ms : profile->absolute_ms;
    int64_t left = status->absolute_left_ms;
    if (left < 0 || left > absolute_ms)
        left = absolute_ms;
    int64_t claimed_ms = store_now_ms(b->store) + left - absolute_ms;
    const struct ward_claim claim = {.principal = status->principal,
                                     .tenant = matches ? kept->tenant : w->sandbox->tenant,
                                     .claimed_ms = claimed_ms,
                                     .idle_ms = idle_ms,
                                     .absolute_ms = absolute_ms};
    ward_bound(w, &claim, "adopted");
    if (matches)
        w->sandbox->grants = kept->grants;
    if (status->idle_ms > 0)
        w->sandbox->last_used_ms -= status->idle_ms;
    if (is_known(b, w))
        ward_count(w);
    else
        ward_keep(w);
    binding_of_note(w);
}

static void asked(void *owner, struct ward *w, const struct worker_answer *answer,
                  const struct failure *why);

static void ask_now(struct timer *timer)
{
    struct ward *w = CONTAINER_OF(timer, struct ward, again);
    unsigned char secret[LINK_SECRET_BYTES];
    if (!sandbox_set_secret(w->sandbox, w->key, secret)) {
        settled(w);
        ward_end(w, ENDING_LOST, "found, but no key of ours opens it");
        return;
    }
    memory_wipe(secret, sizeof secret);
    ask_status(w, asked, w->b);
}

// Whatever went wrong with our memory: it takes a while until everything that runs was deleted.
static int64_t sweep_wait_us(struct binder *b)
{
    enum { A_MINUTE = 600, AT_ONCE = 20 };
    return pace_take(&b->sweeping, loop_now_us(b->loop), A_MINUTE, AT_ONCE);
}

static void no_answer(struct ward *w, const struct failure *why)
{
    struct binder *b = w->b;
    if (why->fault == FAULT_UNAUTHENTICATED) {
        w->key++; // made under an older key
        timer_start(&w->again, 0);
    } else if (++w->asked < ASK_MOST) {
        timer_start(&w->again, ASK_AGAIN_MS);
    } else if (is_in_grace(b)) {
        if (w->asked == ASK_MOST)
            settled(w); // the rest need not wait for it
        timer_start(&w->again, ASK_AGAIN_MS * 10);
    } else {
        int64_t wait_us = sweep_wait_us(b);
        if (w->asked <= ASK_MOST)
            settled(w);
        w->asked = ASK_MOST + 1;
        if (wait_us > 0)
            timer_start(&w->again, wait_us / 1000 + ASK_AGAIN_MS);
        else
            ward_end(w, ENDING_LOST, "found, but it does not answer");
    }
}

static void asked(void *owner, struct ward *w, const struct worker_answer *answer,
                  const struct failure *why)
{
    struct binder *b = owner;
    if (w == NULL || w->sandbox->state != SANDBOX_CREATING) {
        if (w == NULL || w->asked <= ASK_MOST)
            b->adopting--;
        adoption_may_be_over(b);
        return;
    }
    if (why != NULL) {
        no_answer(w, why);
        return;
    }
    const struct link_status *status = &answer->status;
    bool early = w->asked <= ASK_MOST;
    if (strcmp(status->sandbox, w->sandbox->id) != 0 ||
        status->generation != w->sandbox->generation) {
        ward_end(w, ENDING_LOST, "found, but it says that it is another");
    } else if (status->principal[0] == '\0' && w->sandbox->volume[0] != '\0') {
        ward_end(w, ENDING_UNUSED, "it has a volume, and its worker is nobody's");
    } else if (status->principal[0] == '\0') {
        metric_add(b->adoptions, 1);
        if (is_known(b, w))
            ward_met_warm(w);
        else
            ward_warm(w, "adopted");
        card_ask(w);
    } else {
        metric_add(b->adoptions, 1);
        ward_met_bound(w, status);
        card_ask(w);
    }
    if (early)
        settled(w);
}

static void take_note(struct ward *w, const struct driver_record *record)
{
    struct span note = span_from_string(record->note);
    span_copy_string(span_split(&note, ' '), w->note, sizeof w->note);
    if (!span_is_absent(note))
        span_copy_string(span_split(&note, ' '), w->sandbox->tenant, sizeof w->sandbox->tenant);
    if (!span_is_absent(note))
        volume_label_open(w->b, note, w->sandbox->volume_name);
}

static void adopt(struct binder *b, const struct driver_record *record,
                  const struct profile *profile)
{
    struct ward *w = ward_new(b, record->id, record->generation, profile);
    struct sandbox *s = w->sandbox;
    s->created_ms = record->created_ms;
    int64_t age_ms = clock_wall_ms(loop_clock(b->loop)) - record->created_ms;
    s->born_ms -= age_ms > 0 ? age_ms : 0; // a wall clock that was set back makes nobody younger
    memcpy(s->revision, record->revision, sizeof s->revision);
    memcpy(s->endpoint, record->endpoint, sizeof s->endpoint);
    memcpy(s->digest, record->digest, sizeof s->digest);
    memcpy(s->volume, record->volume, sizeof s->volume);
    take_note(w, record);
    timer_init(&w->again, b->loop, ask_now);
    timer_start(&w->again, 0);
    b->adopting++;
}

// Nothing that could ever be served: of a profile we do not have, dead, or half made.
static void remove_unknown(struct binder *b, const struct driver_record *record, const char *why)
{
    const struct profile *profile = config_profile(b->with.config, record->profile);
    if (is_in_grace(b) && record->state != DRIVER_STATE_EXITED)
        return;
    int64_t wait_us = sweep_wait_us(b);
    if (wait_us > 0) { // it is met again then
        timer_start(&b->relist, wait_us / 1000 + 1000);
        return;
    }
    if (profile == NULL)
        profile = &b->with.config->profiles[0]; // something has to count it while it goes
    struct ward *w = ward_new(b, record->id, record->generation, profile);
    ward_end(w, ENDING_UNUSED, why);
}

// Warm as far as was known here: another replica noted that it is bound.
static void asked_again(void *owner, struct ward *w, const struct worker_answer *answer,
                        const struct failure *why)
{
    struct binder *b = owner;
    if (w != NULL && why == NULL && w->sandbox->state == SANDBOX_WARM &&
        answer->status.principal[0] != '\0')
        ward_met_bound(w, &answer->status);
    b->adopting--;
    adoption_may_be_over(b);
}

static void meet(struct binder *b, const struct driver_record *record)
{
    struct ward *w = ward_find(b, span_from_string(record->id));
    const struct profile *profile = config_profile(b->with.config, record->profile);
    if (strcmp(record->fleet, b->with.fleet_id) != 0)
        return; // somebody else's
    if (w != NULL && w->sandbox->generation == record->generation) {
        if (record->state == DRIVER_STATE_EXITED && sandbox_is_alive(w->sandbox))
            ward_end(w, ENDING_LOST, "the driver says that it ended");
        else if (w->sandbox->state == SANDBOX_WARM && record->note[0] != '\0') {
            take_note(w, record);
            b->adopting++;
            ask_status(w, asked_again, b);
        }
    } else if (w == NULL && record->state == DRIVER_STATE_RUNNING && profile != NULL) {
        adopt(b, record, profile);
    } else if (w == NULL && record->state == DRIVER_STATE_CREATING && store_is_shared(b->store)) {
        return; // by another replica; what nobody finishes, the driver removes
    } else if (w == NULL) {
        remove_unknown(b, record, "found dead, half made or of no profile of ours");
    }
}

// What was alive here before the list was asked for and does not stand in it is gone.
static void miss(struct binder *b, const struct driver_answer *answer, int64_t asked_ms)
{
    b->lists++;
    for (size_t i = 0; i < answer->count; i++) {
        struct ward *w = ward_find(b, span_from_string(answer->records[i].id));
        if (w != NULL && w->sandbox->generation == answer->records[i].generation)
            w->listed = b->lists;
    }
    for (int state = SANDBOX_WARM; state <= SANDBOX_IDLE; state++) {
        struct list *head = fleet_in_state(b->fleet, state);
        LIST_EACH(node, head)
        {
            struct sandbox *s = LIST_ENTRY(node, struct sandbox, by_state);
            struct ward *w = s->owner;
            if (s->state_since_ms <= asked_ms && w->listed != b->lists)
                ward_end(w, ENDING_LOST, "the driver has no such sandbox");
        }
    }
}

// Journalled before a crash, and the driver knows nothing of it.
static void forget_intents(struct binder *b)
{
    for (size_t i = 0; i < b->kept_count; i++)
        if (ward_find(b, span_from_string(b->kept[i].id)) == NULL && !may_be_coming(b, &b->kept[i]))
            store_sandbox_delete(b->store, b->kept[i].id, NULL, NULL);
}

static void listed(void *owner, const struct driver_answer *answer, const struct failure *why)
{
    struct binder *b = owner;
    b->listing = false;
    if (why != NULL) {
        in_trouble(b, why);
        learn_finish(b, &b->trouble);
        timer_start(&b->relist, RELIST_MS);
        return;
    }
    if (b->trouble.fault != 0) // what failed meanwhile failed because it was away
        pools_forgive(b);
    b->trouble.fault = 0;
    miss(b, answer, b->listed_at_ms);
    for (size_t i = 0; i < answer->count; i++)
        meet(b, &answer->records[i]);
    if (!b->adopted)
        forget_intents(b);
    if (b->list_again || store_is_shared(b->store))
        timer_start(&b->relist, b->list_again ? 0 : RELIST_MS);
    else if (is_in_grace(b)) // then once more, for what was spared
        timer_start(&b->relist, b->grace_until_ms - loop_now_ms(b->loop));
    adoption_may_be_over(b);
    loop_defer(b->loop, &b->janitor);
}

static void ask_list(struct timer *timer)
{
    struct binder *b = CONTAINER_OF(timer, struct binder, relist);
    struct driver *driver = b->with.driver;
    if (b->listing) {
        b->list_again = true;
        return;
    }
    b->listing = true;
    b->list_again = false;
    learn_begin(b);
    b->listed_at_ms = loop_now_ms(b->loop);
    driver->ops->list(driver, b->with.fleet_id, listed, b);
}

static void profiles_told(void *owner, const struct driver_answer *answer,
                          const struct failure *why)
{
    struct binder *b = owner;
    for (size_t i = 0; why == NULL && i < answer->count; i++) {
        const struct profile *profile = config_profile(b->with.config, answer->profiles[i].name);
        if (profile == NULL)
            continue;
        struct pool *p = pool_of(b, profile);
        memcpy(p->digest, answer->profiles[i].digest, sizeof p->digest);
        if (p->digest[0] != '\0')
            card_load(p, p->digest);
        pool_revised(p, answer->profiles[i].revision);
    }
    if (why == NULL && b->adopted)
        cards_tidy(b);
}

static void ask_profiles(void *owner)
{
    struct binder *b = owner;
    b->with.driver->ops->profiles(b->with.driver, profiles_told, b);
}

static void connected(void *owner)
{
    struct binder *b = owner;
    LOG(LOG_INFO, "driver.connected", LOG_STRING("fleet", b->with.fleet_id));
    ask_profiles(b);
    timer_start(&b->relist, 0);
}

static void exited(void *owner, struct span id, int64_t generation, struct span reason)
{
    struct binder *b = owner;
    struct ward *w = ward_find(b, id);
    char text[160] = "it exited";
    if (w == NULL || w->sandbox->generation != generation)
        return;
    span_copy_string(span_slice(reason, 0, sizeof text - 1), text, sizeof text);
    if (sandbox_is_alive(w->sandbox))
        ward_end(w, ward_ending(w), text);
}

static void volume_expired(void *owner, struct span fleet, struct span name)
{
    struct binder *b = owner;
    char text[PROFILE_NAME_SIZE];
    const struct profile *profile =
        span_copy_string(name, text, sizeof text) ? config_profile(b->with.config, text) : NULL;
    if (profile == NULL || !span_is(fleet, b->with.fleet_id))
        return;
    metric_add(pool_of(b, profile)->volumes_expired, 1);
    LOG(LOG_INFO, "volume.expired", LOG_STRING("profile", profile->name));
}

static void disconnected(void *owner, const struct failure *why)
{
    in_trouble(owner, why);
}

static const struct driver_events events = {.connected = connected,
                                            .exited = exited,
                                            .profiles_changed = ask_profiles,
                                            .volume_expired = volume_expired,
                                            .disconnected = disconnected};

static void store_told(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct binder *b = owner;
    if (why == NULL && answer->count > 0) {
        b->kept = memory_new_array(answer->count, sizeof *b->kept);
        memcpy(b->kept, answer->sandboxes, answer->count * sizeof *b->kept);
        b->kept_count = answer->count;
    }
    if (why != NULL || store_was_empty(b->store))
        b->grace_until_ms = loop_now_ms(b->loop) + b->with.grace_ms;
    b->with.driver->ops->listen(b->with.driver, &events, b);
}

// It may have been emptied, or be another.
static void store_returned(void *owner)
{
    struct binder *b = owner;
    heal_now(b);
    pools_forgive(b);
    timer_start(&b->relist, 0);
}

void adopt_start(struct binder *b)
{
    timer_init(&b->relist, b->loop, ask_list);
    timer_init(&b->patience, b->loop, patience_ends);
    store_on_return(b->store, store_returned, b);
    store_sandbox_list(b->store, store_told, b);
}

void adopt_stop(struct binder *b)
{
    timer_cancel(&b->relist);
    timer_cancel(&b->patience);
    store_on_return(b->store, NULL, NULL);
    learn_forget(b);
    free(b->kept);
}
