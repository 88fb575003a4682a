// SPDX-License-Identifier: Apache-2.0
#include "workers/checks/rerun.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"

enum { WORDS_BYTES = 64 << 10, TEXT_BYTES = 1024 };

struct failed {
    struct buffer name, suite, file; // of one failure
};

struct words {
    struct buffer names, suites, nodes, pattern;
    bool all_alone; // each failure has a name that can be run
    size_t count;
};

void rerun_quote(struct span word, struct buffer *out)
{
    (void)buffer_append_char(out, '\'');
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] == '\'')
            (void)buffer_append_string(out, "'\\''");
        else
            (void)buffer_append_char(out, word.data[i]);
    }
    (void)buffer_append_char(out, '\'');
}

static void add_word(struct buffer *words, struct span word)
{
    struct buffer quoted;
    buffer_init(&quoted, 8 * TEXT_BYTES);
    (void)buffer_append_char(&quoted, ' ');
    rerun_quote(word, &quoted);
    struct span all = buffer_span(words), one = buffer_span(&quoted);
    const char *at = memmem(all.data, all.size, one.data, one.size);
    bool is_there = at != NULL && (at + one.size == all.data + all.size || at[one.size] == ' ');
    if (!is_there)
        (void)buffer_append(words, one);
    buffer_fini(&quoted);
}

// pytest's node id: file::Class::name; the class is what the dotted suite has beyond the module.
static bool add_node(struct words *w, const struct failed *f)
{
    struct span file = buffer_span(&f->file), suite = buffer_span(&f->suite), rest = SPAN_NONE;
    struct buffer node;
    if (file.size < 4 || memcmp(file.data + file.size - 3, ".py", 3) != 0)
        return false;
    size_t module = file.size - 3;
    if (suite.size > module + 1 && suite.data[module] == '.')
        rest = span_slice(suite, module + 1, suite.size);
    buffer_init(&node, 4 * TEXT_BYTES);
    (void)buffer_append(&node, file);
    while (!span_is_absent(rest)) {
        (void)buffer_append_string(&node, "::");
        (void)buffer_append(&node, span_split(&rest, '.'));
    }
    (void)buffer_append_string(&node, "::");
    (void)buffer_append(&node, buffer_span(&f->name));
    add_word(&w->nodes, buffer_span(&node));
    buffer_fini(&node);
    return true;
}

static void add_pattern(struct words *w, const struct project *project, struct span name)
{
    bool is_go = strcmp(project->name, "go") == 0;
    if (is_go)
        name = span_split(&name, '/'); // a subtest is run by its parent
    (void)buffer_append_char(&w->pattern, buffer_size(&w->pattern) > 0 ? '|' : '(');
    for (size_t i = 0; i < name.size; i++) {
        if (strchr("\\.^$|()[]{}*+?", name.data[i]) != NULL)
            (void)buffer_append_char(&w->pattern, '\\');
        (void)buffer_append_char(&w->pattern, name.data[i]);
    }
}

static void add(struct words *w, const struct project *project, const struct failed *f)
{
    struct span name = buffer_span(&f->name);
    bool is_python = strcmp(project->name, "python") == 0;
    if (name.size == 0 || name.data[0] == '-' || span_is(name, "(package)") ||
        (is_python && !add_node(w, f))) {
        w->all_alone = false;
        return;
    }
    w->count++;
    add_word(&w->names, name);
    add_word(&w->suites, buffer_span(&f->suite));
    add_pattern(w, project, name);
}

static void read_failures(struct words *w, const struct project *project, const struct json *doc)
{
    JSON_EACH(row, doc, json_get(doc, JSON_ROOT, "failures"))
    {
        struct failed f;
        buffer_init(&f.name, TEXT_BYTES);
        buffer_init(&f.suite, TEXT_BYTES);
        buffer_init(&f.file, TEXT_BYTES);
        (void)json_string(doc, json_get(doc, row, "name"), &f.name);
        (void)json_string(doc, json_get(doc, row, "suite"), &f.suite);
        (void)json_string(doc, json_get(doc, row, "file"), &f.file);
        if (json_string_is(doc, json_get(doc, row, "kind"), "test"))
            add(w, project, &f);
        else if (!json_string_is(doc, json_get(doc, row, "kind"), "warning"))
            w->all_alone = false;
        buffer_fini(&f.name);
        buffer_fini(&f.suite);
        buffer_fini(&f.file);
    }
}

// The template with its words put in.
static int fill(const struct words *w, const char *template, struct buffer *out)
{
    const struct {
        const char *name;
        const struct buffer *words;
        bool is_pattern;
    } rows[] = {{"$NAMES", &w->names, false},
                {"$SUITES", &w->suites, false},
                {"$NODES", &w->nodes, false},
                {"$PATTERN", &w->pattern, true}};
    struct span rest = span_from_string(template);
    int fault = 0;
    while (rest.size > 0 && fault == 0) {
        size_t skip = 1;
        struct buffer word;
        buffer_init(&word, WORDS_BYTES + 64);
        (void)buffer_append_char(&word, rest.data[0]);
        for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
            if (!span_starts_with(rest, span_from_string(rows[i].name)))
                continue;
            skip = strlen(rows[i].name);
            buffer_clear(&word);
            if (rows[i].is_pattern)
                (void)buffer_printf(&word, "'^%.*s)$'", (int)buffer_size(rows[i].words),
                                    buffer_span(rows[i].words).data);
            else
                (void)buffer_append(&word, buffer_span(rows[i].words));
        }
        fault = buffer_append(out, buffer_span(&word));
        rest = span_slice(rest, skip, rest.size);
        buffer_fini(&word);
    }
    return fault;
}

int rerun_line(const struct project *project, const char *last, const char *whole,
               struct buffer *out, struct failure *why)
{
    struct words w = {.all_alone = true};
    struct json *doc;
    int fault = json_parse(span_from_string(last), NULL, &doc, why);
    if (fault != 0)
        return fault;
    buffer_init(&w.names, WORDS_BYTES);
    buffer_init(&w.suites, WORDS_BYTES);
    buffer_init(&w.nodes, WORDS_BYTES);
    buffer_init(&w.pattern, WORDS_BYTES);
    if (json_string_is(doc, json_get(doc, JSON_ROOT, "project"), project->name))
        read_failures(&w, project, doc);
    int64_t failed = 0;
    (void)json_i64(doc, json_get(doc, JSON_ROOT, "failed"), &failed);
    bool alone = w.all_alone && w.count > 0 && failed == (int64_t)w.count &&
                 project->rerun != NULL &&
                 memchr(buffer_span(&w.pattern).data, '\'', buffer_size(&w.pattern)) == NULL;
    fault = alone ? fill(&w, project->rerun, out) : buffer_append_string(out, whole);
    if (fault != 0)
        failure_set(why, fault, "too many failed to name them all");
    buffer_fini(&w.names);
    buffer_fini(&w.suites);
    buffer_fini(&w.nodes);
    buffer_fini(&w.pattern);
    json_free(doc);
    return fault;
}
