// SPDX-License-Identifier: Apache-2.0
#include "workers/command/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/span.h"

enum {
    STOP_ROUNDS = 100, // a tree of which the pids cap is known stands still long before
    KILL_ROUNDS = 1000,
    ROUND_MS = 5,
};

struct process {
    pid_t pid, parent;
    bool ours, dead;
};

struct census {
    struct process *at; // owned; by ascending pid
    size_t count, capacity;
};

static bool read_stat(int proc, const char *name, struct process *out)
{
    char path[300], text[512];
    snprintf(path, sizeof path, "%s/stat", name);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    if (size <= 0)
        return false;
    text[size] = '\0';
    const char *after = strrchr(text, ')'); // the name before it may hold anything
    if (after == NULL || strlen(after) < 5)
        return false;
    *out = (struct process){.pid = (pid_t)strtol(text, NULL, 10),
                            .parent = (pid_t)strtol(after + 4, NULL, 10),
                            .dead = after[2] == 'Z' || after[2] == 'X'};
    return true;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;
    return (x > y) - (x < y);
}

static struct process *find(const struct census *c, pid_t pid)
{
    struct process key = {.pid = pid};
    return c->count > 0 ? bsearch(&key, c->at, c->count, sizeof key, by_pid) : NULL;
}

// Marks what descends from `root`; parents mostly have the lower pid, so few passes do.
static void mark(struct census *c, pid_t root)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < c->count; i++) {
            struct process *p = &c->at[i];
            const struct process *parent = p->parent != root ? find(c, p->parent) : NULL;
            if (p->ours || (p->parent != root && (parent == NULL || !parent->ours)))
                continue;
            p->ours = changed = true;
        }
    }
}

static void census_take(struct census *c)
{
    c->count = 0;
    DIR *dir = opendir("/proc");
    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        struct process p;
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || !read_stat(dirfd(dir), e->d_name, &p))
            continue;
        if (c->count == c->capacity) {
            c->capacity = c->capacity > 0 ? c->capacity * 2 : 256;
            c->at = memory_resize(c->at, c->capacity, sizeof *c->at);
        }
        c->at[c->count++] = p;
    }
    closedir(dir);
    qsort(c->at, c->count, sizeof *c->at, by_pid);
    mark(c, getpid());
}

// Whoever got SIGSTOP cannot complete a fork any more, so once a census shows nobody new, nobody
// new can come.
static void stop_all(struct census *now, struct census *before)
{
    before->count = 0;
    for (int round = 0; round < STOP_ROUNDS; round++) {
        bool anyone_new = false;
        census_take(now);
        for (size_t i = 0; i < now->count; i++) {
            const struct process *p = &now->at[i], *known = find(before, p->pid);
            if (!p->ours || p->dead || (known != NULL && known->ours))
                continue;
            anyone_new = true;
            kill(p->pid, SIGSTOP);
        }
        if (!anyone_new)
            return;
        struct census swap = *now;
        *now = *before;
        *before = swap;
    }
}

static size_t kill_all(const struct census *c)
{
    size_t killed = 0;
    for (size_t i = 0; i < c->count; i++)
        if (c->at[i].ours && !c->at[i].dead && kill(c->at[i].pid, SIGKILL) == 0)
            killed++;
    return killed;
}

// True once no child is left.
static bool reap(int pid, int *status)
{
    int ended;
    pid_t who;
    while ((who = waitpid(-1, &ended, WNOHANG)) > 0)
        if (who == pid && status != NULL)
            *status = ended;
    return who < 0 && errno == ECHILD;
}

size_t tree_end(int pid, int *status)
{
    struct census now = {0}, before = {0};
    size_t killed = 0;
    for (int round = 0; !reap(pid, status) && round < KILL_ROUNDS; round++) {
        stop_all(&now, &before);
        size_t count = kill_all(&now);
        if (round == 0)
            killed = count;
        for (int waited = 0; waited < 4 && !reap(pid, status); waited++)
            poll(NULL, 0, waited == 0 ? 0 : ROUND_MS);
    }
    free(now.at);
    free(before.at);
    return killed;
}
