// SPDX-License-Identifier: Apache-2.0
#include "gateway/pool/binder.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/asking.h"
#include "gateway/pool/state.h"

// Once a turn: what arrived is looked up, then waiters and free sandboxes are matched.
static void look_up_arrivals(struct binder *b)
{
    struct list arrived;
    list_init(&arrived);
    for (struct list *node; (node = list_pop(&b->arrivals)) != NULL;)
        list_append(&arrived, node);
    for (struct list *node; (node = list_pop(&arrived)) != NULL;) {
        struct bind_wait *w = LIST_ENTRY(node, struct bind_wait, node);
        if (b->adopted)
            wait_look_up(w);
        else if (driver_is_away(b))
            wait_finish(w, &b->trouble, 1000);
        else
            list_append(&b->arrivals, node);
    }
}

static void janitor(struct task *task)
{
    struct binder *b = CONTAINER_OF(task, struct binder, janitor);
    look_up_arrivals(b);
    for (size_t i = 0; b->adopted && i < b->pool_count; i++) {
        pool_match(&b->pools[i]);
        volume_match(&b->pools[i]);
        pool_refill(&b->pools[i]);
    }
}

static void make_metrics(struct binder *b)
{
    static const char help[] = "From the wish for a sandbox to one that is bound";
    struct metrics *m = b->with.metrics;
    b->sessions = metric_gauge(m, "wrist_bindings", "", "Sessions and principals that are bound");
    b->lost = metric_counter(m, "wrist_sandboxes_lost_total", "", "Bound sandboxes that were lost");
    b->adoptions = metric_counter(m, "wrist_sandboxes_adopted_total", "",
                                  "Sandboxes found running and taken over");
    b->bind_us[0] = metric_histogram(m, "wrist_bind_seconds", "found=\"cold\"", help);
    b->bind_us[1] = metric_histogram(m, "wrist_bind_seconds", "found=\"warm\"", help);
}

struct binder *binder_open(const struct binder_options *options)
{
    const struct config *config = options->config;
    struct binder *b = memory_new(sizeof *b);
    *b = (struct binder){.with = *options, .loop = options->loop, .store = options->store};
    b->fleet = fleet_new(b->loop, config, options->ring, options->metrics);
    b->bindings = table_new();
    b->cards = table_new();
    b->owners = owners_new();
    b->pool_count = config->profile_count;
    b->pools = memory_new_array(b->pool_count, sizeof *b->pools);
    for (size_t i = 0; i < b->pool_count; i++)
        pool_init(&b->pools[i], b, &config->profiles[i]);
    list_init(&b->arrivals);
    list_init(&b->learners);
    list_init(&b->learning);
    list_init(&b->waits);
    list_init(&b->askings);
    list_init(&b->namings);
    list_init(&b->creations);
    list_init(&b->volume_questions);
    task_init(&b->janitor, janitor);
    make_metrics(b);
    timer_init(&b->tick, b->loop, reaper_tick);
    timer_start(&b->tick, 0);
    lead_start(b);
    adopt_start(b);
    return b;
}

static void forget_wards(struct binder *b)
{
    for (int state = 0; state < SANDBOX_GONE; state++) {
        struct list *head = fleet_in_state(b->fleet, state);
        LIST_EACH(node, head)
        ward_forget(LIST_ENTRY(node, struct sandbox, by_state)->owner);
    }
}

void binder_close(struct binder *b)
{
    void *row;
    if (b == NULL)
        return;
    timer_cancel(&b->tick);
    task_cancel(&b->janitor);
    lead_stop(b);
    adopt_stop(b);
    while (!list_is_empty(&b->waits))
        wait_free(LIST_ENTRY(b->waits.next, struct bind_wait, all));
    askings_cancel_all(b);
    creations_forget(b);
    volumes_forget(b);
    for (struct list *node; (node = list_pop(&b->namings)) != NULL;) {
        struct naming *n = LIST_ENTRY(node, struct naming, node);
        timer_cancel(&n->want.deadline);
        list_remove(&n->want.node);
        free(n);
    }
    for (size_t at = 0; table_next(b->bindings, &at, NULL, &row);) {
        struct binding *binding = row;
        if (binding->phase == PHASE_WANTING)
            timer_cancel(&binding->want.deadline);
        binding_free(binding);
    }
    for (size_t i = 0; i < b->pool_count; i++)
        pool_fini(&b->pools[i]);
    forget_wards(b);
    fleet_free(b->fleet);
    table_free(b->bindings);
    cards_free(b->cards);
    owners_free(b->owners);
    free(b->pools);
    free(b);
}

int binder_check_ready(const struct binder *b, struct failure *why)
{
    const struct config *config = b->with.config;
    if (!b->adopted)
        return b->trouble.fault != 0
                   ? failure_set(why, FAULT_UNAVAILABLE, "%s", b->trouble.text)
                   : failure_set(why, FAULT_UNAVAILABLE, "sandboxes are still being adopted");
    for (size_t i = 0; i < b->pool_count; i++)
        if (strcmp(b->pools[i].profile->name, config->default_profile) == 0 &&
            b->pools[i].card == NULL)
            return failure_set(why, FAULT_UNAVAILABLE, "no card of profile %s yet%s%s",
                               config->default_profile, b->pools[i].trouble.fault != 0 ? ": " : "",
                               b->pools[i].trouble.fault != 0 ? b->pools[i].trouble.text : "");
    return 0;
}

int64_t binder_now_ms(const struct binder *b)
{
    return store_now_ms(b->store);
}

// Requests ------------------------------------------------------------------------------------

// A session or sandbox id that does not fit is one that nobody has.
static struct bind_wait *arrive(struct binder *b, enum wait_kind kind,
                                const struct bind_request *request, void *owner)
{
    struct bind_wait *w = wait_new(b, kind, request->principal, owner);
    w->profile = request->profile;
    w->issued_ms = request->session_issued_ms;
    bool fits = span_copy_string(request->session, w->session, sizeof w->session) &&
                span_copy_string(request->sandbox, w->sandbox, sizeof w->sandbox) &&
                span_copy_string(request->volume, w->volume, sizeof w->volume);
    if (!fits)
        memcpy(w->sandbox, "none", sizeof "none");
    wait_arrive(w);
    return w;
}

struct bind_wait *binder_start(struct binder *b, const struct bind_request *request,
                               void (*done)(void *owner, struct lease *lease,
                                            const struct failure *why, int64_t retry_after_ms),
                               void *owner)
{
    struct bind_wait *w = arrive(b, WAIT_LEASE, request, owner);
    w->got = done;
    return w;
}

struct bind_wait *binder_reach(struct binder *b, const struct bind_request *request,
                               void (*done)(void *owner, struct lease *lease,
                                            const struct failure *why, int64_t retry_after_ms),
                               void *owner)
{
    struct bind_wait *w = arrive(b, WAIT_REACH, request, owner);
    w->got = done;
    return w;
}

struct bind_wait *binder_check_session(struct binder *b, const struct bind_request *request,
                                       void (*done)(void *owner, const struct failure *why),
                                       void *owner)
{
    struct bind_wait *w = arrive(b, WAIT_CHECK, request, owner);
    w->done = done;
    return w;
}

struct bind_wait *binder_end_session(struct binder *b, const struct bind_request *request,
                                     void (*done)(void *owner, const struct failure *why),
                                     void *owner)
{
    struct bind_wait *w = arrive(b, WAIT_END_SESSION, request, owner);
    w->done = done;
    return w;
}

struct bind_wait *binder_end_sandbox(struct binder *b, const struct principal *principal,
                                     struct span sandbox,
                                     void (*done)(void *owner, const struct failure *why),
                                     void *owner)
{
    struct bind_wait *w = wait_new(b, WAIT_END_SANDBOX, principal, owner);
    w->done = done;
    if (!span_copy_string(sandbox, w->sandbox, sizeof w->sandbox) || w->sandbox[0] == '\0')
        memcpy(w->sandbox, "none", sizeof "none");
    wait_arrive(w);
    return w;
}

struct bind_wait *
binder_create_sandbox(struct binder *b, struct principal *principal, const struct profile *profile,
                      int64_t idle_ms, int64_t absolute_ms, struct span volume,
                      void (*done)(void *owner, struct span sandbox, const struct failure *why,
                                   int64_t retry_after_ms),
                      void *owner)
{
    struct bind_wait *w = wait_new(b, WAIT_CREATE, principal, owner);
    w->made = done;
    w->profile = profile;
    w->idle_ms = idle_ms != 0 ? idle_ms : profile->idle_ms;
    w->absolute_ms = absolute_ms != 0 ? absolute_ms : profile->absolute_ms;
    span_copy_string(volume, w->volume, sizeof w->volume);
    wait_arrive(w);
    return w;
}
