// SPDX-License-Identifier: Apache-2.0
#include "workers/init/spawn.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"

static struct {
    void *data;
    size_t size;
} secrets[SPAWN_SECRETS_MAX];
static size_t secret_count;

void spawn_guard(void *secret, size_t size)
{
    if (secret_count < SPAWN_SECRETS_MAX) {
        secrets[secret_count].data = secret;
        secrets[secret_count++].size = size;
    }
}

static void close_between(int first, int last)
{
    if (first <= last && syscall(SYS_close_range, first, last, 0) != 0)
        for (int fd = first; fd <= last && fd < 4096; fd++) // gVisor, old kernels
            close(fd);
}

void spawn_close_others(const int *keep, size_t count)
{
    int from = 3;
    for (;;) {
        int next = -1; // the lowest kept fd that is not yet passed
        for (size_t i = 0; i < count; i++)
            if (keep[i] >= from && (next < 0 || keep[i] < next))
                next = keep[i];
        if (next < 0)
            break;
        close_between(from, next - 1);
        from = next + 1;
    }
    close_between(from, INT32_MAX);
}

static void child(const struct spawn *s, int socket)
{
    for (size_t i = 0; i < secret_count; i++)
        memory_wipe(secrets[i].data, secrets[i].size);
    int keep[SPAWN_KEEP_MAX + 1];
    memcpy(keep, s->keep, sizeof s->keep);
    keep[s->keep_count] = socket;
    spawn_close_others(keep, s->keep_count + 1);
    s->run(socket, s->task);
    _exit(1);
}

pid_t spawn_start(const struct spawn *s, int *socket, struct failure *why)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return failure_errno(why, "socketpair");
    pid_t pid = fork();
    if (pid == 0)
        child(s, pair[1]);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return failure_errno(why, "fork");
    }
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    *socket = pair[0];
    return pid;
}
