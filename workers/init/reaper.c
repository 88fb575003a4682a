// SPDX-License-Identifier: Apache-2.0
#include "workers/init/reaper.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/telemetry/log.h"

struct watched {
    void (*ended)(void *owner, int status);
    void *owner; // borrowed
};

struct reaper {
    const struct reaper_ops *ops; // borrowed
    void *owner;                  // borrowed
    int fd;                       // owned
    struct watch *watch;          // owned
    struct table *watched;        // pid → struct watched, owned
};

void signals_block(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
}

void signals_reset(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &standard, NULL); // fails for KILL, STOP and the C library's own
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void tell(struct reaper *r, pid_t pid, int status)
{
    struct watched *w = table_remove(r->watched, span_of(&pid, sizeof pid));
    if (w == NULL)
        return;
    w->ended(w->owner, status);
    free(w);
}

static void reap_all(struct reaper *r)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        tell(r, pid, status);
}

// As PID 1 of a namespace, senders outside of it have no pid here.
static bool is_from_inside(const struct signalfd_siginfo *info)
{
    return getpid() == 1 && info->ssi_pid != 0;
}

static void on_signal(void *owner, int events)
{
    struct reaper *r = owner;
    struct signalfd_siginfo info;
    (void)events;
    while (read(r->fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            reap_all(r);
        else if (is_from_inside(&info))
            LOG(LOG_WARN, "init.signal_ignored", LOG_I64("signal", info.ssi_signo),
                LOG_I64("uid", info.ssi_uid));
        else
            r->ops->terminate(r->owner);
    }
}

struct reaper *reaper_new(struct loop *loop, const struct reaper_ops *ops, void *owner,
                          struct failure *why)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    int fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) {
        failure_errno(why, "signalfd");
        return NULL;
    }
    struct reaper *r = memory_new(sizeof *r);
    *r = (struct reaper){.ops = ops, .owner = owner, .fd = fd, .watched = table_new()};
    r->watch = watch_new(loop, fd, on_signal, r);
    watch_set(r->watch, WATCH_READ);
    return r;
}

void reaper_free(struct reaper *r)
{
    if (r == NULL)
        return;
    struct span key;
    void *value;
    for (size_t at = 0; table_next(r->watched, &at, &key, &value);)
        free(value);
    table_free(r->watched);
    watch_free(r->watch);
    close(r->fd);
    free(r);
}

void reaper_watch(struct reaper *r, pid_t pid, void (*ended)(void *owner, int status), void *owner)
{
    struct watched *w = memory_new(sizeof *w);
    *w = (struct watched){ended, owner};
    table_put(r->watched, span_of(&pid, sizeof pid), w);
}

void reaper_forget(struct reaper *r, pid_t pid)
{
    free(table_remove(r->watched, span_of(&pid, sizeof pid)));
}
