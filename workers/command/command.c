// SPDX-License-Identifier: Apache-2.0
#include "workers/command/command.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "workers/init/spawn.h"

enum { EXIT_TIMED_OUT = 124, EXIT_SIGNAL_BASE = 128 };

struct command {
    struct loop *loop;                             // borrowed
    int socket;                                    // owned; -1 once it is over
    struct watch *watch;                           // owned
    struct buffer report;                          // what the supervisor said so far
    bool streaming;                                // its output comes before the report
    size_t piece_left;                             // of the piece that is coming
    void (*wrote)(void *owner, struct span bytes); // NULL: nobody asks
    void (*found)(void *owner, const struct line_found *f);
    void (*ended)(void *owner, const struct command_result *result); // NULL: nobody asks
    void *owner;                                                     // borrowed
};

static void command_free(void *object)
{
    struct command *c = object;
    buffer_fini(&c->report);
    free(c);
}

static int exit_code(int status)
{
    return WIFSIGNALED(status) ? EXIT_SIGNAL_BASE + WTERMSIG(status) : WEXITSTATUS(status);
}

static void read_result(const struct command *c, struct command_result *out)
{
    struct supervisor_report r;
    struct span said = buffer_span(&c->report);
    *out = (struct command_result){.ending = COMMAND_LOST, .exit_code = EXIT_SIGNAL_BASE + 9};
    if (said.size < sizeof r)
        return;
    memcpy(&r, said.data, sizeof r);
    if (r.text_size != said.size - sizeof r)
        return;
    out->ending = (enum command_ending)r.ending;
    out->exit_code = r.ending == COMMAND_TIMED_OUT ? EXIT_TIMED_OUT : exit_code(r.status);
    out->output_bytes = r.output_bytes;
    out->cut = r.cut != 0;
    out->still_running = r.still_running;
    out->text = span_slice(said, sizeof r, said.size);
}

static void finish(struct command *c)
{
    struct command_result result;
    watch_free(c->watch);
    close(c->socket);
    c->socket = -1;
    read_result(c, &result);
    if (c->ended != NULL)
        c->ended(c->owner, &result);
    loop_bury(c->loop, c, command_free);
}

// A line stands whole in the report before it is told. False: its rest is still to come.
static bool take_line(struct command *c, size_t size)
{
    struct supervisor_line head;
    struct span bytes = span_slice(buffer_span(&c->report), sizeof(uint32_t), SIZE_MAX);
    if (bytes.size < size)
        return false;
    if (size >= sizeof head && c->wrote != NULL && c->found != NULL) {
        memcpy(&head, bytes.data, sizeof head);
        const struct line_found f = {head.pattern, head.offset,
                                     span_slice(bytes, sizeof head, size)};
        c->found(c->owner, &f);
    }
    buffer_consume(&c->report, sizeof(uint32_t) + size);
    return true;
}

// Hands the pieces in `report` on; what is left there is a part of a head, or of the report.
static void take_pieces(struct command *c)
{
    while (c->streaming && buffer_size(&c->report) > 0) {
        struct span bytes = buffer_span(&c->report);
        uint32_t size;
        if (c->piece_left == 0) {
            if (bytes.size < sizeof size)
                return;
            memcpy(&size, bytes.data, sizeof size);
            if ((size & SUPERVISOR_LINE) != 0) {
                if (!take_line(c, size & ~SUPERVISOR_LINE))
                    return;
                continue;
            }
            buffer_consume(&c->report, sizeof size);
            c->piece_left = size;
            c->streaming = size > 0;
            continue;
        }
        bytes = span_slice(bytes, 0, c->piece_left);
        if (c->wrote != NULL)
            c->wrote(c->owner, bytes);
        c->piece_left -= bytes.size;
        buffer_consume(&c->report, bytes.size);
    }
}

static void on_readable(void *owner, int events)
{
    enum { PIECE = 64 << 10 };
    struct command *c = owner;
    char *room;
    (void)events;
    if (buffer_reserve(&c->report, PIECE, &room) != 0) {
        finish(c);
        return;
    }
    ssize_t size = read(c->socket, room, PIECE);
    if (size > 0) {
        buffer_commit(&c->report, (size_t)size);
        take_pieces(c);
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        finish(c);
    }
}

// The supervisor itself is only reaped; what it has to say comes by its socket.
struct command *command_start(const struct command_options *options, struct span line,
                              int64_t timeout_ms,
                              void (*ended)(void *owner, const struct command_result *result),
                              void *owner, struct failure *why)
{
    CLEANUP_FREE char *text = memory_copy_span(line);
    struct supervisor_task task = {
        .who = options->who,
        .line = text,
        .timeout_ms = timeout_ms,
        .output_limit = options->output_limit,
        .linger_ms = options->linger_ms,
        .streams = options->wrote != NULL,
        .lines = options->lines,
        .body = options->body,
        .body_task = options->body_task,
    };
    const struct spawn spawn = {
        .keep = {options->who->workspace_fd},
        .keep_count = 1,
        .run = supervisor_run,
        .task = &task,
    };
    int socket;
    pid_t pid = spawn_start(&spawn, &socket, why);
    if (pid < 0)
        return NULL;
    struct command *c = memory_new(sizeof *c);
    *c = (struct command){
        .loop = options->loop,
        .socket = socket,
        .streaming = options->wrote != NULL,
        .wrote = options->wrote,
        .found = options->found,
        .ended = ended,
        .owner = owner,
    };
    buffer_init(&c->report, sizeof(struct supervisor_report) + options->output_limit +
                                SUPERVISOR_NOTE_ROOM + (64 << 10));
    c->watch = watch_new(options->loop, socket, on_readable, c);
    watch_set(c->watch, WATCH_READ);
    return c;
}

void command_cancel(struct command *c)
{
    if (c->socket >= 0)
        shutdown(c->socket, SHUT_WR);
}

void command_forget(struct command *c)
{
    c->ended = NULL;
    c->wrote = NULL;
    command_cancel(c);
}
