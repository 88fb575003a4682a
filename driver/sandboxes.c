// SPDX-License-Identifier: Apache-2.0
#include "driver/sandboxes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "driver/revision.h"
#include "driver/volumes.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/loop/child.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/telemetry/log.h"

enum {
    SWEEP_MS = 60000,
    RETRY_LEAST_MS = 500,
    RETRY_MOST_MS = 30000,
    REAP_MS = 1000,
    WORKER_GRACE_MS = 2000,
};

struct sandboxes {
    struct sandboxes_options o;
    struct table *by_id; // owned, and so are the sandboxes in it
    struct timer sweep, reap;
};

static void remove_start(struct sandbox *s, const char *reason);

static struct sandbox *sandbox_new(struct sandboxes *all, const struct driver_record *record);

static void sandbox_free(void *object)
{
    free(object);
}

static void waiters_tell(struct list *waiters, const struct failure *why)
{
    // A waiter may go away in its callback, and take others with it.
    struct list now;
    list_init(&now);
    for (struct list *node; (node = list_pop(waiters)) != NULL;)
        list_append(&now, node);
    for (struct list *node; (node = list_pop(&now)) != NULL;) {
        struct sandbox_waiter *w = LIST_ENTRY(node, struct sandbox_waiter, node);
        w->done(w, why);
    }
}

static void journal_keep(struct sandbox *s)
{
    struct failure why = {0};
    if (journal_write(s->all->o.journal, &s->entry, false, &why) != 0)
        LOG(LOG_ERROR, "journal.write", LOG_STRING("sandbox", s->entry.record.id),
            LOG_FAILURE(&why));
}

// ---- removing ----

static int remove_run(void *subject, struct failure *why)
{
    struct sandbox *s = subject;
    const struct engine *engine = s->all->o.engine;
    int fault = engine->ops->destroy(engine->self, s->entry.record.id, why);
    return fault != 0 ? fault : journal_remove(s->all->o.journal, s->entry.record.id, why);
}

static void remove_retry(struct sandbox *s, const struct failure *why)
{
    int64_t delay = (int64_t)RETRY_LEAST_MS << (s->tries < 6 ? s->tries : 6);
    s->tries++;
    LOG(LOG_ERROR, "sandbox.remove", LOG_STRING("sandbox", s->entry.record.id), LOG_FAILURE(why),
        LOG_I64("tries", s->tries));
    timer_start(&s->timer, delay < RETRY_MOST_MS ? delay : RETRY_MOST_MS);
    waiters_tell(&s->removal_waiters, why);
}

static void free_volume(const struct sandbox *s)
{
    volumes_release(s->all->o.volumes, s->entry.record.volume, s->entry.record.id);
}

static void remove_ended(void *subject, const struct failure *why)
{
    struct sandbox *s = subject;
    if (why != NULL) {
        remove_retry(s, why);
        return;
    }
    sandbox_set_phase(s, SANDBOX_GONE, "removed");
    free_volume(s);
    table_remove(s->all->by_id, span_from_string(s->entry.record.id));
    timer_cancel(&s->timer);
    waiters_tell(&s->removal_waiters, NULL);
    loop_bury(s->all->o.loop, s, sandbox_free);
}

static void remove_job(struct sandbox *s)
{
    struct job_request request = {
        .run = remove_run,
        .ended = remove_ended,
        .subject = s,
        .timeout_ms = s->all->o.config->stop_timeout_ms,
        .always = true,
    };
    (void)jobs_start(s->all->o.jobs, &request, NULL); // `always` is never refused
}

static void remove_start(struct sandbox *s, const char *reason)
{
    timer_cancel(&s->timer);
    sandbox_set_phase(s, SANDBOX_REMOVING, reason);
    remove_job(s);
}

static void on_timer(struct timer *timer)
{
    struct sandbox *s = CONTAINER_OF(timer, struct sandbox, timer);
    if (s->phase == SANDBOX_EXITED)
        remove_start(s, "nobody asked for its end");
    else if (s->phase == SANDBOX_REMOVING)
        remove_job(s);
}

void sandbox_remove(struct sandbox *s, const char *reason, struct sandbox_waiter *w)
{
    if (w != NULL)
        list_append(&s->removal_waiters, &w->node);
    if (s->phase == SANDBOX_STOPPING || s->phase == SANDBOX_REMOVING)
        return;
    s->entry.removing = true;
    if (s->phase == SANDBOX_EXITED) {
        remove_start(s, reason);
        return;
    }
    bool running = s->phase == SANDBOX_RUNNING;
    sandbox_set_phase(s, SANDBOX_STOPPING, reason);
    if (running) {
        journal_keep(s); // a restart must not adopt it again
        child_kill(s->child, SIGKILL);
    }
}

// ---- running ----

static void exit_reason(const struct sandbox *s, int status, char *out, size_t size)
{
    const struct engine *engine = s->all->o.engine;
    if (s->phase == SANDBOX_STOPPING)
        snprintf(out, size, "deleted");
    else if (engine->ops->ran_out_of_memory(engine->self, s->entry.record.id))
        snprintf(out, size, "out of memory");
    else if (status < 0)
        snprintf(out, size, "ended");
    else if (WIFSIGNALED(status))
        snprintf(out, size, "killed by signal %d", WTERMSIG(status));
    else
        snprintf(out, size, "ended with status %d", WEXITSTATUS(status));
}

static void on_container_ended(void *owner, int status)
{
    struct sandbox *s = owner;
    struct sandboxes *all = s->all;
    char reason[64];
    s->child = NULL;
    free_volume(s);
    exit_reason(s, status, reason, sizeof reason);
    all->o.exited(all->o.owner, &s->entry.record, reason);
    if (s->phase == SANDBOX_STOPPING) {
        remove_start(s, reason);
        return;
    }
    sandbox_set_phase(s, SANDBOX_EXITED, reason);
    journal_keep(s);
    timer_start(&s->timer, all->o.config->exited_keep_ms);
}

static int watch_container(struct sandbox *s, struct failure *why)
{
    s->child = child_watch(s->all->o.loop, s->entry.process.pid, on_container_ended, s, why);
    return s->child != NULL ? 0 : why->fault;
}

// ---- creating ----

static int create_run(void *subject, struct failure *why)
{
    struct sandbox *s = subject;
    const struct engine *engine = s->all->o.engine;
    if (s->phase != SANDBOX_CREATING)
        return failure_set(why, FAULT_CANCELLED, "deleted before it was made");
    int fault = journal_write(s->all->o.journal, &s->entry, true, why);
    return fault != 0 ? fault : engine->ops->create(engine->self, &s->order, why);
}

static int create_settle(struct sandbox *s, struct failure *why)
{
    const struct engine *engine = s->all->o.engine;
    pid_t pid;
    int fault = engine->ops->pid(engine->self, s->entry.record.id, &pid, why);
    if (fault == 0 && !process_find(pid, &s->entry.process))
        fault = failure_set(why, FAULT_LOST, "the worker ended at once");
    return fault != 0 ? fault : watch_container(s, why);
}

static void create_failed(struct sandbox *s, struct failure *why)
{
    LOG(LOG_ERROR, "sandbox.create", LOG_STRING("sandbox", s->entry.record.id),
        LOG_STRING("profile", s->entry.record.profile), LOG_FAILURE(why));
    remove_start(s, "its creation failed");
    free_volume(s); // whoever asks again need not wait for the removal; the image's lock holds
    waiters_tell(&s->creation_waiters, why);
}

static void create_ended(void *subject, const struct failure *job_failure)
{
    struct sandbox *s = subject;
    const struct engine *engine = s->all->o.engine;
    struct failure why = {0};
    memory_wipe(s->order.create.secret, sizeof s->order.create.secret);
    if (job_failure != NULL) {
        why = *job_failure;
        engine->ops->explain(engine->self, s->entry.record.id, &why);
    }
    if (s->phase == SANDBOX_STOPPING) {
        failure_set(&why, FAULT_CANCELLED, "deleted while it was made");
        create_failed(s, &why);
        return;
    }
    if (why.fault != 0 || create_settle(s, &why) != 0) {
        create_failed(s, &why);
        return;
    }
    sandbox_set_phase(s, SANDBOX_RUNNING, "created");
    journal_keep(s);
    LOG(LOG_INFO, "sandbox.created", LOG_STRING("sandbox", s->entry.record.id),
        LOG_I64("us", clock_monotonic_us(loop_clock(s->all->o.loop)) - s->requested_us));
    waiters_tell(&s->creation_waiters, NULL);
}

static struct sandbox *sandbox_new(struct sandboxes *all, const struct driver_record *record)
{
    struct sandbox *s = memory_new(sizeof *s);
    s->all = all;
    s->phase = SANDBOX_CREATING;
    s->entry.record = *record;
    s->entry.record.state = DRIVER_STATE_CREATING;
    list_init(&s->creation_waiters);
    list_init(&s->removal_waiters);
    timer_init(&s->timer, all->o.loop, on_timer);
    table_put(all->by_id, span_from_string(record->id), s);
    return s;
}

static int profile_index(const struct sandboxes *all, const char *name, size_t *out,
                         struct failure *why)
{
    const struct driver_profile *p = driver_config_profile(all->o.config, name);
    if (p == NULL)
        return failure_set(why, FAULT_NOT_FOUND, "there is no profile %s", name);
    *out = (size_t)(p - all->o.config->profiles);
    return 0;
}

static void record_fill(const struct sandboxes *all, const struct driver_create *create,
                        size_t profile, struct driver_record *r)
{
    const struct engine *engine = all->o.engine;
    *r = (struct driver_record){
        .generation = create->generation,
        .created_ms = clock_wall_ms(loop_clock(all->o.loop)),
    };
    memcpy(r->id, create->id, sizeof r->id);
    memcpy(r->fleet, create->fleet, sizeof r->fleet);
    memcpy(r->profile, create->profile, sizeof r->profile);
    memcpy(r->volume, create->volume, sizeof r->volume);
    engine->ops->endpoint(engine->self, create->id, r->endpoint);
    snprintf(r->digest, sizeof r->digest, "%s", engine->ops->digest(engine->self, profile));
    profile_revision(&all->o.config->profiles[profile], r->digest, r->revision);
}

static int existing_check(const struct sandbox *s, const struct driver_create *create,
                          struct failure *why)
{
    if (s->entry.record.generation != create->generation)
        return failure_set(why, FAULT_CONFLICT, "this id exists with generation %lld",
                           (long long)s->entry.record.generation);
    if (s->phase != SANDBOX_CREATING && s->phase != SANDBOX_RUNNING)
        return failure_set(why, FAULT_CONFLICT, "this sandbox is %s", sandbox_phase_name(s->phase));
    return 0;
}

int sandboxes_create(struct sandboxes *all, const struct driver_create *create, uid_t peer_uid,
                     struct sandbox **out, bool *existed, struct failure *why)
{
    size_t profile = 0;
    *out = sandboxes_get(all, create->id);
    *existed = *out != NULL;
    if (*existed)
        return existing_check(*out, create, why);
    int fault = profile_index(all, create->profile, &profile, why);
    if (fault != 0)
        return fault;
    if (table_count(all->by_id) >= (size_t)all->o.config->sandboxes)
        return failure_set(why, FAULT_QUOTA, "this driver has its %lld sandboxes",
                           (long long)all->o.config->sandboxes);
    if (create->volume[0] != '\0' && (fault = volumes_take(all->o.volumes, create, why)) != 0)
        return fault;
    struct driver_record record;
    record_fill(all, create, profile, &record);
    struct sandbox *s = sandbox_new(all, &record);
    s->requested_us = clock_monotonic_us(loop_clock(all->o.loop));
    s->order = (struct engine_order){
        .create = *create, .profile = profile, .peer_uid = peer_uid, .grace_ms = WORKER_GRACE_MS};
    struct job_request request = {
        .run = create_run,
        .ended = create_ended,
        .subject = s,
        .timeout_ms = all->o.config->start_timeout_ms,
    };
    fault = jobs_start(all->o.jobs, &request, why);
    if (fault != 0) {
        table_remove(all->by_id, span_from_string(create->id));
        free_volume(s);
        sandbox_free(s);
        return fault;
    }
    *out = s;
    return 0;
}

void sandbox_wait_created(struct sandbox *s, struct sandbox_waiter *w)
{
    if (s->phase == SANDBOX_RUNNING)
        w->done(w, NULL);
    else
        list_append(&s->creation_waiters, &w->node);
}

int sandbox_set_note(struct sandbox *s, struct span note, struct failure *why)
{
    struct driver_record *r = &s->entry.record;
    if (!span_copy_string(note, r->note, sizeof r->note))
        return failure_set(why, FAULT_TOO_LARGE, "expected a note of at most %d bytes",
                           NOTE_SIZE - 1);
    // While it is made, its file belongs to the job; the note is written with the outcome.
    if (s->phase == SANDBOX_CREATING)
        return 0;
    return journal_write(s->all->o.journal, &s->entry, false, why);
}

// ---- after a restart ----

static void adopt(void *owner, const char *id, const struct journal_entry *entry)
{
    struct sandboxes *all = owner;
    struct driver_record unknown = {0};
    snprintf(unknown.id, sizeof unknown.id, "%s", id);
    struct sandbox *s = sandbox_new(all, entry != NULL ? &entry->record : &unknown);
    if (entry == NULL) {
        remove_start(s, "its record cannot be read");
        return;
    }
    s->entry = *entry;
    volumes_hold(all->o.volumes, entry->record.volume, id);
    struct failure why = {0};
    if (entry->removing || entry->record.state == DRIVER_STATE_CREATING) {
        remove_start(s, entry->removing ? "its removal was broken off"
                                        : "its creation was broken off");
    } else if (entry->record.state == DRIVER_STATE_RUNNING && process_is_alive(&entry->process) &&
               watch_container(s, &why) == 0) {
        sandbox_set_phase(s, SANDBOX_RUNNING, "adopted");
    } else {
        sandbox_set_phase(s, SANDBOX_EXITED, "ended while no driver watched");
        free_volume(s);
        timer_start(&s->timer, all->o.config->exited_keep_ms);
    }
}

int sandboxes_recover(struct sandboxes *all, struct failure *why)
{
    int fault = journal_each(all->o.journal, adopt, all, why);
    if (fault != 0)
        return fault;
    LOG(LOG_INFO, "recovered", LOG_I64("sandboxes", (int64_t)table_count(all->by_id)));
    sandboxes_sweep(all);
    return 0;
}

static void on_trace(void *owner, const char *id)
{
    struct sandboxes *all = owner;
    if (sandboxes_get(all, id) != NULL)
        return;
    struct driver_record unknown = {0};
    snprintf(unknown.id, sizeof unknown.id, "%s", id);
    remove_start(sandbox_new(all, &unknown), "nothing in the journal explains it");
}

static bool digest_is_in_use(void *owner, const char *digest)
{
    const struct sandboxes *all = owner;
    struct span key;
    void *value;
    for (size_t at = 0; table_next(all->by_id, &at, &key, &value);)
        if (strcmp(((const struct sandbox *)value)->entry.record.digest, digest) == 0)
            return true;
    return false;
}

void sandboxes_sweep(struct sandboxes *all)
{
    const struct engine *engine = all->o.engine;
    struct failure why = {0};
    if (engine->ops->each_trace(engine->self, on_trace, all, &why) != 0)
        LOG(LOG_ERROR, "sweep", LOG_FAILURE(&why));
    engine->ops->tidy(engine->self, digest_is_in_use, all);
    timer_start(&all->sweep, SWEEP_MS);
}

static void on_sweep(struct timer *timer)
{
    sandboxes_sweep(CONTAINER_OF(timer, struct sandboxes, sweep));
}

// ---- orphans of runtimes, which fall to us as the nearest reaper ----

static bool is_watched(const struct sandboxes *all, pid_t pid)
{
    struct span key;
    void *value;
    for (size_t at = 0; table_next(all->by_id, &at, &key, &value);) {
        const struct sandbox *s = value;
        // A creation's container may end before its pid is known here.
        if (s->phase == SANDBOX_CREATING || s->entry.process.pid == pid)
            return true;
    }
    return jobs_have(all->o.jobs, pid);
}

static void on_reap(struct timer *timer)
{
    struct sandboxes *all = CONTAINER_OF(timer, struct sandboxes, reap);
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            is_watched(all, info.si_pid))
            break;
        waitpid(info.si_pid, NULL, WNOHANG);
    }
    timer_start(&all->reap, REAP_MS);
}

// ---- all of them ----

struct sandboxes *sandboxes_new(const struct sandboxes_options *options)
{
    struct sandboxes *all = memory_new(sizeof *all);
    all->o = *options;
    all->by_id = table_new();
    timer_init(&all->sweep, options->loop, on_sweep);
    timer_init(&all->reap, options->loop, on_reap);
    timer_start(&all->reap, REAP_MS);
    return all;
}

void sandboxes_free(struct sandboxes *all)
{
    struct span key;
    void *value;
    timer_cancel(&all->sweep);
    timer_cancel(&all->reap);
    all->o.engine->ops->tidy(all->o.engine->self, digest_is_in_use, all);
    for (size_t at = 0; table_next(all->by_id, &at, &key, &value);) {
        struct sandbox *s = value;
        timer_cancel(&s->timer);
        child_forget(s->child);
        sandbox_free(s);
    }
    table_free(all->by_id);
    free(all);
}

struct sandbox *sandboxes_get(const struct sandboxes *all, const char *id)
{
    return table_get(all->by_id, span_from_string(id));
}

size_t sandboxes_count(const struct sandboxes *all)
{
    return table_count(all->by_id);
}

void sandboxes_each(const struct sandboxes *all, void (*each)(void *owner, const struct sandbox *s),
                    void *owner)
{
    struct span key;
    void *value;
    for (size_t at = 0; table_next(all->by_id, &at, &key, &value);)
        each(owner, value);
}
