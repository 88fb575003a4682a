// SPDX-License-Identifier: Apache-2.0
#include "workers/command/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/confine/privileges.h"
#include "workers/command/output.h"
#include "workers/command/shell_events.h"
#include "workers/command/tree.h"

enum { PIPE_BYTES = 1 << 20, PIECE_BYTES = 128 << 10, DRAIN_PIECES = 64, LAST_PIECES = 1024 };

struct supervisor {
    const struct supervisor_task *task;
    int socket;  // to PID 1
    int out;     // what the command writes; -1 after its end
    int trouble; // text from the child when it could not become the command
    int signals; // a signalfd for SIGCHLD
    pid_t shell;
    bool shell_ended;
    int64_t deadline_us;
    struct output output;
    size_t lines_sent; // of the present piece
    bool has_last;     // one more was found in it
    struct line_found last;
    char last_line[SHELL_EVENT_LINE];
    char *piece; // owned, PIECE_BYTES
    struct supervisor_report report;
};

static int64_t now_us(void)
{
    return clock_monotonic_us(clock_system());
}

static void child_fail(int trouble, const struct failure *why)
{
    ssize_t written = write(trouble, why->text, strlen(why->text));
    (void)written;
    _exit(127);
}

static void child_run(const struct supervisor_task *task, int output, int trouble)
{
    struct failure why = {0};
    int fault = command_become(task->who, output, &why);
    if (fault == 0 && task->body != NULL)
        _exit(task->body(task->body_task));
    if (fault == 0)
        command_execute(task->who, task->line, &why);
    child_fail(trouble, &why);
}

static int start(struct supervisor *s, struct failure *why)
{
    int out[2], trouble[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(trouble, O_CLOEXEC) != 0)
        return failure_errno(why, "pipe");
    fcntl(out[0], F_SETPIPE_SZ, PIPE_BYTES); // fewer switches; the default does as well
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(trouble[0], F_SETFL, O_NONBLOCK);
    s->shell = fork();
    if (s->shell == 0)
        child_run(s->task, out[1], trouble[1]);
    if (s->shell < 0)
        return failure_errno(why, "fork");
    close(out[1]);
    close(trouble[1]);
    s->out = out[0];
    s->trouble = trouble[0];
    return 0;
}

// False: PID 1 is gone.
static bool send_all(int socket, struct span bytes)
{
    while (bytes.size > 0) {
        ssize_t size = write(socket, bytes.data, bytes.size);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return false;
        bytes = span_slice(bytes, (size_t)size, bytes.size);
    }
    return true;
}

static void send_line(struct supervisor *s, const struct line_found *f)
{
    struct span line = f->line;
    struct supervisor_line head;
    uint32_t size = (uint32_t)(sizeof head + line.size) | SUPERVISOR_LINE;
    memset(&head, 0, sizeof head); // the gap too
    head.offset = f->offset;
    head.pattern = f->pattern;
    if (!send_all(s->socket, span_of(&size, sizeof size)) ||
        !send_all(s->socket, span_of(&head, sizeof head)) || !send_all(s->socket, line))
        s->report.ending = COMMAND_CANCELLED;
}

// Of what a piece has too much, the last is kept back: a flood ends with what matters.
static void send_found(void *ctx, const struct line_found *f)
{
    struct supervisor *s = ctx;
    struct line_found cut = *f;
    cut.line = span_slice(f->line, 0, SHELL_EVENT_LINE);
    if (s->lines_sent < SUPERVISOR_LINES_PER_PIECE - 1) {
        s->lines_sent++;
        send_line(s, &cut);
        return;
    }
    memcpy(s->last_line, cut.line.data, cut.line.size);
    s->last = cut;
    s->last.line = span_of(s->last_line, cut.line.size);
    s->has_last = true;
}

static void send_last(struct supervisor *s)
{
    if (s->has_last)
        send_line(s, &s->last);
    s->has_last = false;
    s->lines_sent = 0;
}

static void take(struct supervisor *s, struct span bytes)
{
    uint32_t size = (uint32_t)bytes.size;
    if (!s->task->streams) {
        output_add(&s->output, bytes);
        return;
    }
    s->output.total += bytes.size;
    if (!send_all(s->socket, span_of(&size, sizeof size)) || !send_all(s->socket, bytes))
        s->report.ending = COMMAND_CANCELLED;
    if (s->task->lines != NULL)
        line_watch_feed(s->task->lines, bytes, send_found, s);
    send_last(s);
}

// The output's end, or nothing to read at present, or a bound on what is read in one go.
static void collect(struct supervisor *s, int pieces)
{
    while (s->out >= 0 && pieces-- > 0) {
        ssize_t size = read(s->out, s->piece, PIECE_BYTES);
        if (size > 0) {
            take(s, span_of(s->piece, (size_t)size));
            continue;
        }
        if (size == 0) {
            close(s->out);
            s->out = -1;
        } else if (errno != EINTR) {
            return;
        }
    }
}

// True once no child is left at all.
static bool reap(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) > 0)
        ;
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != s->shell)
            continue;
        s->shell_ended = true;
        s->report.status = status;
    }
    return pid < 0 && errno == ECHILD;
}

static void watch(struct supervisor *s, int64_t until_us)
{
    struct pollfd fds[] = {
        {.fd = s->signals, .events = POLLIN},
        {.fd = s->socket, .events = POLLIN},
        {.fd = s->out, .events = POLLIN},
    };
    int64_t left_us = until_us - now_us();
    poll(fds, ARRAY_COUNT(fds), left_us > 0 ? (int)((left_us + 999) / 1000) : 0);
    if (fds[1].revents != 0)
        s->report.ending = COMMAND_CANCELLED;
    collect(s, DRAIN_PIECES);
}

// Until the shell has ended, or it is told or time to stop.
static void supervise(struct supervisor *s)
{
    bool nobody = false;
    while (!s->shell_ended && s->report.ending == COMMAND_ENDED) {
        watch(s, s->deadline_us);
        nobody = reap(s);
        if (!s->shell_ended && s->report.ending == COMMAND_ENDED && now_us() >= s->deadline_us)
            s->report.ending = COMMAND_TIMED_OUT;
    }
    // What the shell left running may finish what it is writing.
    int64_t until_us = now_us() + s->task->linger_ms * 1000;
    while (!nobody && s->report.ending == COMMAND_ENDED && now_us() < until_us) {
        watch(s, until_us);
        nobody = reap(s);
    }
    if (!nobody)
        s->report.still_running = (uint32_t)tree_end(s->shell, &s->report.status);
    collect(s, LAST_PIECES); // whoever else holds the pipe may go on writing
}

static void send_report(struct supervisor *s, struct span text)
{
    const uint32_t end_of_stream = 0;
    s->report.output_bytes = s->output.total;
    s->report.cut = !s->task->streams && output_is_cut(&s->output);
    s->report.text_size = (uint32_t)text.size;
    if (s->task->lines != NULL)
        line_watch_end(s->task->lines, send_found, s); // one at most
    if (s->task->streams)
        (void)send_all(s->socket, span_of(&end_of_stream, sizeof end_of_stream));
    (void)send_all(s->socket, span_of(&s->report, sizeof s->report));
    (void)send_all(s->socket, text);
}

static int prepare(struct supervisor *s, struct failure *why)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    s->signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    if (s->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return failure_errno(why, "prepare a command");
    return start(s, why);
}

// SETUID and SETGID were for the child alone.
static void give_up_rights(void)
{
    (void)privileges_keep(privileges_effective() & CONFINE_CAPABILITY(CAP_KILL), NULL);
}

void supervisor_run(int socket, void *task)
{
    struct supervisor s = {.task = task, .socket = socket, .out = -1, .trouble = -1};
    struct failure why = {0};
    output_init(&s.output, s.task->output_limit);
    s.piece = memory_new(PIECE_BYTES);
    s.deadline_us = now_us() + s.task->timeout_ms * 1000;
    if (prepare(&s, &why) != 0) {
        s.report.ending = COMMAND_NOT_STARTED;
        send_report(&s, span_from_string(why.text));
        _exit(0);
    }
    give_up_rights();
    supervise(&s);
    ssize_t said = read(s.trouble, s.piece, sizeof why.text);
    if (said > 0) {
        s.report.ending = COMMAND_NOT_STARTED;
        send_report(&s, span_of(s.piece, (size_t)said));
        _exit(0);
    }
    struct buffer text;
    buffer_init(&text, s.task->output_limit + SUPERVISOR_NOTE_ROOM);
    if (!s.task->streams)
        (void)output_write(&s.output, &text);
    send_report(&s, buffer_span(&text));
    _exit(0);
}
