// SPDX-License-Identifier: Apache-2.0
// The end of a sandbox, also of half a one: in a job's process, each step harmless where there is
// nothing left for it.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "driver/job.h"
#include "driver/oci/cgroup.h"
#include "driver/oci/instance.h"
#include "gateway/lib/base/memory.h"

enum { WAIT_ROUNDS = 1000, ROUND_MS = 5 };

// The runtime ends the processes and forgets the container.
static int run_delete(const struct oci *o, const char *id, struct failure *why)
{
    char root[FILE_PATH_SIZE], state[FILE_PATH_SIZE];
    int fault = oci_state_root(o, root, why);
    if (fault == 0)
        fault = path_format(state, why, "%s/%s", root, id);
    if (fault != 0 || access(state, F_OK) != 0)
        return fault;
    for (size_t i = 0; i < o->config->profile_count; i++) {
        const char *argv[RUNTIME_ARGUMENTS_MAX + 4];
        size_t n = runtime_arguments(&o->profiles[i].runtime, root, "/dev/null", o->rootless, argv);
        argv[n++] = "delete";
        argv[n++] = "--force";
        argv[n++] = id;
        argv[n] = NULL;
        fault = program_run((char *const *)(uintptr_t)argv, why);
        if (access(state, F_OK) != 0)
            return 0;
    }
    // A creation that was broken off in the middle left something no runtime can read.
    return tree_remove(state, why);
}

// `note` is the file that has the loop device's number.
static int wait_for_disk(const struct oci *o, const char *id, const char *note, const char *label,
                         struct failure *why)
{
    char path[FILE_PATH_SIZE];
    struct buffer text;
    int fault = oci_path(o, id, note, path, why);
    if (fault != 0)
        return fault;
    buffer_init(&text, 16384 + 32);
    int number = -1;
    if (file_read(path, &text, NULL) == 0 && buffer_append_char(&text, '\0') == 0)
        number = (int)strtol(buffer_span(&text).data, NULL, 10);
    buffer_fini(&text);
    for (int round = 0; number >= 0 && disk_is_attached(number, label); round++) {
        if (round == WAIT_ROUNDS)
            return failure_set(why, FAULT_TIMEOUT, "/dev/loop%d stays attached", number);
        nanosleep(&(struct timespec){0, ROUND_MS * 1000000L}, NULL);
    }
    return 0;
}

static int wait_for_disks(const struct oci *o, const char *id, struct failure *why)
{
    char label[DISK_LABEL_SIZE];
    oci_label(o, id, label);
    int fault = wait_for_disk(o, id, "loop", label, why);
    oci_volume_label(o, id, label);
    return fault != 0 ? fault : wait_for_disk(o, id, "volume-loop", label, why);
}

int oci_destroy(void *engine, const char *id, struct failure *why)
{
    const struct oci *o = engine;
    char path[FILE_PATH_SIZE];
    int fault = run_delete(o, id, why);
    if (fault == 0 && o->has_cgroups) {
        fault = oci_cgroup(o, id, path, why);
        if (fault == 0)
            fault = cgroup_destroy(path, why);
    }
    if (fault == 0)
        fault = wait_for_disks(o, id, why);
    if (fault == 0)
        fault = oci_path(o, id, "", path, why);
    if (fault == 0)
        fault = tree_remove(path, why);
    return fault;
}

struct traces {
    void (*found)(void *owner, const char *id);
    void *owner;
};

// Nothing else has such a name, and what has another name is not ours.
static bool is_id(const char *name)
{
    return strlen(name) == ID_SIZE - 1 && strspn(name, "0123456789abcdef") == ID_SIZE - 1;
}

static int on_trace(void *owner, const char *name, struct failure *why)
{
    struct traces *t = owner;
    (void)why;
    if (is_id(name))
        t->found(t->owner, name);
    return 0;
}

int oci_each_trace(void *engine, void (*found)(void *owner, const char *id), void *owner,
                   struct failure *why)
{
    const struct oci *o = engine;
    struct traces t = {found, owner};
    char path[FILE_PATH_SIZE];
    int fault = path_format(path, why, "%s/sandboxes", o->config->run_dir);
    if (fault == 0)
        fault = directory_each(path, on_trace, &t, why);
    if (fault == 0)
        fault = oci_state_root(o, path, why);
    if (fault == 0)
        fault = directory_each(path, on_trace, &t, why);
    if (fault == 0 && o->has_cgroups) {
        fault = oci_cgroup(o, "", path, why);
        if (fault == 0)
            fault = cgroup_each(path, on_trace, &t, why);
    }
    return fault;
}

struct tidying {
    const struct oci *oci;
    bool (*in_use)(void *owner, const char *digest);
    void *owner;
};

static bool is_of_a_profile(const struct oci *o, const char *digest)
{
    for (size_t i = 0; i < o->config->profile_count; i++)
        if (strcmp(o->profiles[i].root.digest, digest) == 0)
            return true;
    return false;
}

static int tidy_root(void *owner, const char *name, struct failure *why)
{
    const struct tidying *t = owner;
    char digest[DIGEST_SIZE], path[FILE_PATH_SIZE];
    snprintf(digest, sizeof digest, "sha256:%.64s", name);
    if (is_of_a_profile(t->oci, digest) || t->in_use(t->owner, digest))
        return 0;
    int fault = path_format(path, why, "%s/roots/%s", t->oci->config->run_dir, name);
    return fault != 0 ? fault : tree_remove(path, why);
}

void oci_tidy(void *engine, bool (*in_use)(void *owner, const char *digest), void *owner)
{
    const struct oci *o = engine;
    struct tidying t = {o, in_use, owner};
    char path[FILE_PATH_SIZE];
    if (path_format(path, NULL, "%s/roots", o->config->run_dir) == 0)
        (void)directory_each(path, tidy_root, &t, NULL);
    if (o->has_cgroups && oci_cgroup(o, "", path, NULL) == 0) {
        path[strlen(path) - 1] = '\0';
        cgroup_tidy(path);
        cgroup_tidy(o->config->cgroup_parent);
    }
}
