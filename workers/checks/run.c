// SPDX-License-Identifier: Apache-2.0
#include "workers/checks/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"

enum {
    PIECE_BYTES = 64 << 10,
    LOOK_MS = 50,  // how often it is looked whether the program has ended
    GRACE_MS = 500 // for what it left running to let go of its output
};

struct stream {
    int fd; // -1 at its end
    const struct parser *parser;
    void *state; // of the parser
};

static void child_run(const struct run *run, int out, int err)
{
    setsid();
    if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
        (void)command_execute(run->who, run->line, NULL);
    _exit(126);
}

static int start(const struct run *run, struct stream streams[2], pid_t *pid, struct failure *why)
{
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
        return failure_errno(why, "pipe");
    *pid = fork();
    if (*pid == 0)
        child_run(run, out[1], err[1]);
    if (*pid < 0)
        return failure_errno(why, "fork");
    close(out[1]);
    close(err[1]);
    streams[0] = (struct stream){out[0], run->out, NULL};
    streams[1] = (struct stream){err[0], run->err, NULL};
    for (int i = 0; i < 2; i++) {
        fcntl(streams[i].fd, F_SETFL, O_NONBLOCK);
        if (streams[i].parser != NULL)
            streams[i].state = streams[i].parser->make(run->report);
    }
    return 0;
}

static void take(const struct run *run, struct stream *s, char *piece)
{
    ssize_t size = read(s->fd, piece, PIECE_BYTES);
    if (size > 0) {
        output_add(run->shown, span_of(piece, (size_t)size));
        if (s->parser != NULL)
            s->parser->feed(s->state, span_of(piece, (size_t)size));
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(s->fd);
        s->fd = -1;
    }
}

static int64_t now_ms(void)
{
    return clock_monotonic_us(clock_system()) / 1000;
}

// Until both streams have ended; a program that has ended but left its output to others gets a
// grace.
static int follow(const struct run *run, struct stream streams[2], pid_t pid, bool *timed_out)
{
    CLEANUP_FREE char *piece = memory_new(PIECE_BYTES);
    int64_t deadline = now_ms() + run->timeout_ms, until = deadline;
    int status = 0;
    bool ended = false;
    while (!ended || streams[0].fd >= 0 || streams[1].fd >= 0) {
        struct pollfd fds[] = {{.fd = streams[0].fd, .events = POLLIN},
                               {.fd = streams[1].fd, .events = POLLIN}};
        poll(fds, 2, LOOK_MS);
        for (int i = 0; i < 2; i++)
            if (fds[i].revents != 0)
                take(run, &streams[i], piece);
        if (!ended && waitpid(pid, &status, WNOHANG) == pid) {
            ended = true;
            until = now_ms() + GRACE_MS;
        }
        if (now_ms() < until)
            continue;
        if (ended)
            break;
        *timed_out = true;
        kill(-pid, SIGKILL); // what escapes this is ended by the supervisor
        waitpid(pid, &status, 0);
        break;
    }
    return status;
}

int run_line(const struct run *run, struct ending *out, struct failure *why)
{
    struct stream streams[2];
    pid_t pid = -1;
    *out = (struct ending){0};
    int fault = start(run, streams, &pid, why);
    if (fault != 0)
        return fault;
    int status = follow(run, streams, pid, &out->timed_out);
    for (int i = 0; i < 2; i++) {
        if (streams[i].parser != NULL)
            streams[i].parser->finish(streams[i].state);
        if (streams[i].fd >= 0)
            close(streams[i].fd);
    }
    out->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (out->timed_out)
        out->exit_code = 124;
    return 0;
}
