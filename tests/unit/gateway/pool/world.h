// SPDX-License-Identifier: Apache-2.0
//
// A binder with a driver and workers made of memory: boxes that are created, asked, bound and
// removed as the real ones would be, on a clock that stands still until it is moved. Boxes outlive
// the binder, so that it can be restarted under them.
#ifndef WRIST_TESTS_UNIT_GATEWAY_POOL_WORLD_H
#define WRIST_TESTS_UNIT_GATEWAY_POOL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "gateway/auth/principal_new.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/keyring.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/setup.h"
#include "gateway/sandbox/driver.h"
#include "gateway/sandbox/sandbox.h"
#include "gateway/sandbox/worker.h"
#include "gateway/store/memory.h"
#include "gateway/store/state_file.h"

enum { BOXES = 128, VOLUMES = 16 };

struct box {
    bool exists;
    struct driver_record record;
    char principal[PRINCIPAL_HASH_SIZE];
    struct sandbox_grants granted;
    char sessions[32][ID_SIZE];
    int session_count;
    int64_t calls;
    int64_t used_ms;     // monotonic, by its own measure
    int64_t absolute_at; // monotonic; 0 while unbound
    int64_t bound_idle_ms;
    bool silent, refuses, says_another;
    char secret[2 * LINK_SECRET_BYTES + 1];
};

struct pending {
    struct list node;
    bool from_driver;
    driver_done *driver_done;
    worker_done *worker_done;
    void *owner;
    struct driver_record record;
    bool lists, lists_volumes;
    struct worker_answer answer;
    struct failure why;
};

struct world {
    struct clock_fake clock;
    struct loop *loop;
    char path[64];
    int directory;
    struct config config;
    struct profile profiles[2];
    struct keyring *ring;
    struct metrics *metrics;
    struct store *store;
    struct binder *binder;
    char fleet[ID_SIZE];
    int64_t grace_ms;
    struct principal *alice, *bob;
    // The driver.
    struct driver driver;
    const struct driver_events *events;
    void *events_owner;
    struct box boxes[BOXES];
    struct driver_volume volumes[VOLUMES];
    int volume_count;
    bool is_old_worker; // it knows nothing of a principal at its start
    int created, removed, cards_asked, statuses, lists;
    int creating, most_creating;
    bool holds_creates, is_down;
    struct failure create_fails; // fault 0: it works
    struct failure remove_fails;
    const char *digest, *revision;
    struct list pending;
    struct task deliver;
};

static inline struct world *world_of_driver(struct driver *d)
{
    return CONTAINER_OF(d, struct world, driver);
}

static inline struct box *box_find(struct world *w, const char *id)
{
    for (int i = 0; i < BOXES; i++)
        if (w->boxes[i].exists && strcmp(w->boxes[i].record.id, id) == 0)
            return &w->boxes[i];
    return NULL;
}

static inline int box_count(const struct world *w)
{
    int count = 0;
    for (int i = 0; i < BOXES; i++)
        count += w->boxes[i].exists;
    return count;
}

// The n-th box that is bound to somebody.
static inline struct box *bound_box(struct world *w, int n)
{
    for (int i = 0; i < BOXES; i++)
        if (w->boxes[i].exists && w->boxes[i].principal[0] != '\0' && n-- == 0)
            return &w->boxes[i];
    return NULL;
}

static inline struct box *any_box(struct world *w)
{
    for (int i = 0; i < BOXES; i++)
        if (w->boxes[i].exists)
            return &w->boxes[i];
    return NULL;
}

static inline struct pending *later(struct world *w)
{
    struct pending *p = memory_new(sizeof *p);
    list_append(&w->pending, &p->node);
    loop_defer(w->loop, &w->deliver);
    return p;
}

static inline void deliver_one(struct world *w, struct pending *p)
{
    const struct failure *why = p->why.fault != 0 ? &p->why : NULL;
    struct driver_record rows[BOXES];
    struct driver_answer answer = {.records = &p->record, .count = 1};
    list_remove(&p->node);
    if (p->lists) {
        answer = (struct driver_answer){.records = rows};
        for (int i = 0; i < BOXES; i++)
            if (w->boxes[i].exists)
                rows[answer.count++] = w->boxes[i].record;
    }
    if (p->lists_volumes)
        answer = (struct driver_answer){.volumes = w->volumes, .count = (size_t)w->volume_count};
    if (p->from_driver && p->driver_done != NULL)
        p->driver_done(p->owner, &answer, why);
    else if (!p->from_driver && p->worker_done != NULL)
        p->worker_done(p->owner, &p->answer, why);
    free(p);
}

static inline void deliver_all(struct task *task)
{
    struct world *w = CONTAINER_OF(task, struct world, deliver);
    struct list now;
    list_init(&now);
    for (struct list *node; (node = list_pop(&w->pending)) != NULL;)
        list_append(&now, node);
    for (struct list *node; (node = list_pop(&now)) != NULL;)
        deliver_one(w, LIST_ENTRY(node, struct pending, node));
}

// The driver ------------------------------------------------------------------------------------

static inline void fake_listen(struct driver *d, const struct driver_events *events, void *owner)
{
    struct world *w = world_of_driver(d);
    w->events = events;
    w->events_owner = owner;
}

static inline void world_driver_up(struct world *w)
{
    w->is_down = false;
    w->events->connected(w->events_owner);
}

static inline void world_driver_down(struct world *w)
{
    struct failure why;
    failure_set(&why, FAULT_UNAVAILABLE, "connection refused");
    w->is_down = true;
    w->events->disconnected(w->events_owner, &why);
}

static inline struct box *box_new(struct world *w, const char *id, const char *profile)
{
    for (int i = 0; i < BOXES; i++) {
        struct box *box = &w->boxes[i];
        if (box->exists)
            continue;
        *box = (struct box){.exists = true, .used_ms = loop_now_ms(w->loop)};
        struct driver_record *r = &box->record;
        *r = (struct driver_record){.generation = 1,
                                    .state = DRIVER_STATE_RUNNING,
                                    .created_ms = clock_wall_ms(&w->clock.clock)};
        span_copy_string(span_from_string(w->revision), r->revision, sizeof r->revision);
        span_copy_string(span_from_string(id), r->id, sizeof r->id);
        span_copy_string(span_from_string(w->fleet), r->fleet, sizeof r->fleet);
        span_copy_string(span_from_string(profile), r->profile, sizeof r->profile);
        span_copy_string(span_from_string(w->digest), r->digest, sizeof r->digest);
        snprintf(r->endpoint, sizeof r->endpoint, "unix:/nonexistent/%s", id);
        return box;
    }
    abort();
}

static inline struct box *box_made(struct world *w, const struct driver_create *create)
{
    struct box *box = box_new(w, create->id, create->profile);
    box->record.generation = create->generation;
    return box;
}

// The one of this id that runs, whose volume is in use.
static inline bool box_runs(struct world *w, const char *id)
{
    struct box *box = box_find(w, id);
    return box != NULL && box->record.state == DRIVER_STATE_RUNNING;
}

static inline struct driver_volume *volume_find(struct world *w, const char *id)
{
    for (int i = 0; i < w->volume_count; i++)
        if (strcmp(w->volumes[i].id, id) == 0)
            return &w->volumes[i];
    return NULL;
}

// As the driver decides it.
static inline void volume_take(struct world *w, const struct driver_create *create,
                               struct failure *why)
{
    struct driver_volume *v = volume_find(w, create->volume);
    if (v == NULL && w->volume_count >= create->volumes_most) {
        failure_set(why, FAULT_QUOTA, "you have enough volumes");
        return;
    }
    if (v != NULL && box_runs(w, v->sandbox)) {
        failure_set(why, FAULT_CONFLICT, "sandbox %s has the volume", v->sandbox);
        return;
    }
    if (v == NULL) {
        v = &w->volumes[w->volume_count++];
        *v = (struct driver_volume){.bytes = 1, .created_ms = create->generation};
        memcpy(v->id, create->volume, sizeof v->id);
        memcpy(v->fleet, create->fleet, sizeof v->fleet);
        memcpy(v->owner, create->volume_owner, sizeof v->owner);
        memcpy(v->profile, create->profile, sizeof v->profile);
    }
    assert_string_equal(v->owner, create->volume_owner);
    assert_string_equal(v->profile, create->profile);
    memcpy(v->label, create->volume_label, sizeof v->label);
    memcpy(v->sandbox, create->id, sizeof v->sandbox);
    v->keep_ms = create->volume_keep_ms;
}

static inline void fake_create(struct driver *d, const struct driver_create *create,
                               int64_t deadline_ms, driver_done *done, void *owner)
{
    struct world *w = world_of_driver(d);
    struct pending *p = later(w);
    (void)deadline_ms;
    w->created++;
    w->creating = 0;
    p->from_driver = true;
    p->driver_done = done;
    p->owner = owner;
    p->why = w->create_fails;
    assert_string_equal(create->fleet, w->fleet);
    if (p->why.fault == 0 && create->volume[0] != '\0')
        volume_take(w, create, &p->why);
    if (p->why.fault == 0) {
        struct box *box = box_made(w, create);
        memcpy(box->record.volume, create->volume, sizeof box->record.volume);
        if (!w->is_old_worker)
            memcpy(box->principal, create->volume_owner, sizeof box->principal);
        p->record = box->record;
    }
    if (w->holds_creates) { // answered when they are let go
        task_cancel(&w->deliver);
        for (struct list *node = w->pending.next; node != &w->pending; node = node->next)
            w->creating += LIST_ENTRY(node, struct pending, node)->from_driver;
        if (w->creating > w->most_creating)
            w->most_creating = w->creating;
    }
}

static inline void fake_list(struct driver *d, const char *fleet, driver_done *done, void *owner)
{
    struct world *w = world_of_driver(d);
    struct pending *p = later(w);
    (void)fleet; // a driver that gave others' too would not be believed
    w->lists++;
    p->from_driver = p->lists = true;
    p->driver_done = done;
    p->owner = owner;
    if (w->is_down)
        failure_set(&p->why, FAULT_UNAVAILABLE, "connection refused");
}

static inline void fake_remove(struct driver *d, const char *id, int64_t generation,
                               driver_done *done, void *owner)
{
    struct world *w = world_of_driver(d);
    struct pending *p = later(w);
    struct box *box = box_find(w, id);
    p->from_driver = true;
    p->driver_done = done;
    p->owner = owner;
    p->why = w->remove_fails;
    if (w->is_down)
        failure_set(&p->why, FAULT_UNAVAILABLE, "connection refused");
    if (box != NULL && p->why.fault == 0 && box->record.generation == generation) {
        box->exists = false;
        w->removed++;
    }
}

static inline void fake_note(struct driver *d, const char *id, const char *note)
{
    struct box *box = box_find(world_of_driver(d), id);
    if (box != NULL)
        span_copy_string(span_from_string(note), box->record.note, sizeof box->record.note);
}

static inline void fake_profiles(struct driver *d, driver_done *done, void *owner)
{
    struct world *w = world_of_driver(d);
    struct driver_profile row = {.name = "main"};
    struct driver_answer answer = {.profiles = &row, .count = 1};
    span_copy_string(span_from_string(w->digest), row.digest, sizeof row.digest);
    span_copy_string(span_from_string(w->revision), row.revision, sizeof row.revision);
    done(owner, &answer, NULL);
}

static inline void fake_volumes(struct driver *d, const char *fleet, const char *principal,
                                driver_done *done, void *owner)
{
    struct world *w = world_of_driver(d);
    struct pending *p = later(w);
    (void)fleet;
    (void)principal; // a driver that gave others' too would not be believed
    p->from_driver = p->lists_volumes = true;
    p->driver_done = done;
    p->owner = owner;
    for (int i = 0; i < w->volume_count; i++)
        if (!box_runs(w, w->volumes[i].sandbox))
            w->volumes[i].sandbox[0] = '\0';
    if (w->is_down)
        failure_set(&p->why, FAULT_UNAVAILABLE, "connection refused");
}

static inline void fake_remove_volume(struct driver *d, const char *fleet, const char *id,
                                      driver_done *done, void *owner)
{
    struct world *w = world_of_driver(d);
    struct pending *p = later(w);
    struct driver_volume *v = volume_find(w, id);
    p->from_driver = true;
    p->driver_done = done;
    p->owner = owner;
    assert_string_equal(fleet, w->fleet);
    if (v == NULL)
        failure_set(&p->why, FAULT_NOT_FOUND, "there is no such volume");
    else if (box_runs(w, v->sandbox))
        failure_set(&p->why, FAULT_CONFLICT, "sandbox %s has the volume", v->sandbox);
    else
        *v = w->volumes[--w->volume_count];
}

static inline void fake_close(struct driver *d)
{
    (void)d;
}

static const struct driver_ops fake_driver_ops = {
    .listen = fake_listen,
    .create = fake_create,
    .list = fake_list,
    .remove = fake_remove,
    .note = fake_note,
    .profiles = fake_profiles,
    .volumes = fake_volumes,
    .remove_volume = fake_remove_volume,
    .close = fake_close,
};

// The workers -----------------------------------------------------------------------------------

static inline struct box *box_asked(struct world *w, struct sandbox *s, struct pending *p,
                                    worker_done *done, void *owner)
{
    struct box *box = box_find(w, s->id);
    p->worker_done = done;
    p->owner = owner;
    if (box == NULL || box->silent || box->record.state != DRIVER_STATE_RUNNING) {
        failure_set(&p->why, FAULT_UNAVAILABLE, "connection refused");
        return NULL;
    }
    // Born with the first secret it hears, as the real one is with the driver's.
    if (box->secret[0] == '\0')
        span_copy_string(span_from_string(s->authorization + 7), box->secret, sizeof box->secret);
    if (strcmp(box->secret, s->authorization + 7) != 0) {
        failure_set(&p->why, FAULT_UNAUTHENTICATED, "another secret");
        return NULL;
    }
    return box;
}

static inline void fill_status(struct world *w, const struct box *box, struct link_status *out)
{
    int64_t now = loop_now_ms(w->loop);
    *out = (struct link_status){.generation = box->record.generation,
                                .idle_ms = box->calls > 0 ? 0 : now - box->used_ms,
                                .absolute_left_ms =
                                    box->absolute_at == 0 ? -1 : box->absolute_at - now,
                                .calls = box->calls,
                                .sessions = box->session_count};
    span_copy_string(span_from_string(box->says_another ? "another" : box->record.id), out->sandbox,
                     sizeof out->sandbox);
    memcpy(out->principal, box->principal, sizeof out->principal);
}

static inline void fake_status(void *user, struct sandbox *s, worker_done *done, void *owner)
{
    struct world *w = user;
    struct pending *p = later(w);
    struct box *box = box_asked(w, s, p, done, owner);
    w->statuses++;
    if (box != NULL)
        fill_status(w, box, &p->answer.status);
}

static inline void fake_bind(void *user, struct sandbox *s, const struct link_bind *bind,
                             worker_done *done, void *owner)
{
    struct world *w = user;
    struct pending *p = later(w);
    struct box *box = box_asked(w, s, p, done, owner);
    if (box == NULL)
        return;
    if (box->refuses ||
        (box->principal[0] != '\0' && strcmp(box->principal, bind->principal) != 0 &&
         !sandbox_grants_has(&box->granted, bind->principal))) {
        failure_set(&p->why, FAULT_CONFLICT, "bound to another");
        return;
    }
    if (!sandbox_grants_has(&box->granted, bind->principal))
        memcpy(box->principal, bind->principal, sizeof box->principal);
    box->bound_idle_ms = bind->idle_ms;
    if (box->absolute_at == 0)
        box->absolute_at = loop_now_ms(w->loop) + bind->absolute_ms;
    box->used_ms = loop_now_ms(w->loop);
    if (bind->session[0] != '\0')
        memcpy(box->sessions[box->session_count++], bind->session, ID_SIZE);
    fill_status(w, box, &p->answer.status);
}

static inline void fake_card(void *user, struct sandbox *s, worker_done *done, void *owner)
{
    struct world *w = user;
    struct pending *p = later(w);
    w->cards_asked++;
    if (box_asked(w, s, p, done, owner) != NULL)
        p->answer.card = SPAN_LITERAL("{\"serverInfo\":{\"name\":\"box\"},\"tools\":[]}");
}

static inline void fake_end_session(void *user, struct sandbox *s, const char *session)
{
    struct box *box = box_find(user, s->id);
    for (int i = 0; box != NULL && i < box->session_count; i++)
        if (strcmp(box->sessions[i], session) == 0)
            memcpy(box->sessions[i], box->sessions[--box->session_count], ID_SIZE);
}

static inline void fake_grant(void *user, struct sandbox *s, const struct link_grant *grant,
                              worker_done *done, void *owner)
{
    struct world *w = user;
    struct pending *p = later(w);
    struct box *box = box_asked(w, s, p, done, owner);
    if (box == NULL)
        return;
    if (!grant->granted && !sandbox_grants_has(&box->granted, grant->principal))
        failure_set(&p->why, FAULT_NOT_FOUND, "no such grant");
    else if (!grant->granted)
        sandbox_grants_remove(&box->granted, grant->principal);
    else if (!sandbox_grants_add(&box->granted, grant->principal))
        failure_set(&p->why, FAULT_QUOTA, "it has enough");
}

static const struct worker_ops fake_worker_ops = {.bind = fake_bind,
                                                  .grant = fake_grant,
                                                  .status = fake_status,
                                                  .card = fake_card,
                                                  .end_session = fake_end_session};

// The world ---------------------------------------------------------------------------------------

static inline void world_turn(struct world *w)
{
    for (int i = 0; i < 12; i++)
        loop_turn(w->loop, false);
}

static inline void world_let_go(struct world *w) // of creations that were held
{
    loop_defer(w->loop, &w->deliver);
    world_turn(w);
}

static inline void world_pass(struct world *w, int64_t ms)
{
    while (ms > 0) {
        int64_t step = ms < 50 ? ms : 50;
        clock_fake_advance_ms(&w->clock, step);
        world_turn(w);
        ms -= step;
    }
}

static inline void world_open(struct world *w)
{
    struct failure why;
    assert_int_equal(store_memory_open(w->loop, w->directory, &w->store, &why), 0);
    struct binder_options options = {
        .loop = w->loop,
        .config = &w->config,
        .store = w->store,
        .driver = &w->driver,
        .workers = &fake_worker_ops,
        .workers_user = w,
        .ring = w->ring,
        .metrics = w->metrics,
        .fleet_id = w->fleet,
        .directory = w->directory,
        .grace_ms = w->grace_ms,
    };
    w->binder = binder_open(&options);
    loop_turn(w->loop, false);
    loop_turn(w->loop, false);
    if (!w->is_down)
        world_driver_up(w);
    world_turn(w);
}

static inline void world_close(struct world *w) // as kill -9 would
{
    binder_close(w->binder);
    store_close(w->store);
    for (struct list *node; (node = list_pop(&w->pending)) != NULL;) {
        struct pending *p = LIST_ENTRY(node, struct pending, node);
        if (p->from_driver)
            free(p);
        else
            deliver_one(w, p);
    }
    loop_turn(w->loop, false);
}

static inline void world_restart(struct world *w)
{
    world_close(w);
    world_open(w);
}

static inline struct principal *person(const char *subject)
{
    return principal_new(&(struct principal_values){
        .issuer = "test", .subject = subject, .tenant = "t", .provider = ""});
}

static inline struct world *world_new(void)
{
    struct world *w = memory_new(sizeof *w);
    struct failure why;
    char ring[96];
    clock_fake_init(&w->clock);
    w->loop = loop_new(&w->clock.clock);
    list_init(&w->pending);
    task_init(&w->deliver, deliver_all);
    snprintf(w->path, sizeof w->path, "/tmp/wrist-pool-XXXXXX");
    assert_non_null(mkdtemp(w->path));
    assert_int_equal(state_directory_open(w->path, &w->directory, &why), 0);
    snprintf(ring, sizeof ring, "%s/keyring", w->path);
    assert_int_equal(keyring_open(ring, clock_wall_ms(&w->clock.clock), &w->ring, &why), 0);
    w->metrics = metrics_new();
    id_new(w->fleet);
    w->driver.ops = &fake_driver_ops;
    w->digest = "sha256:0101010101010101010101010101010101010101010101010101010101010101";
    w->revision = "one";
    w->alice = person("alice");
    w->bob = person("bob");
    const struct profile usual = {.name = "main",
                                  .maximum = 50,
                                  .parallel_starts = 4,
                                  .refill_rate = 6000,
                                  .warm_age_ms = 24 * 3600 * 1000,
                                  .idle_ms = 60 * 1000,
                                  .absolute_ms = 600 * 1000,
                                  .start_timeout_ms = 20 * 1000,
                                  .per_principal = 10,
                                  .volumes = 3,
                                  .volume_keep_ms = 3600 * 1000};
    w->profiles[0] = w->profiles[1] = usual;
    snprintf(w->profiles[1].name, sizeof w->profiles[1].name, "shared");
    w->profiles[1].bind = BIND_MODE_PRINCIPAL;
    w->config.profiles = w->profiles;
    w->config.profile_count = 2;
    snprintf(w->config.default_profile, sizeof w->config.default_profile, "main");
    return w;
}

static inline void world_free(struct world *w)
{
    world_close(w);
    for (struct list *node; (node = list_pop(&w->pending)) != NULL;)
        free(LIST_ENTRY(node, struct pending, node));
    task_cancel(&w->deliver);
    principal_drop(w->alice);
    principal_drop(w->bob);
    metrics_free(w->metrics);
    keyring_free(w->ring);
    loop_free(w->loop);
    DIR *d = fdopendir(w->directory);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        unlinkat(w->directory, e->d_name, 0);
    closedir(d);
    rmdir(w->path);
    free(w);
}

// Requests --------------------------------------------------------------------------------------

struct ask {
    int count;
    struct lease *lease;
    int fault;
    char text[480];
    int64_t retry_ms;
    char sandbox[ID_SIZE];
    struct bind_wait *wait;
};

static inline void ask_hear(struct ask *a, const struct failure *why)
{
    a->count++;
    a->fault = why != NULL ? why->fault : 0;
    if (why != NULL)
        memcpy(a->text, why->text, sizeof a->text);
}

static inline void heard_lease(void *owner, struct lease *lease, const struct failure *why,
                               int64_t retry_ms)
{
    struct ask *a = owner;
    ask_hear(a, why);
    a->lease = lease;
    a->retry_ms = retry_ms;
    if (lease != NULL)
        span_copy_string(span_from_string(lease_sandbox(lease)), a->sandbox, sizeof a->sandbox);
}

static inline void heard(void *owner, const struct failure *why)
{
    ask_hear(owner, why);
}

static inline void heard_made(void *owner, struct span sandbox, const struct failure *why,
                              int64_t retry_ms)
{
    struct ask *a = owner;
    ask_hear(a, why);
    a->retry_ms = retry_ms;
    span_copy_string(sandbox, a->sandbox, sizeof a->sandbox);
}

struct session {
    char id[ID_SIZE];
    int64_t issued_ms;
    struct principal *who;
    const struct profile *profile;
    const char *volume; // NULL for none
};

static inline struct session session_new(struct world *w, struct principal *who, int profile)
{
    struct session s = {
        .issued_ms = store_now_ms(w->store), .who = who, .profile = &w->profiles[profile]};
    id_new(s.id);
    return s;
}

static inline struct bind_request request_of(const struct session *s)
{
    return (struct bind_request){.principal = s->who,
                                 .profile = s->profile,
                                 .session = span_from_string(s->id),
                                 .session_issued_ms = s->issued_ms,
                                 .volume =
                                     s->volume != NULL ? span_from_string(s->volume) : SPAN_NONE};
}

static inline void begin(struct world *w, const struct session *s, struct ask *a)
{
    struct bind_request request = request_of(s);
    *a = (struct ask){0};
    a->wait = binder_start(w->binder, &request, heard_lease, a);
}

// A call from its beginning to its end. What it met is returned; a lease is given back.
static inline struct ask call(struct world *w, const struct session *s)
{
    struct ask a;
    begin(w, s, &a);
    world_turn(w);
    if (a.lease != NULL) {
        struct box *box = box_find(w, a.sandbox);
        if (box != NULL)
            box->used_ms = loop_now_ms(w->loop);
        lease_release(a.lease);
    }
    return a;
}

static inline int check(struct world *w, const struct session *s)
{
    struct ask a = {0};
    struct bind_request request = request_of(s);
    binder_check_session(w->binder, &request, heard, &a);
    world_turn(w);
    assert_int_equal(a.count, 1);
    return a.fault;
}

static inline int end_session(struct world *w, const struct session *s)
{
    struct ask a = {0};
    struct bind_request request = request_of(s);
    binder_end_session(w->binder, &request, heard, &a);
    world_turn(w);
    assert_int_equal(a.count, 1);
    return a.fault;
}

static inline void box_dies(struct world *w, struct box *box)
{
    box->record.state = DRIVER_STATE_EXITED;
    w->events->exited(w->events_owner, span_from_string(box->record.id), box->record.generation,
                      SPAN_LITERAL("killed"));
    world_turn(w);
}

static inline int world_setup(void **state)
{
    struct world *w = world_new();
    *state = w;
    return 0;
}

static inline int world_teardown(void **state)
{
    world_free(*state);
    return 0;
}
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

#endif
