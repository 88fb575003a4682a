// SPDX-License-Identifier: Apache-2.0
//
// One process per running command, between PID 1 and the shell. It collects the output in constant
// memory, keeps the time, and ends the whole tree: as subreaper it stays the ancestor of all that
// the command starts. Of the worker's rights it keeps KILL. When PID 1's end of its socket closes
// or says anything, the command is over.
#ifndef WRIST_WORKERS_COMMAND_SUPERVISOR_H
#define WRIST_WORKERS_COMMAND_SUPERVISOR_H

#include <stdint.h>

#include "workers/command/line_watch.h"
#include "workers/command/setup.h"

enum command_ending {
    COMMAND_ENDED,     // the shell ended; `status` says how
    COMMAND_TIMED_OUT, // and was killed with its tree
    COMMAND_CANCELLED, // likewise
    COMMAND_NOT_STARTED,
    COMMAND_LOST, // the supervisor died
};

struct supervisor_task {
    const struct command_identity *who;
    const char *line;
    int64_t timeout_ms;
    size_t output_limit;
    int64_t linger_ms;        // for what still runs when the shell has ended
    bool streams;             // the output goes to PID 1 as it comes, and is not kept
    struct line_watch *lines; // while it streams: lines to be told; NULL: none
    // Instead of a shell: what the command's process does, its status. NULL: it runs `line`.
    int (*body)(void *task);
    void *body_task;
};

// While it streams: a uint32_t size (never 0), then as many bytes; a 0 stands before the report.
// With SUPERVISOR_LINE in the size the bytes are no output, but a supervisor_line and the line
// found.
enum { SUPERVISOR_LINES_PER_PIECE = 64 }; // the first and the last; others are passed over
#define SUPERVISOR_LINE 0x80000000U
struct supervisor_line {
    uint64_t offset;
    uint32_t pattern;
};

// What goes to PID 1 at the end, followed by text_size bytes: the output, or why it did not start.
struct supervisor_report {
    int32_t ending;
    int32_t status; // of waitpid
    uint64_t output_bytes;
    uint32_t still_running; // processes that the shell had left behind and that were killed
    uint32_t text_size;
    uint32_t cut; // 1: the text has not all of the output
};

enum { SUPERVISOR_NOTE_ROOM = 1024 }; // the text's bytes on top of output_limit

void supervisor_run(int socket, void *task); // a struct supervisor_task; never returns

#endif
