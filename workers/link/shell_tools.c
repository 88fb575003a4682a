// SPDX-License-Identifier: Apache-2.0
#include "workers/link/shell_tools.h"

#include <inttypes.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"

#include "workers/tools/text.h"

void background_result(const struct shell *shell, struct tool_result *out)
{
    struct json_writer w;
    struct shell_view view;
    shell_look(shell, &view);
    buffer_printf(&out->text,
                  "shell_id: %s\nIt runs until all that it started has ended, or %d h. BashOutput "
                  "gives what it writes, KillShell ends it.",
                  view.id, SHELL_AGE_MS / 3600000);
    json_writer_init(&w, &out->structured);
    json_object_open(&w);
    json_write_member_string(&w, "shell_id", view.id);
    json_write_member_string(&w, "status", shell_state_name(view.state));
    json_object_close(&w);
}

struct shell *shell_named(const struct shells *s, const struct arguments *arguments,
                          struct failure *why)
{
    struct span id = argument_text(arguments, "shell_id");
    struct shell *shell = shells_find(s, id);
    if (shell == NULL)
        failure_set(why, FAULT_NOT_FOUND,
                    "no background shell \"%.*s\": it was killed, its session ended, or %d younger "
                    "ones took its place",
                    (int)(id.size < 64 ? id.size : 64), id.data, SHELLS_MAX);
    return shell;
}

static void write_notes(const struct shell_view *view, uint64_t lost, uint64_t next,
                        struct buffer *text)
{
    if (buffer_size(text) > 0 && buffer_span(text).data[buffer_size(text) - 1] != '\n')
        buffer_append_char(text, '\n');
    if (lost > 0)
        buffer_printf(text, "[%" PRIu64 " bytes before this are no longer kept]\n", lost);
    if (next < view->written)
        buffer_printf(text, "[%" PRIu64 " more bytes: call BashOutput again]\n",
                      view->written - next);
    if (view->state != SHELL_RUNNING && view->still_running > 0)
        buffer_printf(text, "[%u process%s still ran and %s killed]\n", view->still_running,
                      view->still_running == 1 ? "" : "es",
                      view->still_running == 1 ? "was" : "were");
    buffer_printf(text, "status: %s, %" PRId64 " s", shell_state_name(view->state),
                  view->age_ms / 1000);
    if (view->state == SHELL_ENDED || view->state == SHELL_TOO_OLD)
        buffer_printf(text, "\nexit: %d", view->exit_code);
}

static void write_structured(const struct shell_view *view, uint64_t offset, uint64_t lost,
                             uint64_t next, struct buffer *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_object_open(&w);
    json_write_member_string(&w, "status", shell_state_name(view->state));
    json_write_member_bool(&w, "running", view->state == SHELL_RUNNING);
    if (view->state == SHELL_ENDED || view->state == SHELL_TOO_OLD)
        json_write_member_i64(&w, "exit_code", view->exit_code);
    json_write_member_i64(&w, "offset", (int64_t)offset);
    json_write_member_i64(&w, "next_offset", (int64_t)next);
    json_write_member_i64(&w, "output_bytes", (int64_t)view->written);
    json_write_member_i64(&w, "lost_bytes", (int64_t)lost);
    json_object_close(&w);
}

// A character that is still being written waits for its rest, unless nothing comes any more.
static struct span whole_characters(const struct shell_view *view, uint64_t from, struct span bytes)
{
    bool is_last = view->state != SHELL_RUNNING && from + bytes.size == view->written;
    size_t size = is_last ? bytes.size : text_whole_chars(bytes);
    return span_slice(bytes, 0, size > 0 ? size : bytes.size);
}

void bash_output_result(struct shell *shell, const struct arguments *arguments,
                        struct tool_result *out)
{
    struct shell_view view;
    shell_look(shell, &view);
    bool again = argument_given(arguments, "offset");
    uint64_t asked = again ? (uint64_t)argument_integer(arguments, "offset") : view.read_to;
    if (asked > view.written)
        asked = view.written;
    uint64_t from = asked > view.kept_from ? asked : view.kept_from;
    struct span bytes =
        whole_characters(&view, from, shell_output(shell, from, SHELL_ANSWER_BYTES));
    uint64_t next = from + bytes.size;
    buffer_append(&out->text, bytes);
    write_notes(&view, from - asked, next, &out->text);
    write_structured(&view, from, from - asked, next, &out->structured);
    out->is_error = view.state != SHELL_RUNNING && view.state != SHELL_ENDED;
    if (!again || next > view.read_to)
        shell_set_read(shell, next);
}

void kill_shell_result(struct span id, struct tool_result *out)
{
    buffer_printf(&out->text, "killed: %.*s", SPAN_ARGS(id));
}

// --- watched shells ------------------------------------------------------------------------------

static const struct span usual_patterns[] = {
    SPAN_LITERAL("(?i)^\\W*(error|fatal|panic|critical)\\b"),
    SPAN_LITERAL("(?i)\\b(uncaught|unhandled)\\b"),
    SPAN_LITERAL("^Traceback \\(most recent call last\\):"),
    SPAN_LITERAL("(Segmentation fault|core dumped|AddressSanitizer|out of memory)"),
    SPAN_LITERAL("\\b[A-Z]\\w*(Error|Exception)\\b:"),
    SPAN_LITERAL("(?i)\\bEADDRINUSE\\b|address already in use"),
};

struct shell *watch_process(struct shells *s, const struct arguments *arguments,
                            struct span session, struct failure *why)
{
    struct shell_watch watch = {usual_patterns, ARRAY_COUNT(usual_patterns),
                                argument_integer(arguments, "idle_timeout_seconds") * 1000};
    struct span line = argument_text(arguments, "command");
    if (argument_given(arguments, "error_patterns"))
        watch.patterns = argument_strings(arguments, "error_patterns", &watch.pattern_count);
    if (memchr(line.data, '\0', line.size) != NULL) {
        failure_set(why, FAULT_INVALID, "command must not hold a NUL character");
        return NULL;
    }
    return shell_start(s, line, session, &watch, why);
}

static void write_event_text(const struct shell_event *event, const char *time, struct buffer *text)
{
    buffer_printf(text, "%" PRIu64 " %s %s", event->id, time, shell_event_name(event->kind));
    if (event->line != NULL)
        buffer_printf(text, " at byte %" PRIu64 ": %s", event->offset, event->line);
    if (event->kind == SHELL_EVENT_EXITED)
        buffer_printf(text, " %d", event->exit_code);
    buffer_append_char(text, '\n');
}

static void write_event(const struct shell_event *event, const char *time, struct json_writer *w)
{
    json_object_open(w);
    json_write_member_i64(w, "id", (int64_t)event->id);
    json_write_member_string(w, "kind", shell_event_name(event->kind));
    json_write_member_string(w, "time", time);
    json_write_member_i64(w, "offset", (int64_t)event->offset);
    json_write_member_string(w, "pattern", event->pattern);
    json_write_member_string(w, "line", event->line);
    if (event->kind == SHELL_EVENT_EXITED)
        json_write_member_i64(w, "exit_code", event->exit_code);
    json_object_close(w);
}

// More are given by the next call. An event may have its line and pattern with six characters a
// byte.
enum { EVENT_ROOM = 8 << 10, EVENTS_BYTES = TOOL_STRUCTURED_LIMIT - 1024 - EVENT_ROOM };

// Returns the id of the last one written.
static uint64_t write_events(const struct shell_events *events, uint64_t since, struct buffer *text,
                             struct json_writer *w)
{
    char time[CLOCK_TEXT_SIZE];
    const struct shell_event *event;
    while ((event = shell_events_after(events, since)) != NULL &&
           buffer_size(w->out) < EVENTS_BYTES) {
        clock_format_wall(event->wall_ms, time);
        write_event_text(event, time, text);
        write_event(event, time, w);
        since = event->id;
    }
    return since;
}

int watch_events_result(const struct shell *shell, const struct arguments *arguments,
                        struct tool_result *out, struct failure *why)
{
    struct json_writer w;
    struct shell_view view;
    const struct shell_events *events = shell_events_of(shell);
    uint64_t since = (uint64_t)argument_integer(arguments, "since_event_id");
    if (events == NULL)
        return failure_set(why, FAULT_INVALID,
                           "this shell was started by Bash, without events; "
                           "BashOutput gives what it writes");
    shell_look(shell, &view);
    const struct shell_event *first = shell_events_after(events, since);
    uint64_t lost = first != NULL ? first->id - since - 1 : 0;
    if (lost > 0)
        buffer_printf(&out->text, "[%" PRIu64 " events before this are no longer kept]\n", lost);
    json_writer_init(&w, &out->structured);
    json_object_open(&w);
    json_write_key(&w, "events");
    json_array_open(&w);
    uint64_t last = write_events(events, since, &out->text, &w);
    json_array_close(&w);
    json_write_member_string(&w, "status", shell_state_name(view.state));
    json_write_member_bool(&w, "running", view.state == SHELL_RUNNING);
    json_write_member_i64(&w, "last_event_id", (int64_t)last);
    json_write_member_i64(&w, "lost_events", (int64_t)lost);
    json_object_close(&w);
    if (first == NULL)
        buffer_append_string(&out->text, "[no new events]\n");
    if (last + 1 < events->next && first != NULL)
        buffer_printf(&out->text, "[more events: call again with since_event_id %" PRIu64 "]\n",
                      last);
    buffer_printf(&out->text, "status: %s", shell_state_name(view.state));
    return 0;
}
