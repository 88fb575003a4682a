// SPDX-License-Identifier: Apache-2.0
#include "workers/link/shell_tools.h"

#include <inttypes.h>

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
