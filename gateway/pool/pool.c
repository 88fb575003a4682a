// SPDX-License-Identifier: Apache-2.0
// Starts a profile's sandboxes, and waits longer each time where that fails.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

enum {
    BACKOFF_FIRST_MS = 250,
    BACKOFF_MOST_MS = 30 * 1000,
    // The worker ends itself when no gateway came for its idle life and this.
    ORPHAN_SLACK_MS = 5 * 60 * 1000,
};

struct pool *pool_of(struct binder *b, const struct profile *profile)
{
    return &b->pools[profile - b->with.config->profiles];
}

static struct metric *counter(struct binder *b, const char *name, const char *profile,
                              const char *more, const char *help)
{
    char labels[160];
    snprintf(labels, sizeof labels, "profile=\"%s\"%s", profile, more);
    return metric_counter(b->with.metrics, name, labels, help);
}

static void retry_now(struct timer *timer)
{
    struct pool *p = CONTAINER_OF(timer, struct pool, retry);
    loop_defer(p->b->loop, &p->b->janitor);
}

static void look_again(struct timer *timer)
{
    struct pool *p = CONTAINER_OF(timer, struct pool, volume_again);
    loop_defer(p->b->loop, &p->b->janitor);
}

void pool_init(struct pool *p, struct binder *b, const struct profile *profile)
{
    static const char help[] = "Binds by whether a warm sandbox was there";
    *p = (struct pool){.b = b, .profile = profile};
    list_init(&p->rebirths);
    list_init(&p->wanting);
    list_init(&p->claiming);
    list_init(&p->volume_wants);
    timer_init(&p->volume_again, b->loop, look_again);
    timer_init(&p->retry, b->loop, retry_now);
    p->hits[0] = counter(b, "wrist_pool_binds_total", profile->name, ",found=\"cold\"", help);
    p->hits[1] = counter(b, "wrist_pool_binds_total", profile->name, ",found=\"warm\"", help);
    p->starts_failed = counter(b, "wrist_pool_starts_failed_total", profile->name, "",
                               "Sandboxes that could not be started");
    char labels[160];
    p->volumes_expired = counter(b, "wrist_volumes_expired_total", profile->name, "",
                                 "Volumes deleted since no sandbox had them for too long");
    snprintf(labels, sizeof labels, "profile=\"%s\"", profile->name);
    p->failing = metric_gauge(b->with.metrics, "wrist_pool_start_failures", labels,
                              "Starts that failed in a row; 0 while they work");
    for (int i = 0; i < ENDINGS; i++) {
        snprintf(labels, sizeof labels, ",reason=\"%s\"", ending_name((enum ending)i));
        p->ended[i] = counter(b, "wrist_sandboxes_ended_total", profile->name, labels,
                              "Sandboxes that ended, by why");
    }
}

struct rebirth {
    struct list node;
    char id[ID_SIZE];
    int64_t generation;
};

void pool_fini(struct pool *p)
{
    timer_cancel(&p->retry);
    timer_cancel(&p->volume_again);
    for (struct list *node; (node = list_pop(&p->rebirths)) != NULL;)
        free(LIST_ENTRY(node, struct rebirth, node));
}

// Starting one ----------------------------------------------------------------------------------

struct creation { // from the journal's line to the worker's first answer
    struct list node;
    struct binder *b;
    char id[ID_SIZE];
    int64_t generation;
};

// NULL where it ended meanwhile: whoever did that removes it.
static struct ward *creation_ward(const struct creation *c)
{
    struct ward *w = ward_find(c->b, span_from_string(c->id));
    bool same = w != NULL && w->sandbox->generation == c->generation &&
                w->sandbox->state == SANDBOX_CREATING;
    return same ? w : NULL;
}

static struct ward *creation_finish(struct creation *c)
{
    struct ward *w = creation_ward(c);
    list_remove(&c->node);
    free(c);
    return w;
}

void creations_forget(struct binder *b)
{
    for (struct list *node; (node = list_pop(&b->creations)) != NULL;)
        free(LIST_ENTRY(node, struct creation, node));
}

static int64_t backoff_ms(int failures)
{
    int64_t ms = BACKOFF_FIRST_MS;
    for (int i = 1; i < failures && ms < BACKOFF_MOST_MS; i++)
        ms *= 2;
    return ms < BACKOFF_MOST_MS ? ms : BACKOFF_MOST_MS;
}

// Starts that run side by side fail together, of one cause: they count once.
void pool_start_failed(struct pool *p, const struct failure *why)
{
    metric_add(p->starts_failed, 1);
    p->trouble = *why;
    metric_add(p->failing, 1);
    if (loop_now_ms(p->b->loop) < p->retry_at_ms)
        return;
    p->failures++;
    p->retry_at_ms = loop_now_ms(p->b->loop) + backoff_ms(p->failures);
    timer_start(&p->retry, backoff_ms(p->failures));
    LOG(LOG_WARN, "pool.start", LOG_STRING("profile", p->profile->name),
        LOG_I64("failures", p->failures), LOG_I64("retry_ms", backoff_ms(p->failures)),
        LOG_FAILURE(why));
}

void pool_forgive(struct pool *p)
{
    timer_cancel(&p->retry);
    p->failures = 0;
    p->retry_at_ms = 0;
    p->trouble.fault = 0;
    metric_set(p->failing, 0);
}

void pools_forgive(struct binder *b)
{
    for (size_t i = 0; i < b->pool_count; i++)
        pool_forgive(&b->pools[i]);
}

static void start_failed(struct ward *w, const struct failure *why)
{
    if (w->reserved) { // which says nothing of the others
        volume_failed(w, why);
        return;
    }
    pool_start_failed(pool_of(w->b, w->sandbox->profile), why);
    ward_end(w, ENDING_UNSTARTED, "it could not be started");
}

static void first_answer(void *owner, struct ward *w, const struct worker_answer *answer,
                         const struct failure *why)
{
    struct pool *p = owner;
    struct failure mine;
    if (w == NULL || w->sandbox->state != SANDBOX_CREATING)
        return;
    if (why == NULL && (strcmp(answer->status.sandbox, w->sandbox->id) != 0 ||
                        answer->status.generation != w->sandbox->generation)) {
        failure_set(&mine, FAULT_PEER, "the worker says that it is another sandbox");
        why = &mine;
    }
    if (why != NULL) {
        start_failed(w, why);
        return;
    }
    pool_forgive(p);
    card_ask(w);
    if (w->reserved)
        volume_ready(w, &answer->status);
    else
        ward_warm(w, "its worker answers");
}

static void created(void *owner, const struct driver_answer *answer, const struct failure *why)
{
    struct ward *w = creation_finish(owner);
    if (w == NULL)
        return;
    if (why != NULL) {
        start_failed(w, why);
        return;
    }
    const struct driver_record *record = &answer->records[0];
    struct sandbox *s = w->sandbox;
    memcpy(s->endpoint, record->endpoint, sizeof s->endpoint);
    memcpy(s->digest, record->digest, sizeof s->digest);
    memcpy(s->revision, record->revision, sizeof s->revision);
    ask_status(w, first_answer, pool_of(w->b, s->profile));
}

static void journalled(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct creation *c = owner;
    struct ward *w = creation_ward(c);
    (void)answer;
    if (w == NULL || why != NULL) {
        struct binder *b = c->b;
        w = creation_finish(c);
        if (w == NULL)
            return;
        struct pool *p = pool_of(b, w->sandbox->profile);
        start_failed(w, why);
        while (!list_is_empty(&p->wanting)) // the store keeps nothing now: nobody need wait
            want_fail(LIST_ENTRY(p->wanting.next, struct want, node), why, 1000);
        return;
    }
    if (w->reserved && w->want == NULL) {
        creation_finish(c);
        ward_end(w, ENDING_UNUSED, "nobody waits for it any more");
        return;
    }
    const struct profile *profile = w->sandbox->profile;
    struct driver *driver = w->b->with.driver;
    struct driver_create create = {.generation = w->sandbox->generation,
                                   .orphan_ms = profile->idle_ms + ORPHAN_SLACK_MS};
    memcpy(create.id, w->sandbox->id, sizeof create.id);
    memcpy(create.profile, profile->name, sizeof create.profile);
    span_copy_string(span_from_string(w->b->with.fleet_id), create.fleet, sizeof create.fleet);
    if (w->reserved)
        volume_fill(w, &create);
    sandbox_set_secret(w->sandbox, 0, create.secret);
    driver->ops->create(driver, &create, profile->start_timeout_ms, created, c);
    memory_wipe(create.secret, sizeof create.secret);
}

// An id whose start failed is used again, so that what may still be under way for it is told from
// the next one by its generation.
void pool_reborn(struct pool *p, const struct sandbox *s)
{
    if (p->rebirth_count >= (size_t)p->profile->parallel_starts)
        return;
    struct rebirth *r = memory_new(sizeof *r);
    r->generation = s->generation + 1;
    memcpy(r->id, s->id, sizeof r->id);
    list_append(&p->rebirths, &r->node);
    p->rebirth_count++;
}

static void next_incarnation(struct pool *p, struct creation *c)
{
    struct list *node = list_pop(&p->rebirths);
    if (node == NULL) {
        id_new(c->id);
        c->generation = 1;
        return;
    }
    struct rebirth *r = LIST_ENTRY(node, struct rebirth, node);
    memcpy(c->id, r->id, sizeof c->id);
    c->generation = r->generation;
    p->rebirth_count--;
    free(r);
}

struct ward *pool_start_one(struct pool *p)
{
    struct binder *b = p->b;
    struct creation *c = memory_new(sizeof *c);
    c->b = b;
    next_incarnation(p, c);
    list_append(&b->creations, &c->node);
    struct ward *w = ward_new(b, c->id, c->generation, p->profile);
    w->sandbox->created_ms = clock_wall_ms(loop_clock(b->loop));
    struct sandbox_record record = {.generation = c->generation,
                                    .created_ms = w->sandbox->created_ms};
    memcpy(record.id, c->id, sizeof record.id);
    memcpy(record.profile, p->profile->name, sizeof record.profile);
    store_sandbox_put(b->store, &record, journalled, c);
    return w;
}
