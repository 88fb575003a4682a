// SPDX-License-Identifier: Apache-2.0
// The settings in force, as YAML.
#include <stdio.h>

#include "gateway/lib/config/tree.h"
#include "gateway/lib/config/value.h"

struct dump {
    const struct key_table *table;
    const struct key_source *source; // NULL: no marks
    struct buffer *out;
    int fault; // the first failure sticks
};

// A group that is being written.
struct spot {
    const char *pattern;
    const char *path; // concrete
    const void *base;
    int indent;
    bool after_dash; // the first key stands behind "- "
};

static void put(struct dump *d, const char *text)
{
    if (d->fault == 0)
        d->fault = buffer_append_string(d->out, text);
}

static void put_key(struct dump *d, struct spot *s, const char *key)
{
    if (d->fault == 0)
        d->fault = buffer_printf(d->out, "%*s%s:", s->after_dash ? 0 : s->indent, "", key);
    s->after_dash = false;
}

static bool is_given(const struct dump *d, const char *path)
{
    return d->source != NULL && key_source_has(d->source, path);
}

static void put_value(struct dump *d, const struct key *k, const void *field)
{
    const char *text = field;
    put(d, " ");
    if (k->secret && text[0] != '\0')
        put(d, "\"***\" # hidden");
    else if (d->fault == 0)
        d->fault = value_format(k, field, d->out);
}

static void dump_leaf(struct dump *d, struct spot *s, const struct key_child *c, const char *path)
{
    bool given = is_given(d, path);
    if (!given && c->key->fallback == NULL && !c->key->required) {
        // Not a value that one could write, so it stays a comment.
        if (d->fault == 0 && !s->after_dash)
            d->fault = buffer_printf(d->out, "%*s# %s: not set\n", s->indent, "", c->segment);
        return;
    }
    put_key(d, s, c->segment);
    put_value(d, c->key, key_field(c->key, s->base));
    put(d, given || c->key->secret ? "\n" : " # default\n");
}

static void dump_strings(struct dump *d, struct spot *s, const struct key_child *c,
                         const char *path)
{
    char *const *items = *(char ***)key_field(c->key, s->base);
    size_t count = *key_count_field(c->key, s->base);
    put_key(d, s, c->segment);
    put(d, count == 0 ? " []" : "");
    put(d, is_given(d, path) ? "\n" : " # default\n");
    for (size_t i = 0; i < count && d->fault == 0; i++) {
        d->fault = buffer_printf(d->out, "%*s- ", s->indent + 2, "");
        if (d->fault == 0)
            d->fault = value_format(c->key, &items[i], d->out);
        put(d, "\n");
    }
}

static void dump_group(struct dump *d, struct spot *s);

static void dump_elements(struct dump *d, struct spot *s, const struct key_child *c,
                          const char *path)
{
    const char *elements = *(char **)key_field(c->key, s->base);
    size_t count = *key_count_field(c->key, s->base);
    bool list = c->key->kind == KEY_LIST;
    put_key(d, s, c->segment);
    put(d, count > 0 ? "\n" : list ? " [] # default\n" : " {} # default\n");
    for (size_t i = 0; i < count && d->fault == 0; i++) {
        const char *element = elements + i * c->key->size;
        const char *name = element + c->key->name_offset;
        char inner_path[KEY_PATH_SIZE + 80];
        if (list)
            snprintf(inner_path, sizeof inner_path, "%s[%zu]", path, i);
        else
            snprintf(inner_path, sizeof inner_path, "%s.%s", path, name);
        struct spot inner = {c->pattern, inner_path, element, s->indent + 4, list};
        if (list)
            d->fault = buffer_printf(d->out, "%*s- ", s->indent + 2, "");
        else
            d->fault = buffer_printf(d->out, "%*s%s:\n", s->indent + 2, "", name);
        dump_group(d, &inner);
        if (inner.after_dash)
            put(d, "{}\n");
    }
}

static void dump_group(struct dump *d, struct spot *s)
{
    struct key_child c;
    for (size_t at = 0; d->fault == 0 && key_child_next(d->table, s->pattern, &at, &c);) {
        char path[2 * KEY_PATH_SIZE];
        snprintf(path, sizeof path, "%s%s%s", s->path, s->path[0] != '\0' ? "." : "", c.segment);
        if (c.key == NULL) {
            struct spot inner = {c.pattern, path, s->base, s->indent + 2, false};
            put_key(d, s, c.segment);
            put(d, "\n");
            dump_group(d, &inner);
        } else if (!key_is_leaf(c.key)) {
            dump_elements(d, s, &c, path);
        } else if (c.key->kind == KEY_STRINGS) {
            dump_strings(d, s, &c, path);
        } else {
            dump_leaf(d, s, &c, path);
        }
    }
}

int keys_write_dump(const struct key_table *t, const void *settings,
                    const struct key_source *source, struct buffer *out)
{
    struct dump d = {.table = t, .source = source, .out = out};
    struct spot top = {.pattern = "", .path = "", .base = settings};
    dump_group(&d, &top);
    return d.fault;
}
