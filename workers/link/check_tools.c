// SPDX-License-Identifier: Apache-2.0
#include "workers/link/check_tools.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"

static const struct {
    const char *tool;
    enum check_kind kind;
} kinds[] = {
    {"run_tests", CHECK_TESTS},     {"run_failing_tests", CHECK_TESTS}, {"run_lint", CHECK_LINT},
    {"run_typecheck", CHECK_TYPES}, {"run_script", CHECK_SCRIPT},
};

static char *copy_text(const struct arguments *arguments, const char *name)
{
    struct span text = argument_text(arguments, name);
    return memory_copy_span(span_is_absent(text) ? SPAN_LITERAL("") : text);
}

static bool has_failures(const struct last_tests *last)
{
    struct json *doc;
    if (last->structured == NULL ||
        json_parse(span_from_string(last->structured), NULL, &doc, NULL) != 0)
        return false;
    bool any = json_count(doc, json_get(doc, JSON_ROOT, "failures")) > 0;
    json_free(doc);
    return any;
}

int check_read(const struct tool *tool, const struct arguments *arguments,
               const struct last_tests *last, struct check_request *out, struct failure *why)
{
    bool again = strcmp(tool->name, "run_failing_tests") == 0;
    *out = (struct check_request){
        .task.timeout_ms = argument_integer(arguments, "timeout") * 1000,
        .task.last = again ? last->structured : NULL,
    };
    if (again && !has_failures(last))
        return failure_set(why, FAULT_CONFLICT,
                           "run_failing_tests: no failures are known; call "
                           "run_tests first");
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        if (strcmp(kinds[i].tool, tool->name) == 0)
            out->task.kind = kinds[i].kind;
    bool is_script = out->task.kind == CHECK_SCRIPT;
    out->task.detail = argument_boolean(arguments, "detail");
    out->language = copy_text(arguments, "language");
    out->script = is_script ? copy_text(arguments, "name") : memory_copy_string("");
    out->task.language = out->language;
    out->task.script = out->script;
    if (memchr(out->script, '\n', strlen(out->script)) == NULL)
        return 0;
    check_request_fini(out);
    return failure_set(why, FAULT_INVALID, "run_script: name must be one word");
}

void check_request_fini(struct check_request *r)
{
    free(r->language);
    free(r->script);
}

static void remember(struct last_tests *last, const struct json *doc)
{
    int structured = json_get(doc, JSON_ROOT, "structuredContent");
    if (structured == JSON_NONE)
        return; // no run: what was known stays
    free(last->structured);
    last->structured = memory_copy_span(json_raw(doc, structured));
}

bool check_result(const struct command_result *ended, struct last_tests *last,
                  struct tool_result *out)
{
    static const struct json_limits limits = {CHECK_OUTPUT_BYTES, 8192, 16};
    struct json *doc = NULL;
    struct failure why;
    bool is_whole = ended->ending == COMMAND_ENDED && ended->exit_code == 0 && !ended->cut &&
                    json_parse(ended->text, &limits, &doc, NULL) == 0 &&
                    json_type(doc, json_get(doc, JSON_ROOT, "content")) == JSON_ARRAY;
    if (is_whole && last != NULL)
        remember(last, doc);
    json_free(doc);
    if (is_whole)
        return true;
    failure_set(&why, FAULT_IO,
                "CRASH: the check itself was ended (%s, exit %d), by a memory limit or by what it "
                "ran; nothing is proven. %.*s",
                ended->ending == COMMAND_TIMED_OUT ? "timed out" : "died", ended->exit_code,
                ended->ending == COMMAND_NOT_STARTED ? (int)ended->text.size : 0,
                ended->text.data != NULL ? ended->text.data : "");
    tool_result_fail(out, &why);
    return false;
}

static void write_failure(const struct json *doc, int row, struct tool_result *out)
{
    static const char *const members[] = {"kind", "suite", "name", "file"};
    struct buffer text;
    int64_t line = 0;
    buffer_init(&text, 8192);
    for (size_t i = 0; i < ARRAY_COUNT(members); i++) {
        buffer_clear(&text);
        (void)json_string(doc, json_get(doc, row, members[i]), &text);
        if (buffer_size(&text) > 0)
            buffer_printf(&out->text, "%s%.*s", i > 0 ? " " : "", SPAN_ARGS(buffer_span(&text)));
    }
    if (json_i64(doc, json_get(doc, row, "line"), &line) && line > 0)
        buffer_printf(&out->text, ":%" PRId64, line);
    buffer_clear(&text);
    (void)json_string(doc, json_get(doc, row, "message"), &text);
    buffer_printf(&out->text, "\n%.*s\n\n", SPAN_ARGS(buffer_span(&text)));
    buffer_fini(&text);
}

int last_failures_result(const struct last_tests *last, const struct arguments *arguments,
                         struct tool_result *out, struct failure *why)
{
    int64_t limit = argument_integer(arguments, "limit"), shown = 0;
    struct buffer verdict;
    struct json *doc;
    if (last->structured == NULL)
        return failure_set(why, FAULT_CONFLICT, "no tests were run yet; call run_tests first");
    int fault = json_parse(span_from_string(last->structured), NULL, &doc, why);
    if (fault != 0)
        return fault;
    buffer_init(&verdict, 64);
    (void)json_string(doc, json_get(doc, JSON_ROOT, "verdict"), &verdict);
    int failures = json_get(doc, JSON_ROOT, "failures");
    size_t count = json_count(doc, failures);
    buffer_printf(&out->text, "verdict: %.*s, %zu failure%s kept\n\n",
                  SPAN_ARGS(buffer_span(&verdict)), count, count == 1 ? "" : "s");
    JSON_EACH(row, doc, failures)
    {
        if (shown++ < limit)
            write_failure(doc, row, out);
    }
    fault = buffer_append(&out->structured, span_from_string(last->structured));
    buffer_fini(&verdict);
    json_free(doc);
    return fault;
}
