// SPDX-License-Identifier: Apache-2.0
// Keywords of one schema that mean something only together with those beside them.
#include "schemas/merge.h"

void gather_begin(struct gathering *g)
{
    g->additional = g->prefix = g->items = g->rest_items = g->if_ = g->then = g->else_ =
        g->exclusive_minimum = g->exclusive_maximum = JSON_NONE;
    g->has_patterns = g->has_bounds = false;
}

static double number_of(struct span raw)
{
    struct json *j;
    double d = 0;
    if (json_parse(raw, NULL, &j, NULL) == 0)
        (void)json_double(j, JSON_ROOT, &d);
    json_free(j);
    return d;
}

static void merge_bound(struct view *v, enum keyword k, struct span raw)
{
    bool lower = k == KW_MINIMUM || k == KW_EXCLUSIVE_MINIMUM || k == KW_MIN_LENGTH ||
                 k == KW_MIN_ITEMS || k == KW_MIN_PROPERTIES || k == KW_MIN_CONTAINS;
    struct span *have = &v->bound[k];
    if (span_is_absent(*have) || k == KW_MULTIPLE_OF) {
        if (span_is_absent(*have))
            *have = raw;
        return;
    }
    double a = number_of(*have), b = number_of(raw);
    if (lower ? b > a : b < a)
        *have = raw;
}

static void merge_bounds(struct gathering *g)
{
    const struct json *j = g->f->j;
    // Draft 4: a flag that makes the bound beside it exclusive.
    if (json_type(j, g->exclusive_minimum) == JSON_TRUE) {
        g->bound[KW_EXCLUSIVE_MINIMUM] = g->bound[KW_MINIMUM];
        g->bound[KW_MINIMUM] = SPAN_NONE;
    }
    if (json_type(j, g->exclusive_maximum) == JSON_TRUE) {
        g->bound[KW_EXCLUSIVE_MAXIMUM] = g->bound[KW_MAXIMUM];
        g->bound[KW_MAXIMUM] = SPAN_NONE;
    }
    struct span multiple = g->v->bound[KW_MULTIPLE_OF];
    if (!span_is_absent(multiple) && !span_is_absent(g->bound[KW_MULTIPLE_OF]) &&
        number_of(multiple) != number_of(g->bound[KW_MULTIPLE_OF])) {
        hint_add(g->f, g->v,
                 flattener_printf(g->f, "multipleOf: %.*s", SPAN_ARGS(g->bound[KW_MULTIPLE_OF])));
        flattener_lose(g->f, LOSS_TOLD, g->part->node, "two multipleOf apply");
    }
    for (unsigned k = KW_BOUND_FIRST; k < KW_BOUND_END; k++)
        if (!span_is_absent(g->bound[k]))
            merge_bound(g->v, (enum keyword)k, g->bound[k]);
}

static bool is_true(const struct flattener *f, int node)
{
    return json_type(f->j, node) == JSON_TRUE ||
           (json_type(f->j, node) == JSON_OBJECT && json_first(f->j, node) == JSON_NONE);
}

static void merge_properties(struct gathering *g)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    unsigned now = v->parts_seen;
    bool soft = (g->part->flags & PART_SOFT) != 0 && now > 1;
    bool mine = g->additional != JSON_NONE && json_type(f->j, g->additional) != JSON_NUMBER &&
                json_type(f->j, g->additional) != JSON_STRING &&
                json_type(f->j, g->additional) != JSON_NULL &&
                json_type(f->j, g->additional) != JSON_ARRAY;
    if (g->additional != JSON_NONE && !mine)
        merge_repaired(g, g->additional);
    if (mine && soft && (g->has_patterns || v->patterns.count > 0)) {
        hint_value(f, v, "other properties", g->additional);
        flattener_lose(f, LOSS_TOLD, g->additional, "it cannot be merged");
        mine = false;
    }
    for (uint32_t i = 0; now > 1 && i < v->properties.count; i++) {
        struct entry *e = &v->properties.list[i];
        if (e->made == now && v->has_additional && v->patterns.count == 0)
            parts_append(&e->parts, parts_flagged(f, v->additional, 0));
        if (e->stamp != now && mine && !is_true(f, g->additional))
            parts_append(&e->parts, part_new(f, g->additional, 0, NULL));
    }
    if (mine) {
        v->has_additional = true;
        parts_append(&v->additional, part_new(f, g->additional, 0, NULL));
    }
}

static void merge_items(struct gathering *g)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    bool tuple = json_type(f->j, g->prefix) == JSON_ARRAY;
    unsigned count = tuple ? (unsigned)json_count(f->j, g->prefix) : 0;
    // Beside a list of items, it is additionalItems that says what the rest is.
    int rest = g->items != JSON_NONE ? g->items : tuple ? g->rest_items : JSON_NONE;
    enum json_type type = json_type(f->j, rest);
    if (rest != JSON_NONE && type != JSON_OBJECT && type != JSON_TRUE && type != JSON_FALSE) {
        merge_repaired(g, rest);
        rest = JSON_NONE;
    }
    unsigned longest = count > v->prefix_count ? count : v->prefix_count;
    struct part **prefix = flattener_alloc(f, (longest + 1) * sizeof *prefix);
    int one = tuple ? json_first(f->j, g->prefix) : JSON_NONE;
    for (unsigned i = 0; i < longest; i++) {
        parts_append(&prefix[i],
                     parts_flagged(f, i < v->prefix_count ? v->prefix[i] : v->items, 0));
        if (i < count)
            parts_append(&prefix[i], part_new(f, one, 0, NULL));
        else if (rest != JSON_NONE)
            parts_append(&prefix[i], part_new(f, rest, 0, NULL));
        one = json_next(f->j, one);
    }
    v->prefix = prefix;
    v->prefix_count = longest;
    if (rest != JSON_NONE) {
        v->has_items = true;
        parts_append(&v->items, part_new(f, rest, 0, NULL));
    }
}

static void merge_condition(struct gathering *g)
{
    struct flattener *f = g->f;
    if (g->if_ == JSON_NONE || (g->then == JSON_NONE && g->else_ == JSON_NONE))
        return;
    struct condition *c = flattener_alloc(f, sizeof *c);
    c->if_ = part_new(f, g->if_, 0, NULL);
    c->then = g->then != JSON_NONE ? part_new(f, g->then, 0, NULL) : NULL;
    c->else_ = g->else_ != JSON_NONE ? part_new(f, g->else_, 0, NULL) : NULL;
    struct condition **at = &g->v->condition;
    while (*at != NULL)
        at = &(*at)->next;
    *at = c;
}

void gather_end(struct gathering *g)
{
    if (g->has_bounds)
        merge_bounds(g);
    merge_properties(g);
    if (g->prefix != JSON_NONE || g->items != JSON_NONE)
        merge_items(g);
    merge_condition(g);
}
