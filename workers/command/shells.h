// SPDX-License-Identifier: Apache-2.0
//
// Commands that run in the background, as PID 1 keeps them: each with the last part of its output
// and a place up to which it was read. A shell runs until the last process it started has ended, it
// is killed, its session ends, or it is too old. While it runs the sandbox is in use.
#ifndef WRIST_WORKERS_COMMAND_SHELLS_H
#define WRIST_WORKERS_COMMAND_SHELLS_H

#include "gateway/lib/base/random.h"
#include "workers/command/command.h"
#include "workers/command/shell_events.h"

struct life;
struct shell;
struct shells;

enum {
    SHELLS_MAX = 16,               // running and ended; the oldest that ended makes room
    SHELL_KEPT_BYTES = 1 << 20,    // of the output; what is older is dropped and counted
    SHELL_AGE_MS = 4 * 3600 * 1000 // then it is killed
};

struct shells_options {
    struct loop *loop; // borrowed, as all of this
    struct life *life; // NULL: nobody counts
    const struct command_identity *who;
    int64_t age_ms; // SHELL_AGE_MS but in tests
};
struct shells *shells_new(const struct shells_options *options);
void shells_free(struct shells *s); // ends all

// What is watched for. Patterns are copied.
struct shell_watch {
    const struct span *patterns;
    size_t pattern_count;
    int64_t idle_ms; // 0: silence is no event
};
// NULL with FAULT_QUOTA where too many run. The session may be absent; `watch` is NULL where nobody
// asks for events.
struct shell *shell_start(struct shells *s, struct span line, struct span session,
                          const struct shell_watch *watch, struct failure *why);
// NULL where the shell is not watched.
const struct shell_events *shell_events_of(const struct shell *shell);
struct shell *shells_find(const struct shells *s, struct span id); // NULL where there is none
// The tree is ended; `killed` comes from the loop once nobody of it is left, at once where it had
// ended by itself. The shell is then forgotten. False: somebody kills it already.
bool shell_kill(struct shell *shell, void (*killed)(void *owner), void *owner);
void shell_kill_forget(struct shell *shell); // `killed` will not be called
void shells_end_session(struct shells *s, struct span session);

enum shell_state {
    SHELL_RUNNING,
    SHELL_ENDED,       // by itself; all it wrote is here
    SHELL_TOO_OLD,     // killed at the age cap
    SHELL_NOT_STARTED, // its output says why
    SHELL_LOST,        // its supervisor was killed
};
const char *shell_state_name(enum shell_state state); // "running", "completed", …

struct shell_view {
    const char *id;
    const char *line;
    enum shell_state state;
    int exit_code;          // once it is not running
    uint32_t still_running; // killed at the end
    int64_t age_ms;         // since its start, up to its end
    uint64_t written;       // bytes ever
    uint64_t kept_from;     // offset of the first byte that is still here
    uint64_t read_to;       // where the next look begins
};
void shell_look(const struct shell *shell, struct shell_view *out);
// Bytes from `offset` on that are still here, at most limit; valid until the next turn.
struct span shell_output(const struct shell *shell, uint64_t offset, size_t limit);
void shell_set_read(struct shell *shell, uint64_t offset);

#endif
