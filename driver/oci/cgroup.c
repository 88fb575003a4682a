// SPDX-License-Identifier: Apache-2.0
#include "driver/oci/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "driver/files.h"
#include "gateway/lib/base/memory.h"

#define CGROUP_MOUNT "/sys/fs/cgroup"
enum { KILL_ROUNDS = 400, ROUND_MS = 5 };

bool cgroups_are_unified(void)
{
    struct statfs about;
    return statfs(CGROUP_MOUNT, &about) == 0 && about.f_type == CGROUP2_SUPER_MAGIC;
}

bool cgroups_are_hybrid(void)
{
    struct statfs about;
    return !cgroups_are_unified() && statfs(CGROUP_MOUNT "/unified", &about) == 0 &&
           about.f_type == CGROUP2_SUPER_MAGIC;
}

bool cgroups_are_writable(void)
{
    return access(cgroups_are_unified() ? CGROUP_MOUNT "/cgroup.procs"
                                        : CGROUP_MOUNT "/memory/cgroup.procs",
                  W_OK) == 0;
}

bool cgroups_limit_swap(void)
{
    return cgroups_are_unified() ||
           access(CGROUP_MOUNT "/memory/memory.memsw.limit_in_bytes", F_OK) == 0;
}

struct walk {
    const char *path;
    int (*visit)(struct walk *w, const char *directory, struct failure *why);
    void *owner;
    int (*each)(void *owner, const char *name, struct failure *why);
};

static int visit_hierarchy(void *owner, const char *name, struct failure *why)
{
    struct walk *w = owner;
    char directory[FILE_PATH_SIZE];
    int fault = path_format(directory, why, CGROUP_MOUNT "/%s%s", name, w->path);
    return fault != 0 ? fault : w->visit(w, directory, why);
}

static int walk_hierarchies(struct walk *w, struct failure *why)
{
    if (!cgroups_are_unified())
        return directory_each(CGROUP_MOUNT, visit_hierarchy, w, why);
    char directory[FILE_PATH_SIZE];
    int fault = path_format(directory, why, CGROUP_MOUNT "%s", w->path);
    return fault != 0 ? fault : w->visit(w, directory, why);
}

static bool kill_members(const char *directory)
{
    char path[FILE_PATH_SIZE], line[32];
    if (path_format(path, NULL, "%s/cgroup.procs", directory) != 0)
        return false;
    FILE *members = fopen(path, "re");
    if (members == NULL)
        return false;
    bool any = false;
    while (fgets(line, sizeof line, members) != NULL) {
        pid_t pid = (pid_t)strtol(line, NULL, 10);
        if (pid > 1 && pid != getpid())
            any = kill(pid, SIGKILL) == 0 || any;
    }
    fclose(members);
    return any;
}

static void pause_round(void)
{
    nanosleep(&(struct timespec){0, ROUND_MS * 1000000L}, NULL);
}

static int destroy_in(struct walk *w, const char *directory, struct failure *why)
{
    (void)w;
    for (int round = 0; round < KILL_ROUNDS; round++) {
        if (rmdir(directory) == 0 || errno == ENOENT || errno == ENOTDIR)
            return 0;
        if (errno != EBUSY)
            return failure_errno(why, "remove %s", directory);
        kill_members(directory);
        pause_round();
    }
    return failure_set(why, FAULT_TIMEOUT, "%s has processes that do not end", directory);
}

int cgroup_destroy(const char *path, struct failure *why)
{
    struct walk w = {.path = path, .visit = destroy_in};
    return walk_hierarchies(&w, why);
}

static int tidy_in(struct walk *w, const char *directory, struct failure *why)
{
    (void)w;
    (void)why;
    (void)!rmdir(directory);
    return 0;
}

void cgroup_tidy(const char *path)
{
    struct walk w = {.path = path, .visit = tidy_in};
    (void)walk_hierarchies(&w, NULL);
}

static int list_in(struct walk *w, const char *directory, struct failure *why)
{
    return directory_each(directory, w->each, w->owner, why);
}

int cgroup_each(const char *path, int (*each)(void *owner, const char *name, struct failure *why),
                void *owner, struct failure *why)
{
    struct walk w = {.path = path, .visit = list_in, .owner = owner, .each = each};
    return walk_hierarchies(&w, why);
}

bool cgroup_was_oom(const char *path)
{
    char file[FILE_PATH_SIZE];
    bool unified = cgroups_are_unified();
    if (path_format(file, NULL, CGROUP_MOUNT "%s%s/%s", unified ? "" : "/memory", path,
                    unified ? "memory.events" : "memory.oom_control") != 0)
        return false;
    struct buffer text;
    buffer_init(&text, 32 << 10);
    bool found = false;
    if (file_read(file, &text, NULL) == 0 && buffer_append_char(&text, '\0') == 0) {
        const char *count = strstr(buffer_span(&text).data, "oom_kill ");
        found = count != NULL && strtol(count + strlen("oom_kill "), NULL, 10) > 0;
    }
    buffer_fini(&text);
    return found;
}
