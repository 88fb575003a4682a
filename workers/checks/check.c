// SPDX-License-Identifier: Apache-2.0
#include "workers/checks/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "workers/checks/answer.h"
#include "workers/checks/rerun.h"
#include "workers/checks/run.h"

enum { LINE_BYTES = 120 << 10 };

// Images keep compilers where the PATH of a plain command does not lead.
static const char prelude[] =
    "PATH=$PATH:/usr/local/go/bin:/usr/local/cargo/bin:$HOME/.cargo/bin:$PWD/node_modules/.bin; "
    "MANAGER='npm --silent'; [ -f pnpm-lock.yaml ] && MANAGER=pnpm; [ -f yarn.lock ] && "
    "MANAGER=yarn; { [ -f bun.lock ] || [ -f bun.lockb ]; } && MANAGER=bun; "
    "export PATH; ";

struct check {
    const struct check_task *task;
    const struct project *project;
    struct report report;
    struct output shown;
    struct ending ending;
    struct buffer line; // without the prelude
    char folder[64];    // for the JUnit file; "" for none
    struct check_row row;
};

static int make_folder(struct check *c, struct failure *why)
{
    if (!c->row.writes_junit)
        return 0;
    snprintf(c->folder, sizeof c->folder, "/tmp/wrist-check-XXXXXX");
    return mkdtemp(c->folder) != NULL ? 0 : failure_errno(why, "make %s", c->folder);
}

static void read_junit(const struct check *c, char path[96])
{
    enum { PIECE = 64 << 10 };
    CLEANUP_FREE char *piece = memory_new(PIECE);
    struct report *out = (struct report *)(uintptr_t)&c->report;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return;
    void *parser = parser_junit.make(out);
    ssize_t size;
    while (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size = read(fd, piece, PIECE)) > 0)
        parser_junit.feed(parser, span_of(piece, (size_t)size));
    parser_junit.finish(parser);
    close(fd);
}

static void take_junit(struct check *c)
{
    char path[96];
    if (c->folder[0] == '\0')
        return;
    snprintf(path, sizeof path, "%s/junit.xml", c->folder);
    if (!c->ending.timed_out)
        read_junit(c, path);
    unlink(path);
    rmdir(c->folder);
}

static int script_line(struct check *c, struct failure *why)
{
    if (strcmp(c->project->name, "node") != 0 && strcmp(c->project->name, "make") != 0)
        return failure_set(why, FAULT_UNSUPPORTED,
                           "run_script is for package.json's scripts and Makefile's targets; this "
                           "is a %s project",
                           c->project->name);
    bool is_make = strcmp(c->project->name, "make") == 0;
    buffer_append_string(&c->line, is_make ? "make -- " : "$MANAGER run ");
    rerun_quote(span_from_string(c->task->script), &c->line);
    return 0;
}

static int choose_line(struct check *c, struct failure *why)
{
    if (c->task->kind == CHECK_SCRIPT)
        return script_line(c, why);
    c->row = c->project->checks[c->task->kind];
    if (c->row.line == NULL)
        return failure_set(why, FAULT_UNSUPPORTED, "nothing is known to do this for a %s project",
                           c->project->name);
    if (c->task->last != NULL)
        return rerun_line(c->project, c->task->last, c->row.line, &c->line, why);
    return buffer_append_string(&c->line, c->row.line);
}

static int run(struct check *c, struct failure *why)
{
    struct buffer whole;
    buffer_init(&whole, LINE_BYTES + sizeof prelude + 128);
    buffer_append_string(&whole, prelude);
    if (c->folder[0] != '\0')
        buffer_printf(&whole, "export REPORT=%s/junit.xml; ", c->folder);
    buffer_append(&whole, buffer_span(&c->line));
    buffer_append_char(&whole, '\0');
    const struct run options = {
        .who = c->task->who,
        .line = buffer_span(&whole).data,
        .out = c->row.out,
        .err = c->row.err,
        .report = &c->report,
        .shown = &c->shown,
        .timeout_ms = c->task->timeout_ms,
    };
    int fault = run_line(&options, &c->ending, why);
    buffer_fini(&whole);
    return fault;
}

static int check(struct check *c, struct tool_result *out, struct failure *why)
{
    int64_t started_us = clock_monotonic_us(clock_system());
    int fault = project_detect(AT_FDCWD, c->task->language, &c->project, why);
    if (fault == 0)
        fault = choose_line(c, why);
    if (fault == 0)
        fault = make_folder(c, why);
    if (fault == 0)
        fault = run(c, why);
    take_junit(c);
    if (fault != 0)
        return fault;
    struct buffer shown;
    buffer_init(&shown, RUN_SHOWN_BYTES + 1024);
    (void)output_write(&c->shown, &shown);
    const struct answer answer = {
        .kind = c->task->kind,
        .project = c->project->name,
        .line = buffer_span(&c->line),
        .report = &c->report,
        .ending = c->ending,
        .output = buffer_span(&shown),
        .detail = c->task->detail,
        .ms = (clock_monotonic_us(clock_system()) - started_us) / 1000,
        .timeout_ms = c->task->timeout_ms,
    };
    answer_write(&answer, out);
    buffer_fini(&shown);
    return 0;
}

static int print(const struct tool_result *result)
{
    struct buffer json;
    struct json_writer w;
    buffer_init(&json, CHECK_OUTPUT_BYTES);
    json_writer_init(&w, &json);
    json_object_open(&w);
    tool_result_write(result, &w);
    json_object_close(&w);
    if (json_writer_finish(&w) != 0)
        return 1;
    for (struct span rest = buffer_span(&json); rest.size > 0;) {
        ssize_t size = write(STDOUT_FILENO, rest.data, rest.size);
        if (size <= 0)
            return 1;
        rest = span_slice(rest, (size_t)size, rest.size);
    }
    return 0;
}

int check_run(void *task)
{
    struct check c = {.task = task};
    struct tool_result result;
    struct failure why = {0};
    report_init(&c.report);
    output_init(&c.shown, RUN_SHOWN_BYTES);
    buffer_init(&c.line, LINE_BYTES);
    tool_result_init(&result);
    if (check(&c, &result, &why) != 0)
        tool_result_fail(&result, &why);
    return print(&result); // the process ends, and with it all that it has
}
