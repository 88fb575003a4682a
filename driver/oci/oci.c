// SPDX-License-Identifier: Apache-2.0
#include "driver/oci/oci.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver/oci/cgroup.h"
#include "driver/oci/instance.h"
#include "driver/oci/volume.h"
#include "driver/volumes.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/confine/limits.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/telemetry/log.h"

enum { RUNTIME_LOG_LIMIT = 256 << 10 };

int oci_path(const struct oci *o, const char *id, const char *name, char out[FILE_PATH_SIZE],
             struct failure *why)
{
    return path_format(out, why, "%s/sandboxes/%s%s%s", o->config->run_dir, id,
                       name[0] != '\0' ? "/" : "", name);
}

int oci_cgroup(const struct oci *o, const char *id, char out[FILE_PATH_SIZE], struct failure *why)
{
    return path_format(out, why, "%s/%s/%s", o->config->cgroup_parent, o->installation, id);
}

void oci_label(const struct oci *o, const char *id, char out[DISK_LABEL_SIZE])
{
    snprintf(out, DISK_LABEL_SIZE, "wrist-%.12s-%s", o->installation, id);
}

void oci_volume_label(const struct oci *o, const char *id, char out[DISK_LABEL_SIZE])
{
    snprintf(out, DISK_LABEL_SIZE, "wrist-%.12s-%s-v", o->installation, id);
}

int oci_volume_path(const struct oci *o, const char *volume, char out[FILE_PATH_SIZE],
                    struct failure *why)
{
    char folder[FILE_PATH_SIZE];
    int fault = volumes_folder(o->config, folder, why);
    return fault != 0 ? fault : path_format(out, why, "%s/%s.ext4", folder, volume);
}

static int oci_volume_remove(void *engine, const char *volume, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    int fault = oci_volume_path(engine, volume, path, why);
    return fault != 0 ? fault : volume_remove(path, why);
}

int oci_state_root(const struct oci *o, char out[FILE_PATH_SIZE], struct failure *why)
{
    return path_format(out, why, "%s/runtime", o->config->run_dir);
}

static void oci_endpoint(void *engine, const char *id, char out[ENDPOINT_SIZE])
{
    char path[FILE_PATH_SIZE];
    if (oci_path(engine, id, "link.sock", path, NULL) == 0)
        snprintf(out, ENDPOINT_SIZE, "unix:%.*s", ENDPOINT_SIZE - 6, path);
}

static const char *oci_digest(void *engine, size_t profile)
{
    const struct oci *o = engine;
    return o->profiles[profile].root.digest;
}

static int oci_pid(void *engine, const char *id, pid_t *out, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    struct buffer text;
    int fault = oci_path(engine, id, "pid", path, why);
    if (fault != 0)
        return fault;
    buffer_init(&text, 32 << 10);
    fault = file_read(path, &text, why);
    uint64_t pid = 0;
    if (fault == 0 && (!span_to_u64(span_trim(buffer_span(&text)), &pid) || pid < 2))
        fault = failure_set(why, FAULT_INTERNAL, "%s: not a pid", path);
    *out = (pid_t)pid;
    buffer_fini(&text);
    return fault;
}

// The last error line of the runtime's log.
static bool log_last_error(struct span text, struct buffer *out)
{
    bool found = false;
    while (!span_is_absent(text)) {
        struct span line = span_split(&text, '\n');
        struct json *doc = NULL;
        if (json_parse(line, &json_limits_default, &doc, NULL) != 0)
            continue;
        if (!json_string_is(doc, json_get(doc, JSON_ROOT, "level"), "info")) {
            buffer_clear(out);
            found = json_string(doc, json_get(doc, JSON_ROOT, "msg"), out) || found;
        }
        json_free(doc);
    }
    return found;
}

static void oci_explain(void *engine, const char *id, struct failure *why)
{
    char path[FILE_PATH_SIZE];
    struct buffer text, message;
    buffer_init(&text, RUNTIME_LOG_LIMIT);
    buffer_init(&message, 16 << 10);
    if (oci_path(engine, id, "runtime.log", path, NULL) == 0 && file_read(path, &text, NULL) == 0 &&
        log_last_error(buffer_span(&text), &message)) {
        struct span said = buffer_span(&message);
        failure_set(why, why->fault, "%.*s", (int)(said.size > 400 ? 400 : said.size), said.data);
    }
    buffer_fini(&text);
    buffer_fini(&message);
}

static bool oci_ran_out_of_memory(void *engine, const char *id)
{
    const struct oci *o = engine;
    char path[FILE_PATH_SIZE];
    return o->has_cgroups && oci_cgroup(o, id, path, NULL) == 0 && cgroup_was_oom(path);
}

static void oci_free(void *engine)
{
    struct oci *o = engine;
    free(o->profiles);
    free(o);
}

static int make_folders(const struct oci *o, struct failure *why)
{
    static const struct {
        const char *name;
        mode_t mode;
    } folders[] = {{"sandboxes", 0711}, {"roots", 0711}, {"runtime", 0700}};
    char path[FILE_PATH_SIZE];
    int fault = 0;
    for (size_t i = 0; fault == 0 && i < ARRAY_COUNT(folders); i++) {
        fault = path_format(path, why, "%s/%s", o->config->run_dir, folders[i].name);
        if (fault == 0)
            fault = directory_make(path, folders[i].mode, why);
    }
    if (fault == 0)
        fault = path_format(path, why, "%s/disks", o->config->state_dir);
    return fault != 0 ? fault : directory_make(path, 0700, why);
}

static void log_profile(const struct oci *o, const struct oci_profile *p)
{
    LOG(LOG_INFO, "profile", LOG_STRING("profile", p->settings->name),
        LOG_STRING("runtime", p->runtime.version), LOG_STRING("digest", p->root.digest),
        LOG_BOOL("trial", p->settings->trial), LOG_BOOL("rootless", o->rootless));
    if (p->settings->trial)
        LOG(LOG_WARN, "profile.trial", LOG_STRING("profile", p->settings->name),
            LOG_STRING("note", "trial mode: sandboxes see this host's /usr; take an image to "
                               "serve others"));
    if (o->one_uid)
        LOG(LOG_WARN, "profile.weak_isolation", LOG_STRING("profile", p->settings->name),
            LOG_STRING("note", "no second uid: a command can signal, trace and read its worker "
                               "as far as the kernel lets equals; it can forge the worker's "
                               "answers and write to /inputs"));
    if (!o->has_cgroups)
        LOG(LOG_WARN, "profile.no_cgroups", LOG_STRING("profile", p->settings->name),
            LOG_STRING("note", "no cgroups here: caps on memory, cpu and pids do not hold"));
}

static int profile_open(struct oci *o, const struct driver_profile *settings, struct oci_profile *p,
                        struct failure *why)
{
    char roots[FILE_PATH_SIZE], disks[FILE_PATH_SIZE];
    *p = (struct oci_profile){.settings = settings};
    if (o->one_uid && !settings->weak_isolation)
        return failure_set(why, FAULT_DENIED,
                           "profile %s: this user has no range in /etc/subuid and /etc/subgid (or "
                           "newuidmap is missing), so commands would share the worker's uid; give "
                           "it one, or set weak_isolation: true",
                           settings->name);
    if (o->rootless && settings->read_only)
        return failure_set(why, FAULT_UNAVAILABLE,
                           "profile %s: read_only needs a disk for each sandbox, and this user may "
                           "mount none; start the driver as root",
                           settings->name);
    if (o->rootless && settings->volume_bytes != 0)
        return failure_set(
            why, FAULT_UNAVAILABLE,
            "profile %s: volumes are disks that are mounted, and this user may mount "
            "none; start the driver as root, or set volumes.size: 0",
            settings->name);
    int fault = runtime_find(settings->runtime[0] != '\0' ? settings->runtime : o->config->runtime,
                             &p->runtime, why);
    if (fault == 0)
        fault = path_format(roots, why, "%s/roots", o->config->run_dir);
    if (fault == 0)
        fault = root_open(&p->root, settings, roots, why);
    if (fault == 0 && !o->rootless) {
        fault = path_format(disks, why, "%s/disks", o->config->state_dir);
        if (fault == 0)
            fault = disk_template_make(disks, settings->disk_bytes, settings->disk_inodes,
                                       p->disk_template, why);
    }
    if (fault == 0)
        log_profile(o, p);
    return fault;
}

static int oci_revise(void *engine, size_t profile, const struct driver_profile *fresh,
                      struct failure *why)
{
    struct oci *o = engine;
    struct oci_profile *p = &o->profiles[profile];
    struct oci_profile *next = memory_new(sizeof *next);
    int fault = profile_open(o, fresh, next, why);
    if (fault == 0) {
        next->settings = p->settings; // whose content is replaced by the caller
        *p = *next;
    }
    free(next);
    return fault;
}

static void ids_find(struct oci *o)
{
    if (!o->rootless) {
        id_map_from_range(&o->uids, o->config->uid_base, o->config->uid_count);
        o->gids = o->uids;
        return;
    }
    id_map_from_grant(&o->uids, "/etc/subuid", getuid());
    id_map_from_grant(&o->gids, "/etc/subgid", getgid());
    o->one_uid = o->uids.count < 2 || o->gids.count < 2;
}

static const struct engine_ops oci_ops = {
    .name = "oci",
    .create = oci_create,
    .destroy = oci_destroy,
    .volume_remove = oci_volume_remove,
    .pid = oci_pid,
    .endpoint = oci_endpoint,
    .digest = oci_digest,
    .revise = oci_revise,
    .explain = oci_explain,
    .ran_out_of_memory = oci_ran_out_of_memory,
    .each_trace = oci_each_trace,
    .tidy = oci_tidy,
    .free = oci_free,
};

// Containers get no keyring of their own (create.c) and would share the caller's: an empty one.
static void leave_keyring(void)
{
    (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
}

int oci_open(const struct driver_config *config, const char *installation, struct engine *out,
             struct failure *why)
{
    struct oci *o = memory_new(sizeof *o);
    o->config = config;
    snprintf(o->installation, sizeof o->installation, "%s", installation);
    o->rootless = geteuid() != 0;
    o->has_cgroups = !o->rootless && cgroups_are_writable();
    o->limits_swap = cgroups_limit_swap();
    o->open_files = limits_raise_open_files();
    o->profiles = memory_new_array(config->profile_count, sizeof *o->profiles);
    ids_find(o);
    leave_keyring();
    int fault = make_folders(o, why);
    for (size_t i = 0; fault == 0 && i < config->profile_count; i++)
        fault = profile_open(o, &config->profiles[i], &o->profiles[i], why);
    if (fault != 0) {
        oci_free(o);
        return fault;
    }
    *out = (struct engine){&oci_ops, o};
    return 0;
}
