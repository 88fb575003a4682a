// SPDX-License-Identifier: Apache-2.0
// A document and a table → the program's struct.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/config/document.h"
#include "gateway/lib/config/nearest.h"
#include "gateway/lib/config/value.h"
#include "gateway/lib/file/file.h"

enum { LIST_MOST = 256 };

struct key_source {
    struct document *doc; // owned
};

struct load {
    const struct key_table *table;
    const struct document *doc;
    struct failure *why;
};

// A group that is being filled: its keys stand under `pattern`, its values under `node`.
struct place {
    const char *pattern;      // "profiles.<name>"
    char path[KEY_PATH_SIZE]; // "profiles.c"; cut where it is longer
    const struct node *node;  // NULL: not in the file
    const struct node *near;  // where to point when something is missing
    void *base;
};

static int refuse_at(const struct load *l, size_t line, size_t column, const char *path)
{
    return failure_prefix(l->why, "%s:%zu:%zu: %s", document_name(l->doc), line, column, path);
}

static int refuse_node(const struct load *l, const struct node *n, const char *path)
{
    return n != NULL ? refuse_at(l, n->line, n->column, path) : refuse_at(l, 1, 1, path);
}

static const char *node_text(const struct node *n)
{
    if (node_is_null(n))
        return "nothing";
    return n->kind == NODE_LIST ? "a list" : n->kind == NODE_MAP ? "a group of keys" : "a value";
}

static void join_path(const struct place *p, struct span segment, char out[KEY_PATH_SIZE])
{
    char clean[KEY_SEGMENT_SIZE];
    size_t size = 0;
    for (; size < segment.size && size < sizeof clean - 1; size++) {
        char c = segment.data[size];
        clean[size] = c > ' ' && c != 0x7f ? c : '?';
    }
    clean[size] = '\0';
    // Cut in the front part if it must be: what is wrong stands at the end.
    snprintf(out, KEY_PATH_SIZE, "%.180s%s%s", p->path, p->path[0] != '\0' ? "." : "", clean);
}

static int refuse_unknown(const struct load *l, const struct place *p, const struct node *n)
{
    struct key_child near;
    char path[KEY_PATH_SIZE];
    join_path(p, n->key, path);
    if (nearest_key(l->table, p->pattern, n->key, &near))
        failure_set(l->why, FAULT_INVALID, "expected a known key, did you mean `%s`?",
                    near.segment);
    else {
        char known[256] = "";
        size_t size = 0;
        for (size_t at = 0; key_child_next(l->table, p->pattern, &at, &near) && size < 180;)
            size += (size_t)snprintf(known + size, sizeof known - size, "%s%s",
                                     size > 0 ? ", " : "", near.segment);
        failure_set(l->why, FAULT_INVALID, "expected a known key (%s%s), got an unknown one", known,
                    size >= 180 ? ", …" : "");
    }
    return refuse_at(l, n->key_line, n->key_column, path);
}

static int check_names(const struct load *l, const struct place *p)
{
    if (p->node == NULL)
        return 0;
    for (const struct node *n = p->node->first; n != NULL; n = n->next) {
        struct key_child child;
        if (!key_child_find(l->table, p->pattern, n->key, &child))
            return refuse_unknown(l, p, n);
    }
    return 0;
}

static int expect_kind(const struct load *l, const struct node *n, enum node_kind kind,
                       const char *expected, const char *path)
{
    if (n->kind == kind)
        return 0;
    failure_set(l->why, FAULT_INVALID, "expected %s, got %s", expected, node_text(n));
    return refuse_node(l, n, path);
}

static int check_count(const struct load *l, const struct key *k, const struct node *n,
                       const char *path)
{
    size_t most = k->most != 0 ? (size_t)k->most : LIST_MOST;
    if (n->count <= most && n->count >= (size_t)k->least)
        return 0;
    if (n->count > most)
        failure_set(l->why, FAULT_INVALID, "expected at most %zu, got %zu", most, n->count);
    else
        failure_set(l->why, FAULT_INVALID, "expected at least %lld, got %zu", (long long)k->least,
                    n->count);
    return refuse_node(l, n, path);
}

static int fill_strings(const struct load *l, const struct key *k, const struct node *n,
                        const char *path, void *base)
{
    int rc = expect_kind(l, n, NODE_LIST, "a list", path);
    if (rc == 0)
        rc = check_count(l, k, n, path);
    if (rc != 0)
        return rc;
    char **items = memory_new_array(n->count + 1, sizeof *items);
    size_t *count = key_count_field(k, base);
    *(char ***)key_field(k, base) = items;
    for (const struct node *item = n->first; item != NULL; item = item->next) {
        char item_path[KEY_PATH_SIZE + 24];
        snprintf(item_path, sizeof item_path, "%s[%zu]", path, *count);
        rc = expect_kind(l, item, NODE_SCALAR, "a string", item_path);
        if (rc != 0)
            return rc;
        if (node_is_null(item))
            rc = failure_set(l->why, FAULT_INVALID, "expected a string, got nothing");
        else
            rc = value_parse(k, item->text, item->quoted, &items[*count], l->why);
        if (rc != 0)
            return refuse_node(l, item, item_path);
        (*count)++;
    }
    return 0;
}

static int fill_default_strings(const struct key *k, void *base, struct failure *why)
{
    struct span rest = span_from_string(k->fallback);
    char **items = memory_new_array(LIST_MOST + 1, sizeof *items);
    size_t *count = key_count_field(k, base);
    int rc = 0;
    *(char ***)key_field(k, base) = items;
    while (rc == 0 && !span_is_absent(rest) && rest.size > 0 && *count < LIST_MOST) {
        rc = value_parse(k, span_trim(span_split(&rest, ',')), false, &items[*count], why);
        *count += rc == 0;
    }
    return rc;
}

static int fill_missing(const struct load *l, const struct key *k, const struct place *p,
                        const char *path)
{
    char expected[320];
    int rc;
    if (k->required || (k->least > 0 && !key_is_leaf(k))) {
        value_expectation(k, expected, sizeof expected);
        failure_set(l->why, FAULT_INVALID, "expected %s, got nothing", expected);
        return refuse_node(l, p->near, path);
    }
    if (k->fallback == NULL)
        return 0;
    if (k->kind == KEY_STRINGS)
        rc = fill_default_strings(k, p->base, l->why);
    else
        rc = value_parse(k, span_from_string(k->fallback), false, key_field(k, p->base), l->why);
    return rc != 0 ? failure_prefix(l->why, "default of %s", path) : 0;
}

static int fill_leaf(const struct load *l, const struct key *k, const struct place *p,
                     const struct node *n, const char *path)
{
    char expected[320];
    if (n == NULL)
        return fill_missing(l, k, p, path);
    if (k->kind == KEY_STRINGS)
        return fill_strings(l, k, n, path, p->base);
    value_expectation(k, expected, sizeof expected);
    int rc = expect_kind(l, n, NODE_SCALAR, expected, path);
    if (rc != 0)
        return rc;
    if (node_is_null(n))
        rc = failure_set(l->why, FAULT_INVALID, "expected %s, got nothing", expected);
    else
        rc = value_parse(k, n->text, n->quoted, key_field(k, p->base), l->why);
    return rc != 0 ? refuse_node(l, n, path) : 0;
}

static int fill_group(const struct load *l, const struct place *p);

static int fill_element(const struct load *l, const struct key_child *c, const struct node *n,
                        const char *path, void *base)
{
    struct place inner = {.pattern = c->pattern, .node = n, .near = n, .base = base};
    snprintf(inner.path, sizeof inner.path, "%s", path);
    int rc = expect_kind(l, n, NODE_MAP, "a group of keys", path);
    return rc != 0 ? rc : fill_group(l, &inner);
}

static int fill_list(const struct load *l, const struct key_child *c, const struct node *n,
                     const char *path, void *base)
{
    int rc = expect_kind(l, n, NODE_LIST, "a list", path);
    if (rc == 0)
        rc = check_count(l, c->key, n, path);
    if (rc != 0)
        return rc;
    char *elements = memory_new_array(n->count + 1, c->key->size);
    *(void **)key_field(c->key, base) = elements;
    *key_count_field(c->key, base) = n->count;
    size_t index = 0;
    for (const struct node *e = n->first; e != NULL && rc == 0; e = e->next, index++) {
        char element_path[KEY_PATH_SIZE + 24];
        snprintf(element_path, sizeof element_path, "%s[%zu]", path, index);
        rc = fill_element(l, c, e, element_path, elements + index * c->key->size);
    }
    return rc;
}

static int copy_name(const struct load *l, const struct key *k, const struct node *n, void *element,
                     const char *path)
{
    char *name = (char *)element + k->name_offset;
    bool fits = span_copy_string(n->key, name, k->name_size);
    if (fits && (k->accepts != NULL ? k->accepts(name) : name_is_valid(name)))
        return 0;
    failure_set(l->why, FAULT_INVALID, "expected %s of at most %zu bytes, got another key",
                k->accepts != NULL ? k->expected : "a name of a-z, 0-9 and -", k->name_size - 1);
    return refuse_at(l, n->key_line, n->key_column, path);
}

static int fill_map(const struct load *l, const struct key_child *c, const struct place *p,
                    const struct node *n, const char *path)
{
    struct place around = {.pattern = c->pattern};
    int rc = expect_kind(l, n, NODE_MAP, "a map from names", path);
    if (rc == 0)
        rc = check_count(l, c->key, n, path);
    if (rc != 0)
        return rc;
    char *element = memory_new_array(n->count + 1, c->key->size);
    *(void **)key_field(c->key, p->base) = element;
    *key_count_field(c->key, p->base) = n->count;
    snprintf(around.path, sizeof around.path, "%s", path);
    for (const struct node *e = n->first; e != NULL && rc == 0; e = e->next) {
        char element_path[KEY_PATH_SIZE];
        join_path(&around, e->key, element_path);
        rc = copy_name(l, c->key, e, element, element_path);
        if (rc == 0)
            rc = fill_element(l, c, e, element_path, element);
        element += c->key->size;
    }
    return rc;
}

static int fill_plain_group(const struct load *l, const struct key_child *c, const struct place *p,
                            const struct node *n, const char *path)
{
    struct place inner = {
        .pattern = c->pattern, .node = n, .near = n != NULL ? n : p->near, .base = p->base};
    snprintf(inner.path, sizeof inner.path, "%s", path);
    int rc = n != NULL ? expect_kind(l, n, NODE_MAP, "a group of keys", path) : 0;
    return rc != 0 ? rc : fill_group(l, &inner);
}

static int fill_group(const struct load *l, const struct place *p)
{
    struct key_child c;
    int rc = check_names(l, p);
    for (size_t at = 0; rc == 0 && key_child_next(l->table, p->pattern, &at, &c);) {
        const struct node *n = node_member(p->node, span_from_string(c.segment));
        char path[KEY_PATH_SIZE];
        join_path(p, span_from_string(c.segment), path);
        if (c.key == NULL)
            rc = fill_plain_group(l, &c, p, n, path);
        else if (key_is_leaf(c.key))
            rc = fill_leaf(l, c.key, p, n, path);
        else if (n == NULL)
            rc = fill_missing(l, c.key, p, path);
        else if (c.key->kind == KEY_LIST)
            rc = fill_list(l, &c, n, path, p->base);
        else
            rc = fill_map(l, &c, p, n, path);
    }
    return rc;
}

static void release_group(const struct key_table *t, const char *pattern, void *base);

static void release_child(const struct key_table *t, const struct key_child *c, void *base)
{
    if (c->key == NULL) {
        release_group(t, c->pattern, base);
        return;
    }
    if (c->key->kind != KEY_STRINGS && key_is_leaf(c->key))
        return;
    char *elements = *(char **)key_field(c->key, base);
    size_t *count = key_count_field(c->key, base);
    for (size_t i = 0; i < *count; i++) {
        char *element = elements + i * c->key->size;
        if (c->key->kind == KEY_STRINGS)
            free(*(char **)(void *)element);
        else
            release_group(t, c->pattern, element);
    }
    free(elements);
    *(char **)key_field(c->key, base) = NULL;
    *count = 0;
}

static void release_group(const struct key_table *t, const char *pattern, void *base)
{
    struct key_child c;
    for (size_t at = 0; key_child_next(t, pattern, &at, &c);)
        release_child(t, &c, base);
}

void keys_release(const struct key_table *t, void *settings)
{
    release_group(t, "", settings);
    memory_wipe(settings, t->settings_size);
}

static int fill(const struct key_table *t, const struct key_source *s, void *settings,
                struct failure *why)
{
    const struct node *root = document_root(s->doc);
    struct load l = {.table = t, .doc = s->doc, .why = why};
    struct place top = {.pattern = "", .node = root, .near = root, .base = settings};
    if (node_is_null(root))
        top.node = NULL;
    else if (root->kind != NODE_MAP)
        return failure_set(why, FAULT_INVALID, "%s:%zu:%zu: expected keys, got %s",
                           document_name(s->doc), root->line, root->column, node_text(root));
    int rc = fill_group(&l, &top);
    return rc == 0 && t->check != NULL ? t->check(settings, s, why) : rc;
}

int keys_parse(const struct key_table *t, struct span yaml, const char *file, void *settings,
               struct key_source **source, struct failure *why)
{
    struct failure spare;
    struct key_source *s = memory_new(sizeof *s);
    memset(settings, 0, t->settings_size);
    why = why != NULL ? why : &spare;
    int rc = document_parse(yaml, file, &s->doc, why);
    if (rc == 0) {
        rc = fill(t, s, settings, why);
        if (rc != 0)
            keys_release(t, settings);
    }
    if (rc == 0 && source != NULL)
        *source = s;
    else
        key_source_free(s);
    return rc;
}

static int read_file(const char *file, struct buffer *out, struct failure *why)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failure_errno(why, "open %s", file);
    int rc = file_read_all(fd, file, out, why);
    if (rc == FAULT_TOO_LARGE)
        failure_set(why, FAULT_TOO_LARGE, "%s: expected at most 4MiB, got more", file);
    close(fd);
    return rc;
}

int keys_load(const struct key_table *t, const char *file, void *settings,
              struct key_source **source, struct failure *why)
{
    struct buffer text;
    buffer_init(&text, DOCUMENT_BYTES + 4096);
    int rc = read_file(file, &text, why);
    if (rc == 0)
        rc = keys_parse(t, buffer_span(&text), file, settings, source, why);
    buffer_fini(&text);
    return rc;
}

void key_source_free(struct key_source *s)
{
    if (s == NULL)
        return;
    document_free(s->doc);
    free(s);
}

// The node at a concrete path, and the nearest one above it that is in the file.
static const struct node *find_node(const struct key_source *s, const char *path,
                                    const struct node **near)
{
    const struct node *n = document_root(s->doc);
    *near = n;
    while (*path != '\0' && n != NULL) {
        size_t size = strcspn(path, ".[");
        if (*path == '[') {
            n = node_element(n, (size_t)strtoul(path + 1, NULL, 10));
            path += strcspn(path, "]");
            path += *path == ']';
        } else {
            n = node_member(n, span_of(path, size));
            path += size;
        }
        path += *path == '.';
        if (n != NULL)
            *near = n;
    }
    return n;
}

int key_source_refuse(const struct key_source *s, struct failure *why, const char *path,
                      const char *format, ...)
{
    const struct node *near;
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    find_node(s, path, &near);
    return failure_set(why, FAULT_INVALID, "%s:%zu:%zu: %s: %s", document_name(s->doc),
                       near != NULL ? near->line : 1, near != NULL ? near->column : 1, path, text);
}

bool key_source_has(const struct key_source *s, const char *path)
{
    const struct node *near;
    return find_node(s, path, &near) != NULL;
}

size_t key_source_line(const struct key_source *s, const char *path)
{
    const struct node *near;
    const struct node *n = find_node(s, path, &near);
    if (n == NULL)
        return 0;
    return n->key_line != 0 ? n->key_line : n->line;
}
