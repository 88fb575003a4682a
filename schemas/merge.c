// SPDX-License-Identifier: Apache-2.0
// One keyword of one schema, merged into a view.
#include "schemas/merge.h"

#include "gateway/lib/base/memory.h"
#include "schemas/value.h"

bool gather_is_note(enum keyword k)
{
    switch (k) {
    case KW_TITLE:
    case KW_DESCRIPTION:
    case KW_DEFAULT:
    case KW_EXAMPLE:
    case KW_EXAMPLES:
    case KW_DEPRECATED:
    case KW_READ_ONLY:
    case KW_WRITE_ONLY:
        return true;
    default:
        return false;
    }
}

void merge_repaired(struct gathering *g, int value)
{
    flattener_lose(g->f, LOSS_REPAIRED, value, "a malformed keyword was left out");
}

static void gather_all_of(struct gathering *g, int value)
{
    if (json_type(g->f->j, value) != JSON_ARRAY) {
        merge_repaired(g, value);
        return;
    }
    JSON_EACH(one, g->f->j, value)
    gather_push(g, one, g->part->flags & (PART_NO_UNIONS | PART_SOFT | PART_NO_NOTES));
}

static void gather_map(struct gathering *g, struct entries *into, int value)
{
    if (json_type(g->f->j, value) != JSON_OBJECT) {
        merge_repaired(g, value);
        return;
    }
    JSON_EACH(one, g->f->j, value)
    {
        struct entry *e = entries_add(g->f, into, canonical_key(g->f, json_key_raw(g->f->j, one)));
        if (e->made != 0 && e->stamp == g->v->parts_seen) { // a duplicate: the last one counts
            struct part *last = e->parts;
            while (last->next != NULL)
                last = last->next;
            last->node = one;
            continue;
        }
        if (e->made == 0)
            e->made = g->v->parts_seen;
        e->stamp = g->v->parts_seen;
        parts_append(&e->parts, part_new(g->f, one, 0, NULL));
    }
}

static void gather_names(struct gathering *g, struct entries *into, int value)
{
    if (json_type(g->f->j, value) != JSON_ARRAY) {
        merge_repaired(g, value);
        return;
    }
    JSON_EACH(one, g->f->j, value)
    {
        struct span raw = json_raw(g->f->j, one);
        if (json_type(g->f->j, one) != JSON_STRING)
            merge_repaired(g, one);
        else
            entries_add(g->f, into, canonical_key(g->f, span_slice(raw, 1, raw.size - 1)));
    }
}

static void gather_dependencies(struct gathering *g, int value)
{
    struct flattener *f = g->f;
    if (json_type(f->j, value) != JSON_OBJECT) {
        merge_repaired(g, value);
        return;
    }
    JSON_EACH(one, f->j, value)
    {
        bool names = json_type(f->j, one) == JSON_ARRAY;
        struct entries *into = names ? &g->v->dependent_required : &g->v->dependent_schemas;
        struct entry *e = entries_add(f, into, canonical_key(f, json_key_raw(f->j, one)));
        parts_append(&e->parts, part_new(f, one, 0, NULL));
    }
}

static bool is_count(const struct flattener *f, int value)
{
    int64_t n;
    double d;
    if (json_i64(f->j, value, &n))
        return n >= 0;
    return json_double(f->j, value, &d) && d > 9e18 && value_type(f->j, value) == TYPE_INTEGER;
}

static void gather_bound(struct gathering *g, enum keyword k, int value)
{
    double d;
    bool count = keyword_shape(k) == SHAPE_COUNT;
    enum json_type type = json_type(g->f->j, value);
    bool flag = type == JSON_TRUE || type == JSON_FALSE;
    if (!g->has_bounds)
        memset(&g->bound[KW_BOUND_FIRST], 0, sizeof g->bound - KW_BOUND_FIRST * sizeof g->bound[0]);
    g->has_bounds = true;
    if (flag && k == KW_EXCLUSIVE_MINIMUM)
        g->exclusive_minimum = value;
    else if (flag && k == KW_EXCLUSIVE_MAXIMUM)
        g->exclusive_maximum = value;
    else if (type != JSON_NUMBER || (count && !is_count(g->f, value)))
        merge_repaired(g, value);
    else if (!json_double(g->f->j, value, &d)) {
        hint_value(g->f, g->v, keyword_name(k), value);
        flattener_lose(g->f, LOSS_TOLD, value, "a bound that is not finite");
    } else if (k == KW_MULTIPLE_OF && !(d > 0))
        merge_repaired(g, value);
    else
        g->bound[k] = json_raw(g->f->j, value);
}

// Text that only one schema can give; another one's that differs is told.
static void gather_text(struct gathering *g, enum keyword k, int value)
{
    struct view *v = g->v;
    if (gather_is_note(k) && (g->part->flags & PART_NO_NOTES))
        return;
    if (keyword_shape(k) == SHAPE_STRING && json_type(g->f->j, value) != JSON_STRING) {
        merge_repaired(g, value);
        return;
    }
    if (v->text[k] == JSON_NONE) {
        v->text[k] = value;
    } else if (!gather_is_note(k) && !value_equal(g->f->j, v->text[k], value)) {
        hint_value(g->f, v, keyword_name(k), value);
        flattener_lose(g->f, LOSS_TOLD, value, "two of them apply");
    }
}

static void gather_schema(struct gathering *g, enum keyword k, int value)
{
    struct view *v = g->v;
    enum json_type type = json_type(g->f->j, value);
    if (type != JSON_OBJECT && type != JSON_TRUE && type != JSON_FALSE) {
        merge_repaired(g, value);
        return;
    }
    bool soft = (g->part->flags & PART_SOFT) != 0 && v->parts_seen > 1;
    struct part **list = NULL;
    bool *has = NULL;
    if (k == KW_NOT)
        list = &v->nots;
    else if (k == KW_PROPERTY_NAMES)
        list = &v->names;
    else if (k == KW_CONTAINS)
        list = &v->contains, has = &v->has_contains;
    else if (k == KW_UNEVALUATED_ITEMS)
        list = &v->unevaluated_items, has = &v->has_unevaluated_items;
    else if (k == KW_UNEVALUATED_PROPERTIES)
        list = &v->unevaluated_properties, has = &v->has_unevaluated_properties;
    if (list == NULL)
        return;
    if (soft && has != NULL) {
        hint_value(g->f, v, keyword_name(k), value);
        flattener_lose(g->f, LOSS_TOLD, value, "it cannot be merged");
        return;
    }
    if (has != NULL)
        *has = true;
    parts_append(list, part_new(g->f, value, 0, NULL));
}

static void gather_flag(struct gathering *g, enum keyword k, int value)
{
    struct view *v = g->v;
    bool on;
    if (!json_bool(g->f->j, value, &on)) {
        merge_repaired(g, value);
        return;
    }
    bool notes = !(g->part->flags & PART_NO_NOTES);
    v->unique = v->unique || (k == KW_UNIQUE_ITEMS && on);
    v->null_flag = v->null_flag || (k == KW_NULLABLE && on);
    v->deprecated = v->deprecated || (k == KW_DEPRECATED && on && notes);
    v->read_only = v->read_only || (k == KW_READ_ONLY && on && notes);
    v->write_only = v->write_only || (k == KW_WRITE_ONLY && on && notes);
}

static void gather_patterns(struct gathering *g, int value)
{
    if ((g->part->flags & PART_SOFT) && g->v->parts_seen > 1) {
        hint_value(g->f, g->v, "patternProperties", value);
        flattener_lose(g->f, LOSS_TOLD, value, "it cannot be merged");
    } else {
        gather_map(g, &g->v->patterns, value);
    }
    g->has_patterns = true;
}

static void gather_unknown(struct gathering *g, int value)
{
    struct view *v = g->v;
    enum json_type type = json_type(g->f->j, value);
    if (type != JSON_OBJECT && type != JSON_ARRAY && v->unknown_count < ARRAY_COUNT(v->unknown) &&
        !(g->part->flags & PART_NO_NOTES))
        v->unknown[v->unknown_count++] = value;
}

void gather_keyword(struct gathering *g, enum keyword k, int value)
{
    switch (k) {
    case KW_REF:
    case KW_DYNAMIC_REF:
    case KW_RECURSIVE_REF:
        if (!(g->part->flags & PART_NO_REF))
            gather_reference(g, k, value);
        return;
    case KW_TYPE:
        merge_type(g, value);
        return;
    case KW_ENUM:
        merge_enum(g, value);
        return;
    case KW_CONST:
        merge_values(g, &value, 1, true);
        return;
    case KW_ALL_OF:
        gather_all_of(g, value);
        return;
    case KW_ANY_OF:
    case KW_ONE_OF:
        merge_any_of(g, k, value);
        return;
    case KW_IF:
        g->if_ = value;
        return;
    case KW_THEN:
        g->then = value;
        return;
    case KW_ELSE:
        g->else_ = value;
        return;
    case KW_PROPERTIES:
        gather_map(g, &g->v->properties, value);
        return;
    case KW_PATTERN_PROPERTIES:
        gather_patterns(g, value);
        return;
    case KW_ADDITIONAL_PROPERTIES:
        g->additional = value;
        return;
    case KW_REQUIRED:
        gather_names(g, &g->v->required, value);
        return;
    case KW_DEPENDENT_REQUIRED:
    case KW_DEPENDENT_SCHEMAS:
    case KW_DEPENDENCIES:
        gather_dependencies(g, value);
        return;
    case KW_ITEMS:
        if (json_type(g->f->j, value) == JSON_ARRAY)
            g->prefix = value;
        else
            g->items = value;
        return;
    case KW_PREFIX_ITEMS:
        g->prefix = value;
        return;
    case KW_ADDITIONAL_ITEMS:
        g->rest_items = value;
        return;
    case KW_PROPERTY_ORDERING:
        g->v->ordering = value;
        return;
    case KW_UNKNOWN:
        gather_unknown(g, value);
        return;
    default:
        break;
    }
    switch (keyword_shape(k)) {
    case SHAPE_NUMBER:
    case SHAPE_COUNT:
        gather_bound(g, k, value);
        return;
    case SHAPE_BOOL:
        gather_flag(g, k, value);
        return;
    case SHAPE_SCHEMA:
        gather_schema(g, k, value);
        return;
    case SHAPE_STRING:
    case SHAPE_DATA:
        gather_text(g, k, value);
        return;
    default:
        return;
    }
}
