// SPDX-License-Identifier: Apache-2.0
#include "driver/volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/file/file.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/telemetry/log.h"

enum {
    RECORD_LIMIT = 16 << 10,
    SWEEP_LEAST_MS = 1000,
    SWEEP_MOST_MS = 60 * 1000,
    REMOVE_MS = 60 * 1000,
    MARK = 12, // of an id, for logs
};

struct volume {
    struct volumes *all;
    struct driver_volume record;
    bool removing, expired;
    struct list waiters;
};

struct volumes {
    struct volumes_options o;
    struct table *by_id; // owned, and so are the volumes in it
    struct timer sweep;
    int64_t started_wall_ms, started_ms; // a wall clock that is set makes nothing older
};

int volumes_folder(const struct driver_config *config, char out[FILE_PATH_SIZE],
                   struct failure *why)
{
    if (config->volume_dir[0] != '\0')
        return path_format(out, why, "%s", config->volume_dir);
    return path_format(out, why, "%s/volumes", config->state_dir);
}

static int64_t now_ms(const struct volumes *all)
{
    return all->started_wall_ms + loop_now_ms(all->o.loop) - all->started_ms;
}

static struct volume *find(const struct volumes *all, const char *id)
{
    return table_get(all->by_id, span_from_string(id));
}

static int record_path(const struct volumes *all, const char *id, char out[FILE_PATH_SIZE],
                       struct failure *why)
{
    char folder[FILE_PATH_SIZE];
    int fault = volumes_folder(all->o.config, folder, why);
    return fault != 0 ? fault : path_format(out, why, "%s/%s.json", folder, id);
}

static int record_write(const struct volume *v, bool durable, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    struct buffer text;
    buffer_init(&text, RECORD_LIMIT);
    int fault = record_path(v->all, v->record.id, path, why);
    if (fault == 0 && driver_volume_write(&v->record, &text) != 0)
        fault = failure_set(why, FAULT_INTERNAL, "write the record of a volume");
    if (fault == 0)
        fault = file_replace(AT_FDCWD, path, buffer_span(&text), durable, why);
    buffer_fini(&text);
    return fault;
}

static void record_keep(const struct volume *v)
{
    struct failure why;
    if (record_write(v, false, &why) != 0)
        LOG(LOG_ERROR, "volume.record", LOG_FAILURE(&why));
}

static void tell(const struct volume *v, const char *event)
{
    LOG(LOG_INFO, event, LOG_SPAN("volume", span_of(v->record.id, MARK)),
        LOG_STRING("profile", v->record.profile), LOG_STRING("sandbox", v->record.sandbox));
}

static struct volume *volume_new(struct volumes *all, const struct driver_volume *record)
{
    struct volume *v = memory_new(sizeof *v);
    *v = (struct volume){.all = all, .record = *record};
    list_init(&v->waiters);
    table_put(all->by_id, span_from_string(record->id), v);
    return v;
}

// Use ---------------------------------------------------------------------------------------------

static int64_t count_of(const struct volumes *all, const struct driver_create *create)
{
    int64_t count = 0;
    void *value;
    for (size_t at = 0; table_next(all->by_id, &at, NULL, &value);) {
        const struct driver_volume *r = &((const struct volume *)value)->record;
        count += strcmp(r->owner, create->volume_owner) == 0 &&
                 strcmp(r->fleet, create->fleet) == 0 && strcmp(r->profile, create->profile) == 0;
    }
    return count;
}

static int check_order(const struct volumes *all, const struct driver_create *create,
                       const struct driver_profile *profile, struct failure *why)
{
    if (profile == NULL || profile->volume_bytes == 0)
        return failure_set(why, FAULT_INVALID, "profile %s has no volumes", create->profile);
    if (create->volume_owner[0] == '\0' || create->volume_keep_ms <= 0)
        return failure_set(why, FAULT_INVALID, "a volume needs its owner and how long it is kept");
    if (find(all, create->volume) == NULL && count_of(all, create) >= create->volumes_most)
        return failure_set(why, FAULT_QUOTA,
                           "you have %" PRId64 " volumes of profile %s, which is the limit; delete "
                           "one",
                           create->volumes_most, create->profile);
    return 0;
}

static int check_present(const struct volume *v, const struct driver_create *create,
                         struct failure *why)
{
    const struct driver_volume *r = &v->record;
    if (strcmp(r->owner, create->volume_owner) != 0 || strcmp(r->fleet, create->fleet) != 0)
        return failure_set(why, FAULT_DENIED, "the volume is another principal's");
    if (strcmp(r->profile, create->profile) != 0)
        return failure_set(why, FAULT_INVALID, "the volume is of profile %s", r->profile);
    if (v->removing)
        return failure_set(why, FAULT_CONFLICT, "the volume is being deleted");
    if (r->sandbox[0] != '\0' && strcmp(r->sandbox, create->id) != 0)
        return failure_set(why, FAULT_CONFLICT, "sandbox %s has the volume", r->sandbox);
    return 0;
}

int volumes_take(struct volumes *all, const struct driver_create *create, struct failure *why)
{
    const struct driver_profile *profile = driver_config_profile(all->o.config, create->profile);
    int fault = check_order(all, create, profile, why);
    if (fault != 0)
        return fault;
    struct volume *v = find(all, create->volume);
    bool is_new = v == NULL;
    if (is_new) {
        struct driver_volume record = {.bytes = profile->volume_bytes, .created_ms = now_ms(all)};
        memcpy(record.id, create->volume, sizeof record.id);
        memcpy(record.fleet, create->fleet, sizeof record.fleet);
        memcpy(record.owner, create->volume_owner, sizeof record.owner);
        memcpy(record.profile, create->profile, sizeof record.profile);
        v = volume_new(all, &record);
    } else if ((fault = check_present(v, create, why)) != 0) {
        return fault;
    }
    memcpy(v->record.label, create->volume_label, sizeof v->record.label);
    memcpy(v->record.sandbox, create->id, sizeof v->record.sandbox);
    v->record.keep_ms = create->volume_keep_ms;
    v->record.used_ms = now_ms(all);
    fault = record_write(v, true, why);
    if (fault != 0) {
        v->record.sandbox[0] = '\0';
        if (is_new) {
            table_remove(all->by_id, span_from_string(v->record.id));
            free(v);
        }
        return fault;
    }
    tell(v, is_new ? "volume.made" : "volume.taken");
    return 0;
}

void volumes_hold(struct volumes *all, const char *id, const char *sandbox)
{
    struct volume *v = find(all, id);
    if (v != NULL)
        span_copy_string(span_from_string(sandbox), v->record.sandbox, sizeof v->record.sandbox);
}

static void sweep_soon(struct volumes *all)
{
    timer_start(&all->sweep, SWEEP_LEAST_MS);
}

void volumes_release(struct volumes *all, const char *id, const char *sandbox)
{
    struct volume *v = find(all, id);
    if (v == NULL || strcmp(v->record.sandbox, sandbox) != 0)
        return;
    tell(v, "volume.free");
    v->record.sandbox[0] = '\0';
    v->record.used_ms = now_ms(all);
    record_keep(v);
    sweep_soon(all);
}

// Its end -----------------------------------------------------------------------------------------

static int remove_run(void *subject, struct failure *why)
{
    const struct volume *v = subject;
    const struct engine *engine = v->all->o.engine;
    char path[FILE_PATH_SIZE];
    int fault = engine->ops->volume_remove(engine->self, v->record.id, why);
    if (fault == 0)
        fault = record_path(v->all, v->record.id, path, why);
    if (fault == 0 && unlink(path) != 0 && errno != ENOENT)
        fault = failure_errno(why, "remove %s", path);
    return fault;
}

static void volume_free(void *object)
{
    free(object);
}

static void remove_ended(void *subject, const struct failure *why)
{
    struct volume *v = subject;
    struct volumes *all = v->all;
    struct list waiters;
    list_init(&waiters);
    for (struct list *node; (node = list_pop(&v->waiters)) != NULL;)
        list_append(&waiters, node);
    v->removing = false;
    if (why == NULL) {
        tell(v, v->expired ? "volume.expired" : "volume.deleted");
        table_remove(all->by_id, span_from_string(v->record.id));
        if (v->expired)
            all->o.expired(all->o.owner, &v->record);
        loop_bury(all->o.loop, v, volume_free);
    } else {
        LOG(LOG_ERROR, "volume.remove", LOG_SPAN("volume", span_of(v->record.id, MARK)),
            LOG_FAILURE(why));
    }
    for (struct list *node; (node = list_pop(&waiters)) != NULL;) {
        struct volume_waiter *w = LIST_ENTRY(node, struct volume_waiter, node);
        w->done(w, why);
    }
}

static void remove_start(struct volume *v, bool expired)
{
    struct job_request request = {.run = remove_run,
                                  .ended = remove_ended,
                                  .subject = v,
                                  .timeout_ms = REMOVE_MS,
                                  .always = true};
    v->removing = true;
    v->expired = expired;
    (void)jobs_start(v->all->o.jobs, &request, NULL); // `always` is never refused
}

int volumes_remove(struct volumes *all, const char *id, const char *fleet, struct volume_waiter *w,
                   struct failure *why)
{
    struct volume *v = find(all, id);
    if (v == NULL || strcmp(v->record.fleet, fleet) != 0)
        return failure_set(why, FAULT_NOT_FOUND, "there is no such volume");
    if (v->record.sandbox[0] != '\0')
        return failure_set(why, FAULT_CONFLICT, "sandbox %s has the volume", v->record.sandbox);
    list_append(&v->waiters, &w->node);
    if (!v->removing)
        remove_start(v, false);
    return 0;
}

static void on_sweep(struct timer *timer)
{
    struct volumes *all = CONTAINER_OF(timer, struct volumes, sweep);
    int64_t now = now_ms(all), wait = SWEEP_MOST_MS;
    bool in_grace = loop_now_ms(all->o.loop) < all->started_ms + all->o.config->volume_grace_ms;
    void *value;
    for (size_t at = 0; table_next(all->by_id, &at, NULL, &value);) {
        struct volume *v = value;
        int64_t left = v->record.used_ms + v->record.keep_ms - now;
        if (v->record.sandbox[0] != '\0' || v->removing)
            continue;
        if (left <= 0 && !in_grace)
            remove_start(v, true);
        else if (left < wait)
            wait = left;
    }
    timer_start(timer, wait > SWEEP_LEAST_MS ? wait : SWEEP_LEAST_MS);
}

// At the start --------------------------------------------------------------------------------

static bool ends_with(const char *name, const char *tail)
{
    size_t size = strlen(name), tail_size = strlen(tail);
    return size >= tail_size && strcmp(name + size - tail_size, tail) == 0;
}

static void record_read(struct volumes *all, const char *name, const char *path)
{
    struct driver_volume record;
    struct failure why;
    struct buffer text;
    buffer_init(&text, RECORD_LIMIT);
    int fault = file_read(path, &text, &why);
    if (fault == 0)
        fault = driver_volume_parse(buffer_span(&text), &record, &why);
    if (fault == 0 && strncmp(name, record.id, VOLUME_HASH_SIZE - 1) != 0)
        fault = failure_set(&why, FAULT_INVALID, "it names another volume");
    buffer_fini(&text);
    if (fault != 0) { // its image is never touched without its owner's word
        LOG(LOG_ERROR, "volume.unreadable", LOG_STRING("file", path), LOG_FAILURE(&why));
        return;
    }
    if (record.used_ms > all->started_wall_ms) // the clock was set back
        record.used_ms = all->started_wall_ms;
    record.sandbox[0] = '\0';
    volume_new(all, &record);
}

static int entry_read(void *owner, const char *name, struct failure *why)
{
    struct volumes *all = owner;
    char folder[FILE_PATH_SIZE], path[FILE_PATH_SIZE];
    int fault = volumes_folder(all->o.config, folder, why);
    if (fault == 0)
        fault = path_format(path, why, "%s/%s", folder, name);
    if (fault != 0)
        return fault;
    if (ends_with(name, ".json"))
        record_read(all, name, path);
    else if (strstr(name, ".new") != NULL) // half formatted, or half written
        unlink(path);
    return 0;
}

int volumes_open(const struct volumes_options *options, struct volumes **out, struct failure *why)
{
    char folder[FILE_PATH_SIZE];
    struct volumes *all = memory_new(sizeof *all);
    *all = (struct volumes){.o = *options,
                            .by_id = table_new(),
                            .started_ms = loop_now_ms(options->loop),
                            .started_wall_ms = clock_wall_ms(loop_clock(options->loop))};
    timer_init(&all->sweep, options->loop, on_sweep);
    int fault = volumes_folder(options->config, folder, why);
    if (fault == 0)
        fault = directory_make_all(folder, 0700, why);
    if (fault == 0)
        fault = directory_each(folder, entry_read, all, why);
    if (fault != 0) {
        volumes_free(all);
        return fault;
    }
    timer_start(&all->sweep, SWEEP_LEAST_MS);
    *out = all;
    return 0;
}

void volumes_free(struct volumes *all)
{
    void *value;
    timer_cancel(&all->sweep);
    for (size_t at = 0; table_next(all->by_id, &at, NULL, &value);)
        free(value);
    table_free(all->by_id);
    free(all);
}

void volumes_each(const struct volumes *all,
                  void (*each)(void *owner, const struct driver_volume *v), void *owner)
{
    void *value;
    for (size_t at = 0; table_next(all->by_id, &at, NULL, &value);)
        each(owner, &((const struct volume *)value)->record);
}
