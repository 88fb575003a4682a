// SPDX-License-Identifier: Apache-2.0
// A real Redis for a test: on a unix socket in a folder of its own, gone with the test.
#ifndef WRIST_TESTS_UNIT_GATEWAY_STORE_REDIS_SERVER_H
#define WRIST_TESTS_UNIT_GATEWAY_STORE_REDIS_SERVER_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/lib/redis/redis.h"

struct redis_server {
    char folder[64];
    struct redis_place place;
    pid_t pid;
};

// Its socket stands a moment before it listens there.
static inline bool redis_server_answers(const struct redis_server *s)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    snprintf(un.sun_path, sizeof un.sun_path, "%s", s->place.host + 5);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers = connect(fd, (const struct sockaddr *)&un, sizeof un) == 0;
    close(fd);
    return answers;
}

static inline int redis_server_start(struct redis_server *s, const char *policy)
{
    snprintf(s->folder, sizeof s->folder, "/tmp/wrist-store-XXXXXX");
    if (mkdtemp(s->folder) == NULL)
        return -1;
    snprintf(s->place.host, sizeof s->place.host, "unix:%s/socket", s->folder);
    s->pid = fork();
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(open("/dev/null", O_RDWR | O_CLOEXEC), STDOUT_FILENO);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", s->place.host + 5,
               "--save", "", "--dir", s->folder, "--maxmemory-policy", policy, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; !redis_server_answers(s) && i < 5000; i++)
        usleep(2000);
    return redis_server_answers(s) ? 0 : -1;
}

static inline int redis_server_stop(struct redis_server *s)
{
    kill(s->pid, SIGTERM);
    waitpid(s->pid, NULL, 0);
    unlink(s->place.host + 5);
    return rmdir(s->folder);
}

#endif
