// SPDX-License-Identifier: Apache-2.0
#include "workers/link/call.h"

#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/edit.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/telemetry/log.h"
#include "workers/init/life.h"
#include "workers/link/bash.h"
#include "workers/link/check_tools.h"
#include "workers/link/findings.h"
#include "workers/link/shell_tools.h"
#include "workers/tools/arguments.h"

enum { FILE_CALL_MS = 60000, RESULT_LIMIT = 32 << 20 };

struct call {
    struct list node;
    struct calls *calls;
    const struct tool *tool;
    struct hand_job *job;    // NULL: none runs
    struct command *command; // NULL: none runs
    struct shell *shell;     // that it kills; NULL: none
    int64_t timeout_ms;
    char *session, *id, *link_id; // owned; "" for none
    char *reader, *path;          // owned; path: of a file that it writes, NULL for none
    struct task finish;           // tells a result that was there at once
    struct buffer result, told;   // told: with what linters found
    bool has_result;
    bool is_session_over; // its cancellation is none of its client's
    int64_t started_us;
    void (*ended)(void *owner, struct span result);
    void *owner; // borrowed
};

struct calls {
    struct calls_options options;
    struct list running;
    size_t count;
    struct last_tests last_tests;
    struct findings *findings; // owned
};

struct calls *calls_new(const struct calls_options *options)
{
    struct calls *c = memory_new(sizeof *c);
    c->options = *options;
    list_init(&c->running);
    c->findings = findings_new(&options->command);
    return c;
}

static void call_free(void *object)
{
    struct call *call = object;
    buffer_fini(&call->result);
    buffer_fini(&call->told);
    free(call->session);
    free(call->id);
    free(call->link_id);
    free(call->reader);
    free(call->path);
    free(call);
}

static void call_bury(struct call *call)
{
    struct calls *c = call->calls;
    task_cancel(&call->finish);
    list_remove(&call->node);
    c->count--;
    life_calls(c->options.life, -1);
    loop_bury(c->options.loop, call, call_free);
}

// A text block more in the result's content, where there is something to tell.
static struct span with_findings(struct call *call, struct span result)
{
    struct json *doc = NULL;
    struct json_writer w;
    struct buffer text, block;
    buffer_init(&text, 64 << 10);
    if (!findings_take(call->calls->findings, span_from_string(call->reader), &text) ||
        json_parse(result, NULL, &doc, NULL) != 0) {
        buffer_fini(&text);
        return result;
    }
    struct span content = json_raw(doc, json_get(doc, JSON_ROOT, "content"));
    size_t at = (size_t)(content.data - result.data) + content.size - 1; // before its ]
    buffer_init(&block, 512 << 10);
    buffer_append_string(&block, ",{\"type\":\"text\",\"text\":");
    json_writer_init(&w, &block);
    json_write_string(&w, buffer_span(&text));
    buffer_append_string(&block, "}");
    buffer_append(&call->told, span_slice(result, 0, at));
    buffer_append(&call->told, buffer_span(&block));
    buffer_append(&call->told, span_slice(result, at, result.size));
    json_free(doc);
    buffer_fini(&text);
    buffer_fini(&block);
    return buffer_span(&call->told);
}

static void result_fail(struct call *call, const struct failure *why);

static void call_end(struct call *call, struct span result)
{
    struct failure over;
    bool was_cancelled = span_is_absent(result);
    if (was_cancelled && call->is_session_over) {
        failure_set(&over, FAULT_CANCELLED,
                    "The call was stopped, since its session or grant has ended; a part of it may "
                    "have run.");
        result_fail(call, &over);
        result = buffer_span(&call->result);
    }
    int64_t us = loop_now_us(call->calls->options.loop) - call->started_us;
    LOG(LOG_INFO, "call.ended", LOG_STRING("tool", call->tool->name), LOG_I64("us", us),
        LOG_BOOL("cancelled", was_cancelled));
    call_bury(call);
    if (!span_is_absent(result))
        result = with_findings(call, result);
    call->ended(call->owner, result);
}

void calls_free(struct calls *c)
{
    if (c == NULL)
        return;
    LIST_EACH(node, &c->running)
    {
        struct call *call = LIST_ENTRY(node, struct call, node);
        if (call->job != NULL)
            hand_job_cancel(call->job);
        if (call->command != NULL)
            command_forget(call->command);
        if (call->shell != NULL)
            shell_kill_forget(call->shell);
        call_bury(call);
    }
    findings_free(c->findings);
    free(c->last_tests.structured);
    free(c);
}

static void result_write(struct call *call, const struct tool_result *result)
{
    struct json_writer w;
    json_writer_init(&w, &call->result);
    json_object_open(&w);
    tool_result_write(result, &w);
    json_object_close(&w);
    call->has_result = true;
}

static void result_fail(struct call *call, const struct failure *why)
{
    struct tool_result result;
    tool_result_init(&result);
    tool_result_fail(&result, why);
    result_write(call, &result);
    tool_result_fini(&result);
}

static void on_finish(struct task *task)
{
    struct call *call = CONTAINER_OF(task, struct call, finish);
    call_end(call, call->has_result ? buffer_span(&call->result) : SPAN_NONE);
}

static void on_findings(void *owner)
{
    struct call *call = owner;
    call_end(call, buffer_span(&call->result));
}

static void on_job_ended(void *owner, const struct failure *why, bool is_error, struct span json)
{
    struct call *call = owner;
    call->job = NULL;
    if (why == NULL && !is_error && call->path != NULL && buffer_append(&call->result, json) == 0 &&
        findings_start(call->calls->findings, span_from_string(call->reader),
                       span_from_string(call->path), on_findings, call)) {
        call->has_result = true;
        return;
    }
    if (why == NULL) {
        call_end(call, json);
        return;
    }
    result_fail(call, why);
    call_end(call, buffer_span(&call->result));
}

static const struct hand_job_ops job_ops = {.ended = on_job_ended};

static void on_command_ended(void *owner, const struct command_result *ended)
{
    struct call *call = owner;
    struct tool_result result;
    call->command = NULL;
    if (ended->ending == COMMAND_CANCELLED) {
        call_end(call, SPAN_NONE);
        return;
    }
    tool_result_init(&result);
    bash_result(ended, call->timeout_ms, &result);
    result_write(call, &result);
    tool_result_fini(&result);
    call_end(call, buffer_span(&call->result));
}

// --- commands and background shells ---------------------------------------------------------

static void finish_now(struct call *call, struct tool_result *result)
{
    result_write(call, result);
    tool_result_fini(result);
    loop_defer(call->calls->options.loop, &call->finish);
}

static int start_background(struct call *call, const struct bash_request *bash,
                            const struct call_request *request, struct failure *why)
{
    struct tool_result result;
    const struct shell *shell =
        shell_start(call->calls->options.shells, bash->line, request->session, NULL, why);
    if (shell == NULL)
        return why->fault;
    tool_result_init(&result);
    background_result(shell, &result);
    finish_now(call, &result);
    return 0;
}

static int start_bash(struct call *call, const struct call_request *request,
                      const struct arguments *arguments, struct failure *why)
{
    struct bash_request bash;
    int fault = bash_read(arguments, &bash, why);
    if (fault != 0)
        return fault;
    if (bash.in_background)
        return start_background(call, &bash, request, why);
    call->timeout_ms = bash.timeout_ms;
    call->command = command_start(&call->calls->options.command, bash.line, bash.timeout_ms,
                                  on_command_ended, call, why);
    return call->command != NULL ? 0 : why->fault;
}

// --- checks ---------------------------------------------------------------------------------

static void on_check_ended(void *owner, const struct command_result *ended)
{
    struct call *call = owner;
    struct tool_result result;
    bool is_tests = strcmp(call->tool->name, "run_tests") == 0 ||
                    strcmp(call->tool->name, "run_failing_tests") == 0;
    call->command = NULL;
    if (ended->ending == COMMAND_CANCELLED) {
        call_end(call, SPAN_NONE);
        return;
    }
    tool_result_init(&result);
    if (check_result(ended, is_tests ? &call->calls->last_tests : NULL, &result)) {
        call_end(call, ended->text);
    } else {
        result_write(call, &result);
        call_end(call, buffer_span(&call->result));
    }
    tool_result_fini(&result);
}

static int start_check(struct call *call, const struct call_request *request,
                       const struct arguments *arguments, struct failure *why)
{
    struct check_request check;
    struct command_options options = call->calls->options.command;
    int fault = check_read(request->tool, arguments, &call->calls->last_tests, &check, why);
    if (fault != 0)
        return fault;
    check.task.who = options.who;
    options.output_limit = CHECK_OUTPUT_BYTES;
    options.body = check_run;
    options.body_task = &check.task; // the fork has a copy
    call->command =
        command_start(&options, SPAN_LITERAL(""), check.task.timeout_ms + CHECK_SPARE_MS,
                      on_check_ended, call, why);
    check_request_fini(&check);
    return call->command != NULL ? 0 : why->fault;
}

static int start_last_failures(struct call *call, const struct call_request *request,
                               const struct arguments *arguments, struct failure *why)
{
    struct tool_result result;
    (void)request;
    tool_result_init(&result);
    int fault = last_failures_result(&call->calls->last_tests, arguments, &result, why);
    if (fault == 0)
        finish_now(call, &result);
    else
        tool_result_fini(&result);
    return fault;
}

// --- background shells ----------------------------------------------------------------------

static int start_bash_output(struct call *call, const struct call_request *request,
                             const struct arguments *arguments, struct failure *why)
{
    struct tool_result result;
    struct shell *shell = shell_named(call->calls->options.shells, arguments, why);
    (void)request;
    if (shell == NULL)
        return why->fault;
    tool_result_init(&result);
    bash_output_result(shell, arguments, &result);
    finish_now(call, &result);
    return 0;
}

static int start_watch(struct call *call, const struct call_request *request,
                       const struct arguments *arguments, struct failure *why)
{
    struct tool_result result;
    const struct shell *shell =
        watch_process(call->calls->options.shells, arguments, request->session, why);
    if (shell == NULL)
        return why->fault;
    tool_result_init(&result);
    background_result(shell, &result);
    finish_now(call, &result);
    return 0;
}

static int start_watch_events(struct call *call, const struct call_request *request,
                              const struct arguments *arguments, struct failure *why)
{
    struct tool_result result;
    const struct shell *shell = shell_named(call->calls->options.shells, arguments, why);
    (void)request;
    if (shell == NULL)
        return why->fault;
    tool_result_init(&result);
    int fault = watch_events_result(shell, arguments, &result, why);
    if (fault == 0)
        finish_now(call, &result);
    else
        tool_result_fini(&result);
    return fault;
}

static void on_killed(void *owner)
{
    struct call *call = owner;
    call->shell = NULL;
    loop_defer(call->calls->options.loop, &call->finish);
}

static int start_kill_shell(struct call *call, const struct call_request *request,
                            const struct arguments *arguments, struct failure *why)
{
    struct tool_result result;
    struct shell *shell = shell_named(call->calls->options.shells, arguments, why);
    (void)request;
    if (shell == NULL)
        return why->fault;
    tool_result_init(&result);
    kill_shell_result(argument_text(arguments, "shell_id"), &result);
    result_write(call, &result);
    tool_result_fini(&result);
    call->shell = shell;
    (void)shell_kill(shell, on_killed, call); // true: shell_named finds none that is being killed
    return 0;
}

static const struct {
    const char *tool;
    int (*start)(struct call *call, const struct call_request *request,
                 const struct arguments *arguments, struct failure *why);
} commands[] = {
    {"Bash", start_bash},
    {"BashOutput", start_bash_output},
    {"KillShell", start_kill_shell},
    {"last_test_failures", start_last_failures},
    {"run_failing_tests", start_check},
    {"run_lint", start_check},
    {"run_script", start_check},
    {"run_tests", start_check},
    {"run_typecheck", start_check},
    {"watch_process", start_watch},
    {"watch_process_events", start_watch_events},
};

static int start_command(struct call *call, const struct call_request *request, struct failure *why)
{
    struct arguments arguments;
    int fault = arguments_parse(&arguments, request->tool, request->doc, request->arguments, why);
    if (fault != 0)
        return fault;
    fault = failure_set(why, FAULT_INTERNAL, "%s cannot be run", request->tool->name);
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
        if (strcmp(commands[i].tool, request->tool->name) == 0)
            fault = commands[i].start(call, request, &arguments, why);
    arguments_fini(&arguments);
    return fault;
}

static char *file_path_of(const struct call_request *request)
{
    struct span path;
    int node = json_get(request->doc, request->arguments, "file_path");
    return node != JSON_NONE && json_string_plain(request->doc, node, &path)
               ? memory_copy_span(path)
               : NULL; // one with escapes is not worth the trouble
}

static int start(struct call *call, const struct call_request *request, struct failure *why)
{
    struct calls *c = call->calls;
    if (c->count > CALLS_MAX)
        return failure_set(why, FAULT_QUOTA,
                           "%d calls run in this sandbox already; wait for one to end", CALLS_MAX);
    if (request->tool->place == TOOL_COMMAND)
        return start_command(call, request, why);
    struct span arguments = request->arguments == JSON_NONE
                                ? SPAN_LITERAL("{}")
                                : json_raw(request->doc, request->arguments);
    if (request->tool->writes_file)
        call->path = file_path_of(request);
    call->job = hand_call_start(c->options.hands, request->tool, arguments, request->reader,
                                FILE_CALL_MS, &job_ops, call, why);
    return call->job != NULL ? 0 : why->fault;
}

struct call *call_start(struct calls *c, const struct call_request *request,
                        void (*ended)(void *owner, struct span result), void *owner)
{
    struct call *call = memory_new(sizeof *call);
    struct failure why;
    *call = (struct call){
        .calls = c,
        .tool = request->tool,
        .session = memory_copy_span(request->session),
        .id = memory_copy_span(request->id),
        .reader = memory_copy_span(request->reader),
        .link_id = memory_copy_span(request->link_id),
        .started_us = loop_now_us(c->options.loop),
        .ended = ended,
        .owner = owner,
    };
    buffer_init(&call->result, RESULT_LIMIT);
    buffer_init(&call->told, RESULT_LIMIT + (512 << 10));
    task_init(&call->finish, on_finish);
    list_append(&c->running, &call->node);
    c->count++;
    life_calls(c->options.life, 1);
    if (start(call, request, &why) != 0) {
        result_fail(call, &why);
        loop_defer(c->options.loop, &call->finish);
    }
    return call;
}

void call_cancel(struct call *call)
{
    if (call->command != NULL) {
        command_cancel(call->command); // its end is the call's
        return;
    }
    if (call->job != NULL)
        hand_job_cancel(call->job);
    findings_forget(call->calls->findings, call);
    if (call->shell != NULL)
        shell_kill_forget(call->shell); // it is killed all the same
    call->job = NULL;
    call->shell = NULL;
    call->has_result = false;
    loop_defer(call->calls->options.loop, &call->finish);
}

void call_rename(struct call *call, struct span id, struct span link_id)
{
    free(call->id);
    free(call->link_id);
    call->id = memory_copy_span(id);
    call->link_id = memory_copy_span(link_id);
}

// Absent or empty keys match nothing; NULL is not looked at.
static size_t cancel(struct calls *c, const struct span *session, const struct span *id,
                     const struct span *link_id)
{
    size_t count = 0;
    LIST_EACH(node, &c->running)
    {
        struct call *call = LIST_ENTRY(node, struct call, node);
        if ((session != NULL && !span_is(*session, call->session)) ||
            (id != NULL && !span_is(*id, call->id)) ||
            (link_id != NULL && (link_id->size == 0 || !span_is(*link_id, call->link_id))))
            continue;
        call_cancel(call);
        count++;
    }
    return count;
}

size_t calls_cancel_request(struct calls *c, struct span session, struct span id)
{
    return cancel(c, &session, &id, NULL);
}

size_t calls_cancel_link(struct calls *c, struct span link_id)
{
    return cancel(c, NULL, NULL, &link_id);
}

size_t calls_cancel_session(struct calls *c, struct span session)
{
    shells_end_session(c->options.shells, session);
    LIST_EACH(node, &c->running)
    {
        struct call *call = LIST_ENTRY(node, struct call, node);
        call->is_session_over |= span_is(session, call->session);
    }
    return cancel(c, &session, NULL, NULL);
}

void calls_cancel_all(struct calls *c)
{
    cancel(c, NULL, NULL, NULL);
}
