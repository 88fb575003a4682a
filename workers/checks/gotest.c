// SPDX-License-Identifier: Apache-2.0
// The events of `go test -json`, one a line; other lines are the compiler's.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/json/json.h"
#include "workers/checks/parse.h"

enum { OUTPUT_BYTES = 8 << 10, TESTS_MAX = 4096, KEY_BYTES = 2048 };

struct gotest {
    struct report *out; // borrowed
    struct lines lines;
    struct table *output; // "package test" → struct buffer, owned here
    void *diagnostics;
};

struct event {
    struct buffer action, package, test, output;
};

static void *make(struct report *out)
{
    struct gotest *g = memory_new(sizeof *g);
    *g = (struct gotest){out, .output = table_new(), .diagnostics = parser_diagnostics.make(out)};
    lines_init(&g->lines);
    return g;
}

static struct span key_of(const struct event *e, char key[KEY_BYTES])
{
    struct span package = span_slice(buffer_span(&e->package), 0, KEY_BYTES / 2 - 1);
    struct span test = span_slice(buffer_span(&e->test), 0, KEY_BYTES / 2);
    memcpy(key, package.data, package.size);
    key[package.size] = ' ';
    memcpy(key + package.size + 1, test.data, test.size);
    return span_of(key, package.size + 1 + test.size);
}

static void drop(struct buffer *b)
{
    buffer_fini(b);
    free(b);
}

static bool is_noise(struct span text)
{
    static const char *const starts[] = {"=== ", "--- PASS", "--- SKIP",
                                         "PASS", "ok  \t",   "coverage:"};
    for (size_t i = 0; i < ARRAY_COUNT(starts); i++)
        if (span_starts_with(text, span_from_string(starts[i])))
            return true;
    return false;
}

static void on_output(struct gotest *g, const struct event *e)
{
    char key[KEY_BYTES];
    struct span where = key_of(e, key), text = buffer_span(&e->output);
    struct buffer *kept = table_get(g->output, where);
    if (is_noise(text))
        return;
    if (kept == NULL) {
        if (table_count(g->output) >= TESTS_MAX)
            return;
        kept = memory_new(sizeof *kept);
        buffer_init(kept, OUTPUT_BYTES);
        table_put(g->output, where, kept);
    }
    (void)buffer_append(kept, span_slice(text, 0, OUTPUT_BYTES - buffer_size(kept)));
}

// A parent fails because a subtest did; the subtest says it all.
static bool is_explained(const struct gotest *g, const struct event *e)
{
    struct span test = buffer_span(&e->test), package = buffer_span(&e->package);
    for (size_t i = 0; i < g->out->count; i++) {
        const struct finding *f = &g->out->findings[i];
        struct span name = span_from_string(f->name);
        if (f->kind != FINDING_TEST || !span_equals(span_from_string(f->suite), package))
            continue;
        if (test.size == 0 ||
            (span_starts_with(name, test) && name.size > test.size && name.data[test.size] == '/'))
            return true;
    }
    return false;
}

static void on_fail(struct gotest *g, const struct event *e, struct span output)
{
    bool whole_package = buffer_size(&e->test) == 0;
    if (is_explained(g, e) || (whole_package && g->out->errors > 0))
        return;
    struct finding_text text = {
        .kind = FINDING_TEST,
        .name = whole_package ? SPAN_LITERAL("(package)") : buffer_span(&e->test),
        .suite = buffer_span(&e->package),
        .message = output,
    };
    report_add(g->out, &text);
}

static void on_end(struct gotest *g, const struct event *e)
{
    char key[KEY_BYTES];
    struct buffer *kept = table_remove(g->output, key_of(e, key));
    struct span action = buffer_span(&e->action);
    bool is_test = buffer_size(&e->test) > 0;
    if (span_is(action, "fail"))
        on_fail(g, e, kept != NULL ? buffer_span(kept) : SPAN_LITERAL(""));
    g->out->passed += is_test && span_is(action, "pass");
    g->out->skipped += is_test && span_is(action, "skip");
    g->out->counted = true;
    if (kept != NULL)
        drop(kept);
}

static void on_event(struct gotest *g, const struct event *e)
{
    struct span action = buffer_span(&e->action);
    if (span_is(action, "build-output"))
        parser_diagnostics.feed(g->diagnostics, buffer_span(&e->output));
    else if (span_is(action, "output"))
        on_output(g, e);
    else if (span_is(action, "pass") || span_is(action, "fail") || span_is(action, "skip"))
        on_end(g, e);
}

static void on_line(void *owner, struct span text)
{
    static const struct json_limits limits = {PARSE_LINE_BYTES, 256, 8};
    struct gotest *g = owner;
    struct json *doc;
    struct event e;
    if (text.size == 0 || text.data[0] != '{' || json_parse(text, &limits, &doc, NULL) != 0) {
        parser_diagnostics.feed(g->diagnostics, text);
        parser_diagnostics.feed(g->diagnostics, SPAN_LITERAL("\n"));
        return;
    }
    buffer_init(&e.action, 64);
    buffer_init(&e.package, KEY_BYTES);
    buffer_init(&e.test, KEY_BYTES);
    buffer_init(&e.output, PARSE_LINE_BYTES);
    (void)json_string(doc, json_get(doc, JSON_ROOT, "Action"), &e.action);
    (void)json_string(doc, json_get(doc, JSON_ROOT, "Package"), &e.package);
    (void)json_string(doc, json_get(doc, JSON_ROOT, "Test"), &e.test);
    (void)json_string(doc, json_get(doc, JSON_ROOT, "Output"), &e.output);
    on_event(g, &e);
    buffer_fini(&e.action);
    buffer_fini(&e.package);
    buffer_fini(&e.test);
    buffer_fini(&e.output);
    json_free(doc);
}

static void feed(void *parser, struct span bytes)
{
    struct gotest *g = parser;
    lines_feed(&g->lines, bytes, on_line, g);
}

static void finish(void *parser)
{
    struct gotest *g = parser;
    struct span key;
    void *kept;
    lines_end(&g->lines, on_line, g);
    parser_diagnostics.finish(g->diagnostics);
    for (size_t at = 0; table_next(g->output, &at, &key, &kept);)
        drop(kept);
    table_free(g->output);
    lines_fini(&g->lines);
    free(g);
}

const struct parser parser_gotest = {"go test", make, feed, finish};
