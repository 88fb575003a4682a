// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/loop/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

struct child {
    struct loop *loop;
    struct watch *watch; // owned
    int pidfd;           // owned
    void (*ended)(void *owner, int status);
    void *owner;
};

static int wait_status(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (info->si_status & 0xff) << 8;
    return info->si_status & 0x7f;
}

static void child_free(void *object)
{
    free(object);
}

void child_forget(struct child *c)
{
    if (c == NULL || c->pidfd < 0)
        return;
    watch_free(c->watch);
    close(c->pidfd);
    c->pidfd = -1;
    loop_bury(c->loop, c, child_free);
}

static void on_pidfd(void *owner, int events)
{
    struct child *c = owner;
    siginfo_t info = {0};
    (void)events;
    // An exec by another thread than the first lets a pidfd look readable for a moment, while the
    // process lives on: never block here, and believe it only when it still looks so.
    struct pollfd again = {.fd = c->pidfd, .events = POLLIN};
    if (poll(&again, 1, 0) != 1)
        return;
    int rc = waitid((idtype_t)P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG);
    if (rc == 0 && info.si_pid == 0)
        return;
    int status = rc == 0 ? wait_status(&info) : -1;
    child_forget(c);
    c->ended(c->owner, status);
}

struct child *child_watch(struct loop *loop, pid_t pid, void (*ended)(void *owner, int status),
                          void *owner, struct failure *why)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        failure_errno(why, "pidfd_open %d", (int)pid);
        return NULL;
    }
    fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    struct child *c = memory_new(sizeof *c);
    *c = (struct child){.loop = loop, .pidfd = pidfd, .ended = ended, .owner = owner};
    c->watch = watch_new(loop, pidfd, on_pidfd, c);
    watch_set(c->watch, WATCH_READ);
    return c;
}

int child_kill(struct child *c, int signal_number)
{
    return (int)syscall(SYS_pidfd_send_signal, c->pidfd, signal_number, NULL, 0);
}
