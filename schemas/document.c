// SPDX-License-Identifier: Apache-2.0
#include "schemas/document.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "schemas/cycles.h"
#include "schemas/uri.h"

const struct json_limits schemas_limits = {.bytes = 16U << 20, .tokens = 2U << 20, .depth = 512};

struct resource {
    int node;
    enum dialect dialect;
    struct span uri; // absolute where the document makes it so, without fragment
};

struct dynamic_anchor {
    struct span name;
    int node;
};

struct document {
    struct json *json;         // owned
    struct arena *arena;       // borrowed
    unsigned char *keyword;    // in arena: by node, the keyword that its key is
    struct table *names;       // owned: URI, or URI#anchor, to node + 1; made when needed
    struct resource *resource; // owned; in source order, the root first
    size_t resource_count;
    struct dynamic_anchor *dynamic; // owned
    size_t dynamic_count;
    struct cycles *cycles;  // owned; NULL until asked for
    struct table *resolved; // owned: text of a reference to what it came to
    struct table *children; // owned: node and key to child + 1
};

const struct json *document_json(const struct document *d)
{
    return d->json;
}

const unsigned char *document_keywords(const struct document *d)
{
    return d->keyword;
}

// The last member of a schema that is this keyword.
static int member(const struct document *d, int node, enum keyword k)
{
    int found = JSON_NONE;
    if (json_type(d->json, node) != JSON_OBJECT)
        return JSON_NONE;
    JSON_EACH(value, d->json, node)
    if (d->keyword[value] == k)
        found = value;
    return found;
}

// The innermost resource around a node.
static size_t resource_of(const struct document *d, int node)
{
    if (d->resource_count == 1)
        return 0;
    for (int n = node; n != JSON_NONE; n = json_parent(d->json, n)) {
        size_t low = 0, high = d->resource_count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (d->resource[middle].node == n)
                return middle;
            if (d->resource[middle].node < n)
                low = middle + 1;
            else
                high = middle;
        }
    }
    return 0;
}

enum dialect document_dialect(const struct document *d, int node)
{
    return d->resource[resource_of(d, node)].dialect;
}

static enum dialect dialect_from(const struct document *d, int node, enum dialect otherwise)
{
    static const struct {
        const char *text;
        enum dialect dialect;
    } rows[] = {{"draft-03", DIALECT_4}, {"draft-04", DIALECT_4},   {"draft-06", DIALECT_6},
                {"draft-07", DIALECT_7}, {"2019-09", DIALECT_2019}, {"2020-12", DIALECT_2020}};
    struct span uri;
    if (!json_string_plain(d->json, member(d, node, KW_SCHEMA), &uri))
        return otherwise;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        if (memmem(uri.data, uri.size, rows[i].text, strlen(rows[i].text)) != NULL)
            return rows[i].dialect;
    return otherwise;
}

// What a schema is found by: its URI, and an anchor in it where there is one.
static void name_key(struct buffer *key, struct span uri, struct span anchor)
{
    buffer_init(key, uri.size + anchor.size + 1);
    buffer_append(key, uri);
    if (!span_is_absent(anchor)) {
        buffer_append_char(key, '#');
        buffer_append(key, anchor);
    }
}

static void put(struct table **t, struct span key, void *value)
{
    if (*t == NULL)
        *t = table_new();
    table_put(*t, key, value);
}

static void add_name(struct document *d, struct span uri, struct span anchor, int node)
{
    struct buffer key;
    name_key(&key, uri, anchor);
    if (table_get(d->names, buffer_span(&key)) == NULL)
        put(&d->names, buffer_span(&key), (void *)(intptr_t)(node + 1));
    buffer_fini(&key);
}

static int find_name(const struct document *d, struct span uri, struct span anchor)
{
    struct buffer key;
    if (span_is_absent(anchor) && span_equals(uri, d->resource[0].uri))
        return JSON_ROOT;
    if (d->names == NULL)
        return JSON_NONE;
    name_key(&key, uri, anchor);
    intptr_t found = (intptr_t)table_get(d->names, buffer_span(&key));
    buffer_fini(&key);
    return (int)found - 1;
}

static void add_resource(struct document *d, int node, struct span uri, enum dialect dialect)
{
    d->resource = memory_resize(d->resource, d->resource_count + 1, sizeof *d->resource);
    d->resource[d->resource_count++] = (struct resource){node, dialect, uri};
    if (node != JSON_ROOT)
        add_name(d, uri, SPAN_NONE, node);
}

struct walk {
    struct document *d;
    size_t resource;
};

static bool get_text(const struct walk *w, int node, enum keyword k, struct span *out)
{
    return json_string_arena(w->d->json, member(w->d, node, k), w->d->arena, out);
}

// An `$id` (or the `id` of draft 4) opens a resource; one that is only "#x" is an anchor.
static void index_id(struct walk *w, int node)
{
    struct document *d = w->d;
    struct span id, fragment;
    enum dialect outer = d->resource[w->resource].dialect;
    enum dialect dialect = dialect_from(d, node, outer);
    bool old = !get_text(w, node, KW_ID, &id);
    if (old && !get_text(w, node, KW_OLD_ID, &id))
        return;
    // Up to draft 7, what stands beside a $ref is not looked at.
    if (dialect <= DIALECT_7 && member(d, node, KW_REF) != JSON_NONE)
        return;
    struct span base = d->resource[w->resource].uri;
    struct span uri = uri_resolve(d->arena, base, id);
    if (uri_fragment(d->arena, id, &fragment) && fragment.size > 0)
        add_name(d, uri, fragment, node);
    else if (node != JSON_ROOT && (!old || dialect == DIALECT_4) && !span_equals(uri, base)) {
        add_resource(d, node, uri, dialect);
        w->resource = d->resource_count - 1;
    }
}

// How $recursiveAnchor of 2019-09 is kept: no anchor is spelt like this.
static const struct span recursive_name = {.data = "$recursiveAnchor", .size = 16};

static void add_dynamic(struct document *d, struct span name, int node)
{
    d->dynamic = memory_resize(d->dynamic, d->dynamic_count + 1, sizeof *d->dynamic);
    d->dynamic[d->dynamic_count++] = (struct dynamic_anchor){name, node};
}

static void index_schema(void *arg, int node, enum keyword k)
{
    (void)k;
    struct walk w = *(struct walk *)arg;
    struct document *d = w.d;
    struct span anchor;
    if (json_type(d->json, node) != JSON_OBJECT)
        return;
    index_id(&w, node);
    struct span uri = d->resource[w.resource].uri;
    if (get_text(&w, node, KW_ANCHOR, &anchor))
        add_name(d, uri, anchor, node);
    if (get_text(&w, node, KW_DYNAMIC_ANCHOR, &anchor)) {
        add_name(d, uri, anchor, node);
        add_dynamic(d, anchor, node);
    }
    bool recursive;
    if (json_bool(d->json, member(d, node, KW_RECURSIVE_ANCHOR), &recursive) && recursive)
        add_dynamic(d, recursive_name, node);
    document_each_child(d, node, index_schema, &w);
}

static void index_document(struct document *d, bool names_places)
{
    struct walk w = {d, 0};
    struct span id = SPAN_LITERAL("");
    if (json_type(d->json, JSON_ROOT) == JSON_OBJECT && !get_text(&w, JSON_ROOT, KW_ID, &id))
        get_text(&w, JSON_ROOT, KW_OLD_ID, &id);
    if (id.size > 0 && id.data[0] == '#')
        id = SPAN_LITERAL("");
    add_resource(d, JSON_ROOT, uri_without_fragment(id), dialect_from(d, JSON_ROOT, DIALECT_2020));
    if (names_places)
        index_schema(&w, JSON_ROOT, KW_UNKNOWN);
}

// Reads every key once. Tells whether any may name a place, by id or anchor: most schemas have
// none.
static bool read_keywords(struct document *d)
{
    static const bool names[KW_COUNT + 1] = {
        [KW_ID] = true,
        [KW_OLD_ID] = true,
        [KW_ANCHOR] = true,
        [KW_DYNAMIC_ANCHOR] = true,
        [KW_RECURSIVE_ANCHOR] = true,
    };
    size_t count = json_size(d->json);
    bool any = false;
    d->keyword = arena_alloc_raw(d->arena, count);
    for (size_t i = 0; i < count; i++) {
        struct span key = json_key_raw(d->json, (int)i);
        enum keyword k = span_is_absent(key) ? KW_UNKNOWN : keyword_find_raw(key);
        d->keyword[i] = (unsigned char)k;
        any = any || names[k];
    }
    return any;
}

int document_open(struct span source, struct arena *arena, struct document **out,
                  struct failure *why)
{
    *out = NULL;
    struct json *json;
    if (span_starts_with(source, SPAN_LITERAL("\xef\xbb\xbf")))
        source = span_slice(source, 3, source.size);
    int rc = json_parse(source, &schemas_limits, &json, why);
    if (rc != 0)
        return rc;
    struct document *d = memory_new(sizeof *d);
    d->json = json;
    d->arena = arena;
    index_document(d, read_keywords(d));
    *out = d;
    return 0;
}

void document_close(struct document *d)
{
    if (d == NULL)
        return;
    cycles_free(d->cycles);
    table_free(d->names);
    table_free(d->children);
    table_free(d->resolved);
    free(d->resource);
    free(d->dynamic);
    json_free(d->json);
    free(d);
}

static void each_in(const struct json *j, int list, document_visit *visit, void *arg,
                    enum keyword k)
{
    JSON_EACH(child, j, list)
    visit(arg, child, k);
}

static void visit_member(const struct json *j, int value, enum keyword k, document_visit *visit,
                         void *arg)
{
    enum json_type type = json_type(j, value);
    switch (keyword_shape(k)) {
    case SHAPE_SCHEMA:
        visit(arg, value, k);
        return;
    case SHAPE_SCHEMA_LIST:
        if (type == JSON_ARRAY)
            each_in(j, value, visit, arg, k);
        return;
    case SHAPE_SCHEMA_MAP:
        if (type == JSON_OBJECT)
            each_in(j, value, visit, arg, k);
        return;
    default:
        break;
    }
    if (k == KW_ITEMS && type == JSON_ARRAY)
        each_in(j, value, visit, arg, k);
    else if (k == KW_ITEMS)
        visit(arg, value, k);
    else if (k == KW_DEPENDENCIES && type == JSON_OBJECT)
        each_in(j, value, visit, arg, k);
}

void document_each_child(const struct document *d, int node, document_visit *visit, void *arg)
{
    if (json_type(d->json, node) != JSON_OBJECT)
        return;
    JSON_EACH(value, d->json, node)
    visit_member(d->json, value, (enum keyword)d->keyword[value], visit, arg);
}

// One token of a pointer, `~1` and `~0` undone. False where an escape is broken.
static bool pointer_token(struct arena *arena, struct span raw, struct span *out)
{
    *out = raw;
    if (raw.size == 0 || memchr(raw.data, '~', raw.size) == NULL)
        return true;
    char *text = arena_try_alloc(arena, raw.size);
    size_t size = 0;
    if (text == NULL)
        return false;
    for (size_t i = 0; i < raw.size; i++) {
        char c = raw.data[i];
        if (c == '~') {
            char next = i + 1 < raw.size ? raw.data[++i] : '\0';
            if (next != '0' && next != '1')
                return false;
            c = next == '0' ? '~' : '/';
        }
        text[size++] = c;
    }
    *out = span_of(text, size);
    return true;
}

// Looking up a member walks its siblings, so the children of what is asked are indexed once.
static void index_children(struct document *d, int node)
{
    struct buffer key;
    size_t index = 0;
    buffer_init(&key, json_source(d->json).size + 32);
    JSON_EACH(child, d->json, node)
    {
        buffer_clear(&key);
        buffer_append(&key, span_of(&node, sizeof node));
        if (json_type(d->json, node) == JSON_OBJECT)
            json_unescape(json_key_raw(d->json, child), &key);
        else
            buffer_printf(&key, "%zu", index++);
        put(&d->children, buffer_span(&key), (void *)(intptr_t)(child + 1));
    }
    buffer_fini(&key);
    put(&d->children, span_of(&node, sizeof node), d);
}

static int find_child(struct document *d, int node, struct span token)
{
    enum json_type type = json_type(d->json, node);
    if (type != JSON_OBJECT && type != JSON_ARRAY)
        return JSON_NONE;
    if (table_get(d->children, span_of(&node, sizeof node)) == NULL)
        index_children(d, node);
    struct buffer key;
    buffer_init(&key, token.size + sizeof node);
    buffer_append(&key, span_of(&node, sizeof node));
    buffer_append(&key, token);
    intptr_t found = token.size > 0 ? (intptr_t)table_get(d->children, buffer_span(&key)) : 0;
    buffer_fini(&key);
    return found != 0 ? (int)found - 1 : token.size == 0 ? json_get(d->json, node, "") : JSON_NONE;
}

static int follow_pointer(struct document *d, int node, struct span pointer)
{
    struct span rest = span_slice(pointer, 1, pointer.size), token;
    while (node != JSON_NONE && !span_is_absent(rest)) {
        if (!pointer_token(d->arena, span_split(&rest, '/'), &token))
            return JSON_NONE;
        node = find_child(d, node, token);
    }
    return node;
}

static bool is_schema(const struct json *j, int node)
{
    enum json_type type = json_type(j, node);
    return type == JSON_OBJECT || type == JSON_TRUE || type == JSON_FALSE;
}

// A dynamic anchor whose name stands only once is where every way ends.
static enum resolution resolve_dynamic(const struct document *d, int target, struct span name)
{
    bool is_dynamic = false;
    size_t same = 0;
    for (size_t i = 0; i < d->dynamic_count; i++) {
        same += span_equals(d->dynamic[i].name, name);
        is_dynamic = is_dynamic || d->dynamic[i].node == target;
    }
    return is_dynamic && same > 1 ? RESOLVED_DYNAMIC : RESOLVED;
}

static enum resolution resolve(struct document *d, int node, enum keyword k, int value, int *out)
{
    struct span reference, fragment;
    *out = JSON_NONE;
    if (!json_string_arena(d->json, value, d->arena, &reference) ||
        !uri_fragment(d->arena, reference, &fragment))
        return RESOLVED_DANGLING;
    struct span base = d->resource[resource_of(d, node)].uri;
    struct span uri = uri_resolve(d->arena, base, reference);
    int target = find_name(d, uri, SPAN_NONE);
    if (target == JSON_NONE)
        return RESOLVED_REMOTE;
    if (fragment.size > 0)
        target = fragment.data[0] == '/' ? follow_pointer(d, target, fragment)
                                         : find_name(d, uri, fragment);
    if (!is_schema(d->json, target))
        return RESOLVED_DANGLING;
    *out = target;
    if (k == KW_REF)
        return RESOLVED;
    return resolve_dynamic(d, target, k == KW_DYNAMIC_REF ? fragment : recursive_name);
}

// In a document of one resource a text always means the same, so it is remembered.
enum resolution document_resolve(struct document *d, int node, enum keyword k, int value, int *out)
{
    if (d->resource_count > 1 || k != KW_REF || json_type(d->json, value) != JSON_STRING)
        return resolve(d, node, k, value, out);
    struct span raw = json_raw(d->json, value);
    uintptr_t known = (uintptr_t)table_get(d->resolved, raw);
    if (known == 0) {
        enum resolution how = resolve(d, node, k, value, out);
        put(&d->resolved, raw, (void *)((uintptr_t)(*out + 1) << 3 | (uintptr_t)how << 1 | 1));
        return how;
    }
    *out = (int)(known >> 3) - 1;
    return (enum resolution)(known >> 1 & 3);
}

bool document_is_cyclic(struct document *d, int node)
{
    if (d->cycles == NULL)
        d->cycles = cycles_find(d);
    return cycles_has(d->cycles, node);
}
