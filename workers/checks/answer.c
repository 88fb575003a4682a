// SPDX-License-Identifier: Apache-2.0
#include "workers/checks/answer.h"

#include <inttypes.h>

#include "workers/checks/check.h"
#include "workers/tools/text.h"

enum { TAIL_BYTES = 4 << 10, DETAIL_BYTES = 60 << 10 };

static const char *kind_name(enum finding_kind kind)
{
    return kind == FINDING_TEST ? "test" : kind == FINDING_ERROR ? "error" : "warning";
}

static void write_head(const struct answer *a, enum verdict verdict, struct buffer *text)
{
    static const char *const explained[] = {
        [VERDICT_PASSED] = "PASSED",
        [VERDICT_FAILED] = "FAILED",
        [VERDICT_BUILD_ERROR] = "BUILD ERROR: no test ran",
        [VERDICT_NO_TESTS] = "NO TESTS: none ran, which proves nothing",
        [VERDICT_UNPARSED] = "UNPARSED: no outcome can be read, so it does not count as passed",
        [VERDICT_CRASH] = "CRASH: ended by a signal",
        [VERDICT_TIMEOUT] = "TIMEOUT: killed",
        [VERDICT_NOT_RUN] = "NOT RUN: a program that this needs is not installed",
    };
    const struct report *r = a->report;
    buffer_append_string(text, explained[verdict]);
    if (a->kind == CHECK_TESTS)
        buffer_printf(text, "\n%" PRId64 " failed, %" PRId64 " passed, %" PRId64 " skipped",
                      r->failed, r->passed, r->skipped);
    if (a->kind == CHECK_LINT || a->kind == CHECK_TYPES || r->errors > 0)
        buffer_printf(text, "\n%" PRId64 " error%s, %" PRId64 " warning%s", r->errors,
                      r->errors == 1 ? "" : "s", r->warnings, r->warnings == 1 ? "" : "s");
    buffer_printf(text, "\n%.*s: exit %d after %" PRId64 ".%" PRId64 " s\n",
                  (int)(a->line.size < 300 ? a->line.size : 300), a->line.data, a->ending.exit_code,
                  a->ms / 1000, a->ms % 1000 / 100);
}

static void write_finding(const struct finding *f, struct buffer *text)
{
    buffer_printf(text, "\n%s", kind_name(f->kind));
    if (f->suite[0] != '\0')
        buffer_printf(text, " %s", f->suite);
    if (f->name[0] != '\0')
        buffer_printf(text, " %s", f->name);
    if (f->file[0] != '\0')
        buffer_printf(text, " (%s:%" PRId64 ")", f->file, f->line);
    buffer_append_string(text, f->kind == FINDING_TEST ? "\n" : ": ");
    struct span message = span_from_string(f->message);
    message.size = text_whole_chars(message);
    buffer_append(text, message);
    if (message.size == 0 || message.data[message.size - 1] != '\n')
        buffer_append_char(text, '\n');
}

static void write_output(const struct answer *a, enum verdict verdict, struct buffer *text)
{
    bool explained = a->report->count > 0 || verdict == VERDICT_PASSED;
    size_t limit = a->detail ? DETAIL_BYTES : TAIL_BYTES;
    if (explained && !a->detail && a->kind != CHECK_SCRIPT)
        return;
    struct span tail = a->output;
    if (tail.size > limit)
        tail = span_slice(tail, tail.size - limit, tail.size);
    if (tail.size == 0)
        return;
    buffer_append_string(text, tail.size < a->output.size ? "\n--- end of the output\n"
                                                          : "\n--- output\n");
    buffer_append(text, tail);
}

static void write_failures(const struct report *r, size_t limit, struct json_writer *w)
{
    json_write_key(w, "failures");
    json_array_open(w);
    for (size_t i = 0; i < r->count && i < limit; i++) {
        const struct finding *f = &r->findings[i];
        json_object_open(w);
        json_write_member_string(w, "kind", kind_name(f->kind));
        json_write_member_string(w, "name", f->name);
        json_write_member_string(w, "suite", f->suite);
        json_write_member_string(w, "file", f->file);
        json_write_member_i64(w, "line", f->line);
        json_write_member_string(w, "message", f->message);
        json_object_close(w);
    }
    json_array_close(w);
}

static int write_structured(const struct answer *a, enum verdict verdict, size_t limit,
                            struct buffer *out)
{
    const struct report *r = a->report;
    struct json_writer w;
    buffer_clear(out);
    json_writer_init(&w, out);
    json_object_open(&w);
    json_write_member_string(&w, "verdict", verdict_name(verdict));
    json_write_member_string(&w, "project", a->project);
    json_write_member(&w, "command", span_slice(a->line, 0, 4096));
    json_write_member_i64(&w, "exit_code", a->ending.exit_code);
    json_write_member_i64(&w, "duration_ms", a->ms);
    json_write_member_i64(&w, "passed", r->passed);
    json_write_member_i64(&w, "failed", r->failed);
    json_write_member_i64(&w, "skipped", r->skipped);
    json_write_member_i64(&w, "errors", r->errors);
    json_write_member_i64(&w, "warnings", r->warnings);
    write_failures(r, limit, &w);
    json_object_close(&w);
    return json_writer_finish(&w);
}

void answer_write(const struct answer *a, struct tool_result *out)
{
    enum verdict verdict = report_judge(a->report, a->kind, &a->ending);
    const struct report *r = a->report;
    size_t shown = r->count < CHECK_FAILURES_SHOWN ? r->count : CHECK_FAILURES_SHOWN;
    write_head(a, verdict, &out->text);
    if (verdict == VERDICT_TIMEOUT)
        buffer_printf(&out->text,
                      "It ran longer than %" PRId64 " s; the counts are of what it had "
                      "said by then.\n",
                      a->timeout_ms / 1000);
    for (size_t i = 0; i < shown; i++)
        write_finding(&r->findings[i], &out->text);
    int64_t all = r->failed + r->errors + r->warnings;
    if (all > (int64_t)shown)
        buffer_printf(&out->text, "\n[%" PRId64 " more]\n", all - (int64_t)shown);
    write_output(a, verdict, &out->text);
    // Escapes may make the messages longer than they are.
    while (write_structured(a, verdict, shown, &out->structured) != 0 && shown > 0)
        shown /= 2;
    out->is_error = verdict != VERDICT_PASSED;
}
