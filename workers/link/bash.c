// SPDX-License-Identifier: Apache-2.0
#include "workers/link/bash.h"

#include <inttypes.h>

int bash_read(const struct arguments *arguments, struct bash_request *out, struct failure *why)
{
    out->line = argument_text(arguments, "command");
    out->timeout_ms = argument_integer(arguments, "timeout") * 1000;
    out->in_background = argument_boolean(arguments, "run_in_background");
    if (memchr(out->line.data, '\0', out->line.size) != NULL)
        return failure_set(why, FAULT_INVALID, "command must not hold a NUL character");
    return 0;
}

static void write_notes(const struct command_result *ended, int64_t timeout_ms, struct buffer *text)
{
    if (buffer_size(text) > 0 && buffer_span(text).data[buffer_size(text) - 1] != '\n')
        buffer_append_char(text, '\n');
    if (ended->ending == COMMAND_TIMED_OUT)
        buffer_printf(text,
                      "bash: timed out after %" PRId64 "s, everything it started was killed\n",
                      timeout_ms / 1000);
    else if (ended->ending == COMMAND_LOST)
        buffer_append_string(text, "bash: the command's supervisor was killed\n");
    else if (ended->still_running > 0)
        buffer_printf(text,
                      "bash: %u process%s still ran when the shell ended and %s killed; nothing "
                      "outlives the call\n",
                      ended->still_running, ended->still_running == 1 ? "" : "es",
                      ended->still_running == 1 ? "was" : "were");
}

static void write_structured(const struct command_result *ended, struct buffer *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_object_open(&w);
    json_write_member_i64(&w, "exit_code", ended->exit_code);
    json_write_member_bool(&w, "timed_out", ended->ending == COMMAND_TIMED_OUT);
    json_write_member_i64(&w, "output_bytes", (int64_t)ended->output_bytes);
    json_write_member_bool(&w, "truncated", ended->cut);
    json_write_member_i64(&w, "killed_at_end", ended->still_running);
    json_object_close(&w);
}

void bash_result(const struct command_result *ended, int64_t timeout_ms, struct tool_result *out)
{
    if (ended->ending == COMMAND_NOT_STARTED) {
        struct failure why;
        failure_set(&why, FAULT_IO, "bash: the command was not run: %.*s", SPAN_ARGS(ended->text));
        tool_result_fail(out, &why);
        return;
    }
    buffer_append(&out->text, ended->text);
    write_notes(ended, timeout_ms, &out->text);
    buffer_printf(&out->text, "exit: %d", ended->exit_code);
    write_structured(ended, &out->structured);
    out->is_error = ended->ending != COMMAND_ENDED;
}
