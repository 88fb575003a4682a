// SPDX-License-Identifier: Apache-2.0
// What linters print as JSON: ruff's objects, one a line, and eslint's array of files. Both
// stand on one line each; of a line that is too long nothing is found, and the exit code decides.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"
#include "workers/checks/parse.h"

enum { ARRAY_BYTES = 8 << 20, TEXT_BYTES = 4096 };

struct lint {
    struct report *out; // borrowed
    struct lines lines;
};

static void *make(struct report *out)
{
    struct lint *l = memory_new(sizeof *l);
    l->out = out;
    lines_init(&l->lines);
    l->lines.part.limit = ARRAY_BYTES;
    return l;
}

static void add(struct lint *l, const struct json *doc, int file, int rule, int line, int message,
                enum finding_kind kind)
{
    struct buffer file_text, rule_text, message_text;
    struct finding_text found = {.kind = kind};
    buffer_init(&file_text, TEXT_BYTES);
    buffer_init(&rule_text, TEXT_BYTES);
    buffer_init(&message_text, TEXT_BYTES);
    (void)json_string(doc, file, &file_text);
    (void)json_string(doc, rule, &rule_text);
    (void)json_string(doc, message, &message_text);
    (void)json_i64(doc, line, &found.line);
    found.file = buffer_span(&file_text);
    found.name = buffer_span(&rule_text);
    found.message = buffer_span(&message_text);
    report_add(l->out, &found);
    buffer_fini(&file_text);
    buffer_fini(&rule_text);
    buffer_fini(&message_text);
}

// ruff: a syntax error has no code, which makes it no less of an error.
static void on_ruff(struct lint *l, const struct json *doc, int finding)
{
    add(l, doc, json_get(doc, finding, "filename"), json_get(doc, finding, "code"),
        json_get(doc, json_get(doc, finding, "location"), "row"), json_get(doc, finding, "message"),
        FINDING_ERROR);
}

static void on_eslint(struct lint *l, const struct json *doc, int file)
{
    int path = json_get(doc, file, "filePath");
    JSON_EACH(message, doc, json_get(doc, file, "messages"))
    {
        int64_t severity = 2;
        (void)json_i64(doc, json_get(doc, message, "severity"), &severity);
        add(l, doc, path, json_get(doc, message, "ruleId"), json_get(doc, message, "line"),
            json_get(doc, message, "message"), severity == 1 ? FINDING_WARNING : FINDING_ERROR);
    }
}

static void on_line(void *owner, struct span text)
{
    static const struct json_limits limits = {ARRAY_BYTES, 1 << 20, 64};
    struct lint *l = owner;
    struct json *doc;
    if (text.size == 0 || (text.data[0] != '{' && text.data[0] != '[') ||
        json_parse(text, &limits, &doc, NULL) != 0)
        return;
    if (json_get(doc, JSON_ROOT, "filename") != JSON_NONE)
        on_ruff(l, doc, JSON_ROOT);
    if (json_type(doc, JSON_ROOT) == JSON_ARRAY)
        JSON_EACH(item, doc, JSON_ROOT)
        {
            if (json_get(doc, item, "filePath") != JSON_NONE)
                on_eslint(l, doc, item);
            else if (json_get(doc, item, "filename") != JSON_NONE)
                on_ruff(l, doc, item);
        }
    json_free(doc);
}

static void feed(void *parser, struct span bytes)
{
    struct lint *l = parser;
    lines_feed(&l->lines, bytes, on_line, l);
}

static void finish(void *parser)
{
    struct lint *l = parser;
    lines_end(&l->lines, on_line, l);
    lines_fini(&l->lines);
    free(l);
}

const struct parser parser_lint_json = {"lint json", make, feed, finish};
