// SPDX-License-Identifier: Apache-2.0
// Lines of compilers and linters: path:line:col: [severity:] text (gcc, clang, go, mypy, golangci,
// cppcheck), and tsc's path(line,col): error TS1: text.
#include <ctype.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "workers/checks/parse.h"

struct diagnostics {
    struct report *out; // borrowed
    struct lines lines;
};

static void *make(struct report *out)
{
    struct diagnostics *d = memory_new(sizeof *d);
    d->out = out;
    lines_init(&d->lines);
    return d;
}

// Takes digits off the front of *rest.
static bool take_number(struct span *rest, int64_t *out)
{
    uint64_t number;
    size_t size = 0;
    while (size < rest->size && size < 9 && isdigit((unsigned char)rest->data[size]))
        size++;
    if (!span_to_u64(span_slice(*rest, 0, size), &number))
        return false;
    *out = (int64_t)number;
    *rest = span_slice(*rest, size, rest->size);
    return true;
}

static bool take_char(struct span *rest, char c)
{
    if (rest->size == 0 || rest->data[0] != c)
        return false;
    *rest = span_slice(*rest, 1, rest->size);
    return true;
}

// path:12[:3]: or path(12,3): in front; the rest is the text.
static bool take_place(struct span *rest, struct span *file, int64_t *line)
{
    int64_t column;
    for (size_t at = 1; at < rest->size && at < REPORT_NAME_BYTES; at++) {
        char c = rest->data[at];
        struct span after = span_slice(*rest, at + 1, rest->size);
        if ((c != ':' && c != '(') || !take_number(&after, line))
            continue;
        bool is_place = false;
        if (c == ':') {
            is_place = take_char(&after, ':');
            if (is_place && take_number(&after, &column))
                is_place = take_char(&after, ':');
        } else if (take_char(&after, ',') && take_number(&after, &column)) {
            is_place = take_char(&after, ')') && take_char(&after, ':');
        }
        if (!is_place)
            continue;
        *file = span_slice(*rest, 0, at);
        *rest = span_trim(after);
        return true;
    }
    return false;
}

static bool looks_like_a_file(struct span path)
{
    const char *slash = memrchr(path.data, '/', path.size);
    const char *name = slash != NULL ? slash + 1 : path.data;
    const char *dot = memrchr(path.data, '.', path.size);
    return dot != NULL && dot > name && memchr(path.data, '\t', path.size) == NULL &&
           memchr(path.data, '"', path.size) == NULL;
}

static void on_line(void *owner, struct span text)
{
    static const struct {
        const char *start;
        int kind; // -1: only goes with another finding
    } severities[] = {
        {"error", FINDING_ERROR},         {"fatal error", FINDING_ERROR},
        {"warning", FINDING_WARNING},     {"note", -1},
        {"style", FINDING_WARNING},       {"performance", FINDING_WARNING},
        {"portability", FINDING_WARNING}, {"information", -1},
    };
    struct diagnostics *d = owner;
    struct finding_text found = {.kind = FINDING_ERROR};
    if (span_starts_with(text, SPAN_LITERAL("vet: ")))
        text = span_slice(text, 5, text.size);
    if (memmem(text.data, text.size, "undefined reference to", 22) != NULL) { // of the linker
        found.message = text;
        report_add(d->out, &found);
        return;
    }
    if (!take_place(&text, &found.file, &found.line) || !looks_like_a_file(found.file) ||
        text.size == 0)
        return;
    for (size_t i = 0; i < ARRAY_COUNT(severities); i++) {
        struct span start = span_from_string(severities[i].start);
        if (!span_starts_with(text, start) || text.size == start.size ||
            isalnum((unsigned char)text.data[start.size]))
            continue;
        if (severities[i].kind < 0)
            return;
        found.kind = (enum finding_kind)severities[i].kind;
    }
    found.message = text;
    report_add(d->out, &found);
}

static void feed(void *parser, struct span bytes)
{
    struct diagnostics *d = parser;
    lines_feed(&d->lines, bytes, on_line, d);
}

static void finish(void *parser)
{
    struct diagnostics *d = parser;
    lines_end(&d->lines, on_line, d);
    lines_fini(&d->lines);
    free(d);
}

const struct parser parser_diagnostics = {"diagnostics", make, feed, finish};
