// SPDX-License-Identifier: Apache-2.0
#include "gateway/crew.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/listen/front.h"

enum {
    TRIAL_MS = 10 * 1000, // a process that cannot start in this time never will
    AGAIN_FIRST_MS = 100,
    AGAIN_MOST_MS = 5000,
};

struct member {
    pid_t pid; // 0: not running
    int64_t started_ms, again_ms, backoff_ms;
};

struct crew {
    const struct config *config; // borrowed
    size_t count, doors;
    int *fds; // of process p and door d at p * doors + d, owned
    struct member *members;
    int64_t began_ms;
    bool is_member; // a process of it, whose listeners have the sockets
    bool is_ending;
    int status;
};

static int64_t now_ms(void)
{
    return clock_monotonic_ms(clock_system());
}

static int *fd_of(const struct crew *c, size_t process, size_t door)
{
    return &c->fds[process * c->doors + door];
}

struct crew *crew_new(const struct config *config, struct failure *why)
{
    struct crew *c = memory_new(sizeof *c);
    c->config = config;
    c->count = (size_t)config->processes;
    c->doors = front_doors(config);
    c->members = memory_new_array(c->count, sizeof *c->members);
    c->fds = memory_new_array(c->count * c->doors, sizeof *c->fds);
    for (size_t i = 0; i < c->count * c->doors; i++)
        c->fds[i] = -1;
    for (size_t door = 0; door < c->doors; door++) {
        bool shared = front_is_shared(config, door);
        for (size_t process = 0; process < c->count; process++) {
            int fd = shared && process > 0 ? *fd_of(c, 0, door)
                                           : front_socket(config, door, process, why);
            if (fd < 0) {
                crew_free(c);
                return NULL;
            }
            *fd_of(c, process, door) = fd;
        }
    }
    return c;
}

// All but those of one process. A shared one is closed once, and only by the parent.
static void close_sockets(struct crew *c, size_t but)
{
    for (size_t door = 0; door < c->doors; door++) {
        bool shared = front_is_shared(c->config, door);
        for (size_t process = 0; process < c->count; process++) {
            int *fd = fd_of(c, process, door);
            if (*fd >= 0 && process != but && !(shared && (process > 0 || but < c->count)))
                close(*fd);
            if (process != but)
                *fd = -1;
        }
    }
}

void crew_free(struct crew *c)
{
    if (c == NULL)
        return;
    if (!c->is_member)
        close_sockets(c, SIZE_MAX);
    free(c->fds);
    free(c->members);
    free(c);
}

static void signals_of_ours(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

// True in the new process.
static bool start(struct crew *c, size_t process)
{
    struct member *m = &c->members[process];
    pid_t parent = getpid();
    m->started_ms = now_ms();
    m->pid = fork();
    if (m->pid < 0) {
        struct failure why;
        failure_errno(&why, "start process %zu", process);
        LOG(LOG_ERROR, "process.start", LOG_FAILURE(&why));
        m->pid = 0;
        m->again_ms = m->started_ms + AGAIN_MOST_MS;
    }
    if (m->pid != 0)
        return false;
    sigset_t ours;
    signals_of_ours(&ours);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); // without a parent nobody would start it again
    sigprocmask(SIG_UNBLOCK, &ours, NULL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    close_sockets(c, process);
    c->is_member = true;
    return true;
}

static bool start_due(struct crew *c, size_t *process)
{
    int64_t now = now_ms();
    for (size_t i = 0; i < c->count && !c->is_ending; i++) {
        if (c->members[i].pid == 0 && c->members[i].again_ms <= now && start(c, i)) {
            *process = i;
            return true;
        }
    }
    return false;
}

static void signal_all(const struct crew *c, int number)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->members[i].pid > 0)
            kill(c->members[i].pid, number);
}

static size_t running(const struct crew *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        count += c->members[i].pid > 0;
    return count;
}

// Who knocked on a socket that all have closed would be reset: the processes let them in first.
static void end_all(struct crew *c)
{
    c->is_ending = true;
    close_sockets(c, SIZE_MAX);
    signal_all(c, SIGTERM);
}

static void ended(struct crew *c, size_t process, int status)
{
    struct member *m = &c->members[process];
    int64_t now = now_ms();
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    m->pid = 0;
    if (c->is_ending)
        return;
    LOG(LOG_ERROR, "process.ended", LOG_I64("process", (int64_t)process), LOG_I64("status", code),
        LOG_I64("lived_ms", now - m->started_ms));
    bool lived = now - m->started_ms > TRIAL_MS;
    m->backoff_ms = lived || m->backoff_ms == 0 ? AGAIN_FIRST_MS : m->backoff_ms * 2;
    if (m->backoff_ms > AGAIN_MOST_MS)
        m->backoff_ms = AGAIN_MOST_MS;
    m->again_ms = now + m->backoff_ms;
    if (WIFEXITED(status) && code != EXIT_SUCCESS && now - c->began_ms < TRIAL_MS) {
        c->status = EXIT_FAILURE; // its own lines say why
        end_all(c);
    }
}

static void reap(struct crew *c)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < c->count; i++)
            if (c->members[i].pid == pid)
                ended(c, i, status);
}

static void take_signal(struct crew *c, int number)
{
    if (number == SIGHUP)
        signal_all(c, SIGHUP);
    else if ((number == SIGTERM || number == SIGINT) && !c->is_ending)
        end_all(c);
    else if (number == SIGTERM || number == SIGINT)
        signal_all(c, CREW_STOP_NOW); // asked twice
}

bool crew_run(struct crew *c, const int **sockets, size_t *process, int *status)
{
    static const struct timespec patience = {.tv_nsec = 100 * 1000 * 1000};
    sigset_t ours;
    signals_of_ours(&ours);
    sigprocmask(SIG_BLOCK, &ours, NULL);
    c->began_ms = now_ms();
    do {
        if (start_due(c, process)) {
            *sockets = fd_of(c, *process, 0);
            return true;
        }
        int number = sigtimedwait(&ours, NULL, &patience);
        if (number > 0)
            take_signal(c, number);
        reap(c);
    } while (!c->is_ending || running(c) > 0);
    *status = c->status;
    return false;
}
