// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/config/document.h"

#include <stdlib.h>
#include <yaml.h>

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"

struct document {
    char *name;          // owned
    struct arena *arena; // owned; holds the nodes and their texts
    const struct node *root;
};

// Lives while a file is parsed.
struct reader {
    yaml_parser_t yaml;
    struct document *doc;
    struct span source;
    struct failure *why;
    size_t nodes;
};

void document_free(struct document *d)
{
    if (d == NULL)
        return;
    arena_free(d->arena);
    free(d->name);
    free(d);
}

const char *document_name(const struct document *d)
{
    return d->name;
}

const struct node *document_root(const struct document *d)
{
    return d->root;
}

const struct node *node_member(const struct node *map, struct span key)
{
    if (map == NULL || map->kind != NODE_MAP)
        return NULL;
    for (const struct node *n = map->first; n != NULL; n = n->next)
        if (span_equals(n->key, key))
            return n;
    return NULL;
}

const struct node *node_element(const struct node *list, size_t index)
{
    if (list == NULL || list->kind != NODE_LIST)
        return NULL;
    const struct node *n = list->first;
    while (n != NULL && index-- > 0)
        n = n->next;
    return n;
}

bool node_is_null(const struct node *n)
{
    return n == NULL || (n->kind == NODE_SCALAR && !n->quoted &&
                         (n->text.size == 0 || span_is(n->text, "~") || span_is(n->text, "null")));
}

static int refuse(struct reader *r, yaml_mark_t at, const char *expected, const char *got)
{
    return failure_set(r->why, FAULT_PARSE, "%s:%zu:%zu: expected %s, got %s", r->doc->name,
                       at.line + 1, at.column + 1, expected, got);
}

static int refuse_syntax(struct reader *r)
{
    const yaml_parser_t *y = &r->yaml;
    if (y->error == YAML_READER_ERROR)
        return failure_set(r->why, FAULT_PARSE,
                           "%s: byte %zu: expected UTF-8 text without control characters, got %s",
                           r->doc->name, y->problem_offset, y->problem);
    size_t at = y->problem_mark.index;
    if (at < r->source.size && r->source.data[at] == '\t')
        return refuse(r, y->problem_mark, "spaces for indentation", "a tab");
    return failure_set(r->why, FAULT_PARSE, "%s:%zu:%zu: expected YAML, got a mistake: %s%s%s",
                       r->doc->name, y->problem_mark.line + 1, y->problem_mark.column + 1,
                       y->context != NULL ? y->context : "", y->context != NULL ? ", " : "",
                       y->problem != NULL ? y->problem : "it does not fit into memory");
}

static int next_event(struct reader *r, yaml_event_t *event)
{
    return yaml_parser_parse(&r->yaml, event) == 1 ? 0 : refuse_syntax(r);
}

// What makes a file mean something else than it shows.
static int check_event(struct reader *r, const yaml_event_t *e)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (e->type == YAML_SCALAR_EVENT)
        anchor = e->data.scalar.anchor, tag = e->data.scalar.tag;
    else if (e->type == YAML_SEQUENCE_START_EVENT)
        anchor = e->data.sequence_start.anchor, tag = e->data.sequence_start.tag;
    else if (e->type == YAML_MAPPING_START_EVENT)
        anchor = e->data.mapping_start.anchor, tag = e->data.mapping_start.tag;
    else if (e->type == YAML_ALIAS_EVENT)
        return refuse(r, e->start_mark, "a value", "an alias (*name)");
    if (anchor != NULL)
        return refuse(r, e->start_mark, "a value", "an anchor (&name)");
    if (tag != NULL)
        return refuse(r, e->start_mark, "a value", "a tag (!name)");
    if (++r->nodes > DOCUMENT_NODES)
        return refuse(r, e->start_mark, "at most 200000 values", "more");
    return 0;
}

static int copy_text(struct reader *r, const yaml_event_t *e, struct span *out)
{
    *out = arena_copy(r->doc->arena, span_of(e->data.scalar.value, e->data.scalar.length));
    return span_is_absent(*out) ? refuse(r, e->start_mark, "a smaller file", "too much text") : 0;
}

static int read_node(struct reader *r, yaml_event_t *event, size_t depth, struct node **out);

static int read_list(struct reader *r, struct node *list, size_t depth)
{
    const struct node **tail = &list->first;
    for (;;) {
        yaml_event_t event;
        struct node *n = NULL;
        int rc = next_event(r, &event);
        if (rc != 0)
            return rc;
        bool end = event.type == YAML_SEQUENCE_END_EVENT;
        if (!end)
            rc = read_node(r, &event, depth + 1, &n);
        yaml_event_delete(&event);
        if (end || rc != 0)
            return rc;
        *tail = n;
        tail = &n->next;
        list->count++;
    }
}

static int read_key(struct reader *r, const yaml_event_t *event, struct table *seen,
                    struct span *out)
{
    char got[160];
    int rc = check_event(r, event);
    if (rc != 0)
        return rc;
    if (event->type != YAML_SCALAR_EVENT || event->data.scalar.length == 0)
        return refuse(r, event->start_mark, "a key", "something else");
    rc = copy_text(r, event, out);
    if (rc != 0)
        return rc;
    const struct node *first = table_get(seen, *out);
    if (first == NULL)
        return 0;
    snprintf(got, sizeof got, "`%.64s` again (first in line %zu)", out->data, first->key_line);
    return refuse(r, event->start_mark, "each key once", got);
}

static int read_member(struct reader *r, const yaml_event_t *key_event, struct table *seen,
                       size_t depth, struct node **out)
{
    struct span key;
    yaml_event_t event;
    int rc = read_key(r, key_event, seen, &key);
    if (rc == 0)
        rc = next_event(r, &event);
    if (rc != 0)
        return rc;
    rc = read_node(r, &event, depth + 1, out);
    yaml_event_delete(&event);
    if (rc != 0)
        return rc;
    (*out)->key = key;
    (*out)->key_line = key_event->start_mark.line + 1;
    (*out)->key_column = key_event->start_mark.column + 1;
    table_put(seen, key, *out);
    return 0;
}

static int read_map(struct reader *r, struct node *map, size_t depth)
{
    const struct node **tail = &map->first;
    struct table *seen = table_new();
    bool end = false;
    int rc = 0;
    while (!end && rc == 0) {
        yaml_event_t event;
        struct node *n = NULL;
        rc = next_event(r, &event);
        if (rc != 0)
            break;
        end = event.type == YAML_MAPPING_END_EVENT;
        if (!end)
            rc = read_member(r, &event, seen, depth, &n);
        yaml_event_delete(&event);
        if (n != NULL && rc == 0) {
            *tail = n;
            tail = &n->next;
            map->count++;
        }
    }
    table_free(seen);
    return rc;
}

static int read_node(struct reader *r, yaml_event_t *event, size_t depth, struct node **out)
{
    int rc = check_event(r, event);
    if (rc != 0)
        return rc;
    if (depth > DOCUMENT_DEPTH)
        return refuse(r, event->start_mark, "at most 16 levels", "more");
    struct node *n = arena_try_alloc(r->doc->arena, sizeof *n);
    if (n == NULL)
        return refuse(r, event->start_mark, "a smaller file", "too many values");
    n->line = event->start_mark.line + 1;
    n->column = event->start_mark.column + 1;
    *out = n;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        n->kind = NODE_SCALAR;
        n->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        return copy_text(r, event, &n->text);
    case YAML_SEQUENCE_START_EVENT:
        n->kind = NODE_LIST;
        return read_list(r, n, depth);
    case YAML_MAPPING_START_EVENT:
        n->kind = NODE_MAP;
        return read_map(r, n, depth);
    default:
        return refuse(r, event->start_mark, "a value", "something else");
    }
}

static int check_document_start(struct reader *r, const yaml_event_t *e)
{
    if (r->doc->root != NULL)
        return refuse(r, e->start_mark, "one document", "another one");
    if (e->data.document_start.version_directive != NULL ||
        e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
        return refuse(r, e->start_mark, "no directives", "one");
    return 0;
}

static int read_stream(struct reader *r)
{
    bool end = false;
    int rc = 0;
    while (!end && rc == 0) {
        yaml_event_t event;
        struct node *n = NULL;
        rc = next_event(r, &event);
        if (rc != 0)
            return rc;
        end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT)
            rc = check_document_start(r, &event);
        else if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_END_EVENT &&
                 !end)
            rc = read_node(r, &event, 1, &n);
        yaml_event_delete(&event);
        if (n != NULL)
            r->doc->root = n;
    }
    return rc;
}

int document_parse(struct span yaml, const char *name, struct document **out, struct failure *why)
{
    struct failure spare;
    struct reader r = {.source = yaml, .why = why != NULL ? why : &spare};
    if (yaml.size > DOCUMENT_BYTES)
        return failure_set(why, FAULT_TOO_LARGE, "%s: expected at most 4MiB, got more", name);
    r.doc = memory_new(sizeof *r.doc);
    r.doc->name = memory_copy_string(name);
    r.doc->arena = arena_new((size_t)64 << 20);
    if (yaml_parser_initialize(&r.yaml) != 1)
        abort();
    yaml_parser_set_encoding(&r.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.yaml, (const unsigned char *)(yaml.size > 0 ? yaml.data : ""),
                                 yaml.size);
    int rc = read_stream(&r);
    yaml_parser_delete(&r.yaml);
    if (rc != 0) {
        document_free(r.doc);
        return rc;
    }
    *out = r.doc;
    return 0;
}
