// SPDX-License-Identifier: Apache-2.0
// cargo with --message-format=json: one object a line from the compiler and clippy; between them
// the lines of the test harness, which has no machine format in stable Rust.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"
#include "workers/checks/parse.h"

enum { TEXT_BYTES = 8 << 10, NAME_BYTES = 1024 };

struct cargo {
    struct report *out; // borrowed
    struct lines lines;
    bool in_failure; // between "---- name stdout ----" and the next
    struct buffer name, text;
};

static void *make(struct report *out)
{
    struct cargo *c = memory_new(sizeof *c);
    c->out = out;
    lines_init(&c->lines);
    buffer_init(&c->name, NAME_BYTES);
    buffer_init(&c->text, TEXT_BYTES);
    return c;
}

static void failure_end(struct cargo *c)
{
    if (!c->in_failure)
        return;
    const struct finding_text found = {
        .kind = FINDING_TEST,
        .name = buffer_span(&c->name),
        .message = buffer_span(&c->text),
    };
    report_add(c->out, &found);
    c->in_failure = false;
}

static void primary_span(const struct json *doc, int message, struct buffer *file, int64_t *line)
{
    JSON_EACH(span, doc, json_get(doc, message, "spans"))
    {
        bool primary = false;
        (void)json_bool(doc, json_get(doc, span, "is_primary"), &primary);
        if (!primary)
            continue;
        (void)json_string(doc, json_get(doc, span, "file_name"), file);
        (void)json_i64(doc, json_get(doc, span, "line_start"), line);
        return;
    }
}

static void on_message(struct cargo *c, const struct json *doc, int message)
{
    struct buffer text, file, code;
    struct finding_text found = {.kind = FINDING_WARNING};
    int level = json_get(doc, message, "level"), spans = json_get(doc, message, "spans");
    bool is_error = json_string_is(doc, level, "error") ||
                    json_string_is(doc, level, "error: internal compiler error");
    // "aborting due to 2 previous errors", "3 warnings emitted" have no place.
    if ((!is_error && !json_string_is(doc, level, "warning")) || json_count(doc, spans) == 0)
        return;
    buffer_init(&text, TEXT_BYTES);
    buffer_init(&file, NAME_BYTES);
    buffer_init(&code, NAME_BYTES);
    (void)json_string(doc, json_get(doc, message, "message"), &text);
    (void)json_string(doc, json_get(doc, json_get(doc, message, "code"), "code"), &code);
    primary_span(doc, message, &file, &found.line);
    found.kind = is_error ? FINDING_ERROR : FINDING_WARNING;
    found.name = buffer_span(&code);
    found.file = buffer_span(&file);
    found.message = buffer_span(&text);
    report_add(c->out, &found);
    buffer_fini(&text);
    buffer_fini(&file);
    buffer_fini(&code);
}

static bool on_json(struct cargo *c, struct span line)
{
    static const struct json_limits limits = {PARSE_LINE_BYTES, 16384, 64};
    struct json *doc;
    if (json_parse(line, &limits, &doc, NULL) != 0)
        return false;
    if (json_string_is(doc, json_get(doc, JSON_ROOT, "reason"), "compiler-message"))
        on_message(c, doc, json_get(doc, JSON_ROOT, "message"));
    json_free(doc);
    return true;
}

// "test module::name ... ok", or "- should panic ... FAILED".
static void on_test(struct cargo *c, struct span line)
{
    struct span rest = span_slice(line, 5, line.size);
    const char *dots = memmem(rest.data, rest.size, " ... ", 5);
    if (dots == NULL)
        return;
    size_t at = (size_t)(dots - rest.data);
    struct span outcome = span_slice(rest, at + 5, rest.size);
    // The output of a test may stand before its outcome; FAILED is counted where it is explained.
    c->out->passed += span_is(outcome, "ok");
    c->out->skipped += span_starts_with(outcome, SPAN_LITERAL("ignored"));
}

static bool failure_starts(struct cargo *c, struct span line)
{
    struct span start = SPAN_LITERAL("---- "), end = SPAN_LITERAL(" stdout ----");
    if (!span_starts_with(line, start) || line.size <= start.size + end.size ||
        !span_equals(span_slice(line, line.size - end.size, line.size), end))
        return false;
    failure_end(c);
    c->in_failure = true;
    buffer_clear(&c->text);
    buffer_clear(&c->name);
    (void)buffer_append(
        &c->name, span_slice(span_slice(line, start.size, line.size - end.size), 0, NAME_BYTES));
    return true;
}

static void on_line(void *owner, struct span line)
{
    struct cargo *c = owner;
    if (line.size > 0 && line.data[0] == '{' && on_json(c, line))
        return;
    if (failure_starts(c, line))
        return;
    if (c->in_failure &&
        (span_is(line, "failures:") || span_starts_with(line, SPAN_LITERAL("test result: ")))) {
        failure_end(c);
    } else if (c->in_failure) {
        (void)buffer_append(&c->text, span_slice(line, 0, TEXT_BYTES / 4));
        (void)buffer_append_char(&c->text, '\n');
        return;
    }
    if (span_starts_with(line, SPAN_LITERAL("test result: ")))
        c->out->counted = true;
    else if (span_starts_with(line, SPAN_LITERAL("test ")))
        on_test(c, line);
}

static void feed(void *parser, struct span bytes)
{
    struct cargo *c = parser;
    lines_feed(&c->lines, bytes, on_line, c);
}

static void finish(void *parser)
{
    struct cargo *c = parser;
    lines_end(&c->lines, on_line, c);
    failure_end(c);
    lines_fini(&c->lines);
    buffer_fini(&c->name);
    buffer_fini(&c->text);
    free(c);
}

const struct parser parser_cargo = {"cargo", make, feed, finish};
