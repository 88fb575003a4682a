// SPDX-License-Identifier: Apache-2.0
#include "workers/command/shells.h"

#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/telemetry/log.h"
#include "workers/init/life.h"

struct shell {
    struct list node; // the youngest stands last
    struct shells *shells;
    struct command *command; // NULL once it has ended
    char id[ID_SIZE];
    char *line, *session; // owned; "" for none
    struct buffer kept;   // the last part of what it wrote
    uint64_t written, read_to;
    enum shell_state state;
    int exit_code;
    uint32_t still_running;
    int64_t started_ms, ended_ms;
    bool doomed; // it is being killed; nobody finds it any more
    void (*killed)(void *owner);
    void *owner;            // borrowed
    struct watching *watch; // owned; NULL: nobody asked
};

struct watching {
    struct shell *shell;
    struct shell_events events;
    char *patterns[LINE_WATCH_PATTERNS_MAX]; // owned; as they were asked for
    size_t pattern_count;
    int64_t idle_ms;
    struct timer idle; // since the last byte
};

struct shells {
    struct shells_options options;
    struct list all;
    size_t count, running;
};

struct shells *shells_new(const struct shells_options *options)
{
    struct shells *s = memory_new(sizeof *s);
    s->options = *options;
    list_init(&s->all);
    return s;
}

static void watching_free(struct watching *w)
{
    if (w == NULL)
        return;
    timer_cancel(&w->idle);
    shell_events_fini(&w->events);
    for (size_t i = 0; i < w->pattern_count; i++)
        free(w->patterns[i]);
    free(w);
}

static struct shell_event *add_event(struct shell *shell, enum shell_event_kind kind)
{
    const struct clock *clock = loop_clock(shell->shells->options.loop);
    return shell_events_add(&shell->watch->events, kind, clock_wall_ms(clock), shell->written,
                            SPAN_NONE, SPAN_NONE);
}

// Told once; the next byte begins a new silence.
static void on_idle(struct timer *timer)
{
    struct watching *w = CONTAINER_OF(timer, struct watching, idle);
    add_event(w->shell, SHELL_EVENT_IDLE);
}

static void watching_start(struct shell *shell, const struct shell_watch *watch)
{
    struct watching *w = memory_new(sizeof *w);
    w->shell = shell;
    w->idle_ms = watch->idle_ms;
    shell_events_init(&w->events);
    for (; w->pattern_count < watch->pattern_count; w->pattern_count++)
        w->patterns[w->pattern_count] = memory_copy_span(watch->patterns[w->pattern_count]);
    timer_init(&w->idle, shell->shells->options.loop, on_idle);
    if (w->idle_ms > 0)
        timer_start(&w->idle, w->idle_ms);
    shell->watch = w;
    add_event(shell, SHELL_EVENT_STARTED);
}

static void on_found(void *owner, const struct line_found *f)
{
    struct shell *shell = owner;
    struct watching *w = shell->watch;
    if (shell->doomed || f->pattern >= w->pattern_count)
        return;
    shell_events_add(&w->events, SHELL_EVENT_ERROR,
                     clock_wall_ms(loop_clock(shell->shells->options.loop)), f->offset,
                     span_from_string(w->patterns[f->pattern]), f->line);
}

static void shell_free(void *object)
{
    struct shell *shell = object;
    watching_free(shell->watch);
    buffer_fini(&shell->kept);
    free(shell->line);
    free(shell->session);
    free(shell);
}

static void shell_bury(struct shell *shell)
{
    list_remove(&shell->node);
    shell->shells->count--;
    loop_bury(shell->shells->options.loop, shell, shell_free);
}

static void count_running(struct shells *s, int change)
{
    s->running += (size_t)change;
    if (s->options.life != NULL)
        life_calls(s->options.life, change);
}

void shells_free(struct shells *s)
{
    if (s == NULL)
        return;
    LIST_EACH(node, &s->all)
    {
        struct shell *shell = LIST_ENTRY(node, struct shell, node);
        if (shell->command != NULL) {
            command_forget(shell->command);
            count_running(s, -1);
        }
        shell_bury(shell);
    }
    free(s);
}

static void keep(struct shell *shell, struct span bytes)
{
    shell->written += bytes.size;
    if (bytes.size > SHELL_KEPT_BYTES)
        bytes = span_slice(bytes, bytes.size - SHELL_KEPT_BYTES, bytes.size);
    size_t size = buffer_size(&shell->kept) + bytes.size;
    if (size > SHELL_KEPT_BYTES)
        buffer_consume(&shell->kept, size - SHELL_KEPT_BYTES);
    if (buffer_append(&shell->kept, bytes) != 0) // no memory: what was there is lost, and counted
        buffer_clear(&shell->kept);
}

static void on_wrote(void *owner, struct span bytes)
{
    struct shell *shell = owner;
    if (shell->doomed)
        return;
    keep(shell, bytes);
    if (shell->watch != NULL && shell->watch->idle_ms > 0)
        timer_start(&shell->watch->idle, shell->watch->idle_ms);
}

static enum shell_state state_after(const struct shell *shell, const struct command_result *ended)
{
    int64_t age_ms = shell->ended_ms - shell->started_ms;
    switch (ended->ending) {
    case COMMAND_ENDED: // what the shell left behind is killed at the age cap, too
        return age_ms >= shell->shells->options.age_ms && ended->still_running > 0 ? SHELL_TOO_OLD
                                                                                   : SHELL_ENDED;
    case COMMAND_TIMED_OUT:
        return SHELL_TOO_OLD;
    case COMMAND_NOT_STARTED:
        return SHELL_NOT_STARTED;
    case COMMAND_CANCELLED:
    case COMMAND_LOST:
        break;
    }
    return SHELL_LOST;
}

// All output came before this: the supervisor reads to its end before it reports.
static void on_ended(void *owner, const struct command_result *ended)
{
    struct shell *shell = owner;
    struct shells *s = shell->shells;
    void (*killed)(void *owner) = shell->killed;
    shell->command = NULL;
    shell->ended_ms = loop_now_ms(s->options.loop);
    shell->exit_code = ended->exit_code;
    shell->still_running = ended->still_running;
    shell->state = state_after(shell, ended);
    if (shell->state == SHELL_NOT_STARTED)
        keep(shell, ended->text);
    if (shell->watch != NULL) {
        timer_cancel(&shell->watch->idle);
        add_event(shell, SHELL_EVENT_EXITED)->exit_code = shell->exit_code;
    }
    count_running(s, -1);
    LOG(LOG_INFO, "shell.ended", LOG_STRING("shell", shell->id),
        LOG_STRING("state", shell->doomed ? "killed" : shell_state_name(shell->state)),
        LOG_I64("exit_code", shell->exit_code), LOG_I64("bytes", (int64_t)shell->written));
    if (!shell->doomed)
        return;
    void *whom = shell->owner;
    shell_bury(shell);
    if (killed != NULL)
        killed(whom);
}

// The oldest of those that have ended goes where there are too many.
static bool make_room(struct shells *s)
{
    if (s->count < SHELLS_MAX)
        return true;
    LIST_EACH(node, &s->all)
    {
        struct shell *shell = LIST_ENTRY(node, struct shell, node);
        if (shell->command != NULL)
            continue;
        shell_bury(shell);
        return true;
    }
    return false;
}

static struct shell *start(struct shells *s, struct span line, struct span session,
                           const struct shell_watch *watch, struct line_watch *lines,
                           struct failure *why)
{
    const struct command_options options = {
        .loop = s->options.loop,
        .who = s->options.who,
        .output_limit = 1, // nothing is kept by the supervisor
        .linger_ms = s->options.age_ms,
        .wrote = on_wrote,
        .lines = lines,
        .found = on_found,
    };
    if (!make_room(s)) {
        failure_set(why, FAULT_QUOTA,
                    "%d background shells run in this sandbox already; end one with KillShell",
                    SHELLS_MAX);
        return NULL;
    }
    struct shell *shell = memory_new(sizeof *shell);
    *shell = (struct shell){.shells = s, .started_ms = loop_now_ms(s->options.loop)};
    shell->command = command_start(&options, line, s->options.age_ms, on_ended, shell, why);
    if (shell->command == NULL) {
        free(shell);
        return NULL;
    }
    id_new(shell->id);
    shell->line = memory_copy_span(line);
    shell->session = memory_copy_span(session);
    buffer_init(&shell->kept, SHELL_KEPT_BYTES);
    list_append(&s->all, &shell->node);
    s->count++;
    count_running(s, 1);
    if (watch != NULL)
        watching_start(shell, watch);
    return shell;
}

struct shell *shell_start(struct shells *s, struct span line, struct span session,
                          const struct shell_watch *watch, struct failure *why)
{
    struct line_watch *lines = NULL;
    if (watch != NULL && watch->pattern_count > 0 &&
        line_watch_new(watch->patterns, watch->pattern_count, &lines, why) != 0)
        return NULL;
    struct shell *shell = start(s, line, session, watch, lines, why);
    line_watch_free(lines); // the fork has a copy
    return shell;
}

const struct shell_events *shell_events_of(const struct shell *shell)
{
    return shell->watch != NULL ? &shell->watch->events : NULL;
}

struct shell *shells_find(const struct shells *s, struct span id)
{
    LIST_EACH(node, &s->all)
    {
        struct shell *shell = LIST_ENTRY(node, struct shell, node);
        if (!shell->doomed && span_is(id, shell->id))
            return shell;
    }
    return NULL;
}

bool shell_kill(struct shell *shell, void (*killed)(void *owner), void *owner)
{
    if (shell->doomed)
        return false;
    shell->doomed = true;
    if (shell->command == NULL) {
        shell_bury(shell);
        if (killed != NULL)
            killed(owner);
        return true;
    }
    shell->killed = killed;
    shell->owner = owner;
    buffer_release(&shell->kept);
    command_cancel(shell->command);
    return true;
}

void shell_kill_forget(struct shell *shell)
{
    shell->killed = NULL;
}

void shells_end_session(struct shells *s, struct span session)
{
    if (session.size == 0)
        return;
    LIST_EACH(node, &s->all)
    {
        struct shell *shell = LIST_ENTRY(node, struct shell, node);
        if (span_is(session, shell->session))
            (void)shell_kill(shell, NULL, NULL);
    }
}

const char *shell_state_name(enum shell_state state)
{
    switch (state) {
    case SHELL_RUNNING:
        return "running";
    case SHELL_ENDED:
        return "completed";
    case SHELL_TOO_OLD:
        return "killed at the age limit";
    case SHELL_NOT_STARTED:
        return "not started";
    case SHELL_LOST:
        return "lost";
    }
    return "unknown";
}

void shell_look(const struct shell *shell, struct shell_view *out)
{
    int64_t until_ms =
        shell->command != NULL ? loop_now_ms(shell->shells->options.loop) : shell->ended_ms;
    *out = (struct shell_view){
        .id = shell->id,
        .line = shell->line,
        .state = shell->state,
        .exit_code = shell->exit_code,
        .still_running = shell->still_running,
        .age_ms = until_ms - shell->started_ms,
        .written = shell->written,
        .kept_from = shell->written - buffer_size(&shell->kept),
        .read_to = shell->read_to,
    };
}

struct span shell_output(const struct shell *shell, uint64_t offset, size_t limit)
{
    struct span kept = buffer_span(&shell->kept);
    uint64_t kept_from = shell->written - kept.size;
    size_t from = offset > kept_from ? (size_t)(offset - kept_from) : 0;
    if (offset > shell->written)
        from = kept.size;
    kept = span_slice(kept, from, kept.size);
    return span_slice(kept, 0, limit);
}

void shell_set_read(struct shell *shell, uint64_t offset)
{
    shell->read_to = offset;
}
