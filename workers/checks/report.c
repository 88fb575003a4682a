// SPDX-License-Identifier: Apache-2.0
#include "workers/checks/report.h"

#include <ctype.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"

enum { EXIT_NOT_FOUND = 127, EXIT_SIGNAL_BASE = 128 };

void report_init(struct report *r)
{
    *r = (struct report){.findings = memory_new_array(REPORT_FAILURES_MAX, sizeof *r->findings)};
}

void report_fini(struct report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->findings[i].name);
        free(r->findings[i].suite);
        free(r->findings[i].file);
        free(r->findings[i].message);
    }
    free(r->findings);
    *r = (struct report){0};
}

static bool is_path_byte(char c)
{
    return isalnum((unsigned char)c) || strchr("._-/+@~", c) != NULL;
}

// Where the digits at `at` end; `at` itself where there are none.
static size_t digits_end(struct span text, size_t at)
{
    while (at < text.size && isdigit((unsigned char)text.data[at]))
        at++;
    return at;
}

bool place_find(struct span text, struct span *file, int64_t *line)
{
    for (size_t colon = 1; colon < text.size; colon++) {
        uint64_t number;
        size_t from = colon, end = digits_end(text, colon + 1);
        if (text.data[colon] != ':' || end == colon + 1)
            continue;
        while (from > 0 && text.data[from - 1] != '\0' && is_path_byte(text.data[from - 1]))
            from--;
        struct span path = span_slice(text, from, colon);
        const char *dot = path.size > 2 ? memrchr(path.data, '.', path.size) : NULL;
        if (dot == NULL || dot == path.data || dot + 1 == path.data + path.size ||
            !isalpha((unsigned char)dot[1]) ||
            !span_to_u64(span_slice(text, colon + 1, end), &number) || number > INT32_MAX)
            continue;
        *file = path;
        *line = (int64_t)number;
        return true;
    }
    return false;
}

static char *copy(struct span text, size_t limit)
{
    text = span_slice(text, 0, limit);
    char *out = memory_copy_span(text);
    for (size_t i = 0; i < text.size; i++)
        if (out[i] == '\0')
            out[i] = ' ';
    return out;
}

static void count(struct report *r, enum finding_kind kind)
{
    r->failed += kind == FINDING_TEST;
    r->errors += kind == FINDING_ERROR;
    r->warnings += kind == FINDING_WARNING;
}

void report_add(struct report *r, const struct finding_text *text)
{
    struct span file = text->file;
    int64_t line = text->line;
    count(r, text->kind);
    if (r->count == REPORT_FAILURES_MAX)
        return;
    if (file.size == 0)
        (void)place_find(text->message, &file, &line);
    r->findings[r->count++] = (struct finding){
        .kind = text->kind,
        .name = copy(text->name, REPORT_NAME_BYTES),
        .suite = copy(text->suite, REPORT_NAME_BYTES),
        .file = copy(file, REPORT_NAME_BYTES),
        .line = line,
        .message = copy(text->message, REPORT_MESSAGE_BYTES),
    };
}

const char *verdict_name(enum verdict v)
{
    static const char *const names[] = {
        [VERDICT_PASSED] = "passed",           [VERDICT_FAILED] = "failed",
        [VERDICT_BUILD_ERROR] = "build_error", [VERDICT_NO_TESTS] = "no_tests",
        [VERDICT_UNPARSED] = "unparsed",       [VERDICT_CRASH] = "crash",
        [VERDICT_TIMEOUT] = "timeout",         [VERDICT_NOT_RUN] = "not_run",
    };
    return names[v];
}

static enum verdict judge_tests(const struct report *r, const struct ending *ending)
{
    if (r->failed > 0)
        return VERDICT_FAILED;
    if (ending->exit_code != 0 && r->errors > 0)
        return VERDICT_BUILD_ERROR;
    if (r->counted && r->passed == 0)
        return VERDICT_NO_TESTS;
    return ending->exit_code == 0 && r->counted ? VERDICT_PASSED : VERDICT_UNPARSED;
}

enum verdict report_judge(const struct report *r, enum check_kind kind, const struct ending *ending)
{
    if (ending->timed_out)
        return VERDICT_TIMEOUT;
    if (ending->exit_code > EXIT_SIGNAL_BASE)
        return VERDICT_CRASH;
    if (ending->exit_code == EXIT_NOT_FOUND)
        return VERDICT_NOT_RUN;
    if (kind == CHECK_TESTS)
        return judge_tests(r, ending);
    if (r->errors > 0 || (kind == CHECK_LINT && r->warnings > 0))
        return VERDICT_FAILED;
    if (ending->exit_code == 0)
        return VERDICT_PASSED;
    return kind == CHECK_SCRIPT ? VERDICT_FAILED : VERDICT_UNPARSED;
}
