// SPDX-License-Identifier: Apache-2.0
// One keyword of one schema, merged into a view.
#include "gateway/lib/base/memory.h"
#include "schemas/gather.h"
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

static void repaired(struct gathering *g, int value)
{
    flattener_lose(g->f, LOSS_REPAIRED, value, "a malformed keyword was left out");
}

static void append_part(struct flattener *f, struct part **list, int node)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = part_new(f, node, 0, NULL);
}

static void append_copies(struct flattener *f, struct part **list, const struct part *more)
{
    while (*list != NULL)
        list = &(*list)->next;
    for (; more != NULL; more = more->next) {
        *list = part_new(f, more->node, more->flags, NULL);
        (*list)->any = more->any;
        list = &(*list)->next;
    }
}

static unsigned read_type(struct flattener *f, int node)
{
    struct span text;
    if (!json_string_plain(f->j, node, &text))
        return 0;
    return type_find(text, true);
}

static unsigned widened(unsigned types)
{
    return types & TYPE_NUMBER ? types | TYPE_INTEGER : types;
}

static void add_type(struct view *v, unsigned bit)
{
    if (bit == 0 || (v->types & bit) != 0)
        return;
    v->types |= bit;
    v->type_order[v->type_count++] = (unsigned char)__builtin_ctz(bit);
}

// Keeps, in the order they have, the types that `others` has too.
static void intersect_types(struct view *v, unsigned others)
{
    struct view old = {.type_count = v->type_count};
    memcpy(old.type_order, v->type_order, sizeof old.type_order);
    v->types = v->type_count = 0;
    for (unsigned i = 0; i < old.type_count; i++) {
        unsigned bit = 1U << old.type_order[i];
        if (widened(others) & bit)
            add_type(v, bit);
        else if (bit == TYPE_NUMBER && (others & TYPE_INTEGER))
            add_type(v, TYPE_INTEGER);
    }
    v->never = v->never || v->types == 0;
}

static void gather_type(struct gathering *g, int value)
{
    struct view *v = g->v, new = {.types = 0};
    if (json_type(g->f->j, value) == JSON_ARRAY) {
        JSON_EACH(one, g->f->j, value)
        add_type(&new, read_type(g->f, one));
    } else {
        add_type(&new, read_type(g->f, value));
    }
    if (new.types == 0) {
        repaired(g, value);
        return;
    }
    if (v->typed) {
        intersect_types(v, new.types);
        return;
    }
    v->typed = true;
    v->types = new.types;
    v->type_count = new.type_count;
    memcpy(v->type_order, new.type_order, sizeof v->type_order);
}

// A set of values by content, in an open table.
struct value_set {
    const struct json *j;
    int *slots;
    uint32_t slot_count;
};

static struct value_set set_new(struct flattener *f, size_t count)
{
    uint32_t slots = 4;
    while (slots < count * 2)
        slots *= 2;
    struct value_set s = {f->j, flattener_alloc(f, slots * sizeof(int)), slots};
    memset(s.slots, 0xff, slots * sizeof(int));
    return s;
}

// Adds, and tells whether it was new. With `look` it only looks.
static bool set_add(struct value_set *s, int node, bool look)
{
    uint32_t at = (uint32_t)value_hash(s->j, node) & (s->slot_count - 1);
    for (; s->slots[at] != JSON_NONE; at = (at + 1) & (s->slot_count - 1))
        if (value_equal(s->j, s->slots[at], node))
            return false;
    if (!look)
        s->slots[at] = node;
    return true;
}

static void gather_values(struct gathering *g, const int *values, unsigned count, bool is_const)
{
    struct view *v = g->v;
    struct value_set set = set_new(g->f, v->has_enum ? v->value_count : count);
    int *kept = flattener_alloc(g->f, (count + 1) * sizeof *kept);
    unsigned kept_count = 0;
    if (!v->has_enum) {
        for (unsigned i = 0; i < count; i++)
            if (set_add(&set, values[i], false))
                kept[kept_count++] = values[i];
    } else {
        for (unsigned i = 0; i < v->value_count; i++)
            set_add(&set, v->values[i], false);
        for (unsigned i = 0; i < count; i++)
            if (!set_add(&set, values[i], true))
                kept[kept_count++] = values[i];
    }
    v->is_const = is_const || (v->has_enum && v->is_const);
    v->has_enum = true;
    v->values = kept;
    v->value_count = kept_count;
    v->never = v->never || kept_count == 0;
}

static void gather_enum(struct gathering *g, int value)
{
    if (json_type(g->f->j, value) != JSON_ARRAY || json_first(g->f->j, value) == JSON_NONE) {
        repaired(g, value);
        return;
    }
    size_t count = json_count(g->f->j, value), i = 0;
    int *values = flattener_alloc(g->f, count * sizeof *values);
    JSON_EACH(one, g->f->j, value)
    values[i++] = one;
    gather_values(g, values, (unsigned)count, false);
}

static void gather_all_of(struct gathering *g, int value)
{
    if (json_type(g->f->j, value) != JSON_ARRAY) {
        repaired(g, value);
        return;
    }
    JSON_EACH(one, g->f->j, value)
    gather_push(g, one, g->part->flags & (PART_NO_UNIONS | PART_SOFT | PART_NO_NOTES));
}

static void gather_any_of(struct gathering *g, enum keyword k, int value)
{
    if (g->part->flags & PART_NO_UNIONS)
        return;
    size_t count = json_count(g->f->j, value), i = 0;
    if (json_type(g->f->j, value) != JSON_ARRAY || count == 0) {
        repaired(g, value);
        return;
    }
    struct alternatives *any = flattener_alloc(g->f, sizeof *any);
    any->branch = flattener_alloc(g->f, count * sizeof *any->branch);
    any->exclusive = k == KW_ONE_OF;
    JSON_EACH(one, g->f->j, value)
    any->branch[i++] = part_new(g->f, one, 0, NULL);
    any->count = (unsigned)count;
    gather_union(g, any);
}

// The values of a branch that says nothing but them, with at most notes and their type.
static bool only_values(struct flattener *f, const struct part *branch, int *out)
{
    *out = JSON_NONE;
    if (branch == NULL || branch->next != NULL || branch->any != NULL ||
        json_type(f->j, branch->node) != JSON_OBJECT)
        return false;
    JSON_EACH(value, f->j, branch->node)
    {
        enum keyword k = keyword_find(json_key_raw(f->j, value));
        if ((k == KW_CONST || (k == KW_ENUM && json_type(f->j, value) == JSON_ARRAY)) &&
            *out == JSON_NONE)
            *out = value;
        else if (k != KW_TYPE && k != KW_COMMENT && !gather_is_note(k) && k != KW_UNKNOWN)
            return false;
    }
    int type = json_get(f->j, branch->node, "type");
    if (*out == JSON_NONE || json_type(f->j, type) == JSON_ARRAY)
        return false;
    if (read_type(f, type) == 0)
        type = JSON_NONE;
    bool fits = true, list = keyword_find(json_key_raw(f->j, *out)) == KW_ENUM;
    for (int v = list ? json_first(f->j, *out) : *out; v != JSON_NONE && fits;
         v = list ? json_next(f->j, v) : JSON_NONE)
        fits = type == JSON_NONE || (widened(read_type(f, type)) & value_type(f->j, v)) != 0;
    return fits;
}

static void tell_branch(struct gathering *g, int branch, int value)
{
    struct span text;
    const struct json *j = g->f->j;
    int note = json_get(j, branch, "description");
    if (note == JSON_NONE)
        note = json_get(j, branch, "title");
    if (json_type(j, value) == JSON_ARRAY || value_equal(j, note, value) ||
        !json_string_arena(j, note, g->f->arena, &text))
        return;
    hint_add(g->f, g->v,
             flattener_printf(g->f, "%.*s: %.*s", SPAN_ARGS(json_raw(j, value)), SPAN_ARGS(text)));
}

// A union of nothing but values is an enum.
static bool gather_union_of_values(struct gathering *g, const struct alternatives *any)
{
    struct flattener *f = g->f;
    size_t count = 0, at = 0;
    int value;
    for (unsigned i = 0; i < any->count; i++) {
        if (!only_values(f, any->branch[i], &value))
            return false;
        count += json_type(f->j, value) == JSON_ARRAY ? json_count(f->j, value) : 1;
    }
    if (count == 0)
        return false;
    int *values = flattener_alloc(f, count * sizeof *values);
    struct value_set set = set_new(f, count);
    bool distinct = true;
    for (unsigned i = 0; i < any->count; i++) {
        only_values(f, any->branch[i], &value);
        bool list = keyword_find(json_key_raw(f->j, value)) == KW_ENUM;
        for (int v = list ? json_first(f->j, value) : value; v != JSON_NONE;
             v = list ? json_next(f->j, v) : JSON_NONE) {
            if (at < count)
                values[at++] = v;
            distinct = set_add(&set, v, false) && distinct;
        }
    }
    if (any->exclusive && !distinct)
        return false;
    for (unsigned i = 0; i < any->count; i++) {
        only_values(f, any->branch[i], &value);
        tell_branch(g, any->branch[i]->node, value);
    }
    gather_values(g, values, (unsigned)at, false);
    return true;
}

static bool is_false(const struct flattener *f, const struct part *branch)
{
    return branch != NULL && branch->any == NULL && json_type(f->j, branch->node) == JSON_FALSE;
}

void gather_union(struct gathering *g, const struct alternatives *any)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    struct alternatives *left = flattener_alloc(f, sizeof *left);
    *left = *any;
    left->count = 0;
    left->branch = flattener_alloc(f, (any->count + 1) * sizeof *left->branch);
    for (unsigned i = 0; i < any->count; i++)
        if (!is_false(f, any->branch[i]))
            left->branch[left->count++] = any->branch[i];
    if (left->count == 0) {
        v->never = true;
        return;
    }
    if (left->count == 1) {
        for (const struct part *p = left->branch[0]; p != NULL; p = p->next) {
            gather_push(g, p->node, p->flags);
            CONTAINER_OF(g->tail, struct part, next)->any = p->any;
        }
        return;
    }
    bool to_enum = !f->p->keeps[KW_CONST] || f->p->strict || any->made;
    if (to_enum && gather_union_of_values(g, left))
        return;
    if (v->union_count == VIEW_UNIONS_MAX) {
        flattener_lose(f, LOSS_TOLD, v->origin, "too many unions apply at one place");
        return;
    }
    v->unions[v->union_count++] = left;
}

static void gather_map(struct gathering *g, struct entries *into, int value)
{
    if (json_type(g->f->j, value) != JSON_OBJECT) {
        repaired(g, value);
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
        append_part(g->f, &e->parts, one);
    }
}

static void gather_names(struct gathering *g, struct entries *into, int value)
{
    if (json_type(g->f->j, value) != JSON_ARRAY) {
        repaired(g, value);
        return;
    }
    JSON_EACH(one, g->f->j, value)
    {
        struct span raw = json_raw(g->f->j, one);
        if (json_type(g->f->j, one) != JSON_STRING)
            repaired(g, one);
        else
            entries_add(g->f, into, canonical_key(g->f, span_slice(raw, 1, raw.size - 1)));
    }
}

static void gather_dependencies(struct gathering *g, int value)
{
    struct flattener *f = g->f;
    if (json_type(f->j, value) != JSON_OBJECT) {
        repaired(g, value);
        return;
    }
    JSON_EACH(one, f->j, value)
    {
        bool names = json_type(f->j, one) == JSON_ARRAY;
        struct entries *into = names ? &g->v->dependent_required : &g->v->dependent_schemas;
        struct entry *e = entries_add(f, into, canonical_key(f, json_key_raw(f->j, one)));
        append_part(f, &e->parts, one);
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
        memset(g->bound, 0, sizeof g->bound);
    g->has_bounds = true;
    if (flag && k == KW_EXCLUSIVE_MINIMUM)
        g->exclusive_minimum = value;
    else if (flag && k == KW_EXCLUSIVE_MAXIMUM)
        g->exclusive_maximum = value;
    else if (type != JSON_NUMBER || (count && !is_count(g->f, value)))
        repaired(g, value);
    else if (!json_double(g->f->j, value, &d)) {
        hint_value(g->f, g->v, keyword_name(k), value);
        flattener_lose(g->f, LOSS_TOLD, value, "a bound that is not finite");
    } else if (k == KW_MULTIPLE_OF && !(d > 0))
        repaired(g, value);
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
        repaired(g, value);
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
        repaired(g, value);
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
    append_part(g->f, list, value);
}

static void gather_flag(struct gathering *g, enum keyword k, int value)
{
    struct view *v = g->v;
    bool on;
    if (!json_bool(g->f->j, value, &on)) {
        repaired(g, value);
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

void gather_keyword(struct gathering *g, enum keyword k, int value, int node)
{
    (void)node;
    switch (k) {
    case KW_REF:
    case KW_DYNAMIC_REF:
    case KW_RECURSIVE_REF:
        if (!(g->part->flags & PART_NO_REF))
            gather_reference(g, k, value);
        return;
    case KW_TYPE:
        gather_type(g, value);
        return;
    case KW_ENUM:
        gather_enum(g, value);
        return;
    case KW_CONST:
        gather_values(g, &value, 1, true);
        return;
    case KW_ALL_OF:
        gather_all_of(g, value);
        return;
    case KW_ANY_OF:
    case KW_ONE_OF:
        gather_any_of(g, k, value);
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

void gather_begin(struct gathering *g, int node)
{
    (void)node;
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
    for (unsigned k = 0; k < KW_COUNT; k++)
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
        repaired(g, g->additional);
    if (mine && soft && (g->has_patterns || v->patterns.count > 0)) {
        hint_value(f, v, "other properties", g->additional);
        flattener_lose(f, LOSS_TOLD, g->additional, "it cannot be merged");
        mine = false;
    }
    for (uint32_t i = 0; now > 1 && i < v->properties.count; i++) {
        struct entry *e = &v->properties.list[i];
        if (e->made == now && v->has_additional && v->patterns.count == 0)
            append_copies(f, &e->parts, v->additional);
        if (e->stamp != now && mine && !is_true(f, g->additional))
            append_part(f, &e->parts, g->additional);
    }
    if (mine) {
        v->has_additional = true;
        append_part(f, &v->additional, g->additional);
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
        repaired(g, rest);
        rest = JSON_NONE;
    }
    unsigned longest = count > v->prefix_count ? count : v->prefix_count;
    struct part **prefix = flattener_alloc(f, (longest + 1) * sizeof *prefix);
    int one = tuple ? json_first(f->j, g->prefix) : JSON_NONE;
    for (unsigned i = 0; i < longest; i++) {
        append_copies(f, &prefix[i], i < v->prefix_count ? v->prefix[i] : v->items);
        if (i < count)
            append_part(f, &prefix[i], one);
        else if (rest != JSON_NONE)
            append_part(f, &prefix[i], rest);
        one = json_next(f->j, one);
    }
    v->prefix = prefix;
    v->prefix_count = longest;
    if (rest != JSON_NONE) {
        v->has_items = true;
        append_part(f, &v->items, rest);
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

void gather_end(struct gathering *g, int node)
{
    (void)node;
    if (g->has_bounds)
        merge_bounds(g);
    merge_properties(g);
    if (g->prefix != JSON_NONE || g->items != JSON_NONE)
        merge_items(g);
    merge_condition(g);
}

static bool value_fits(const struct flattener *f, unsigned types, int value)
{
    unsigned type = value == JSON_NONE ? TYPE_NULL : value_type(f->j, value);
    return (widened(types) & type) != 0;
}

// Values that no type allows are left out. Where none is left, the types say more than the enum.
static void settle_enum(struct gathering *g)
{
    struct view *v = g->v;
    unsigned left = 0;
    for (unsigned i = 0; i < v->value_count; i++)
        left += value_fits(g->f, v->types, v->values[i]);
    if (left == v->value_count)
        return;
    if (left == 0) {
        flattener_lose(g->f, LOSS_REPAIRED, v->origin, "no value of the enum has the type");
        for (unsigned i = 0; i < v->value_count && i < 20; i++)
            hint_value(g->f, v, "value", v->values[i]);
        v->has_enum = v->is_const = false;
        v->value_count = 0;
        return;
    }
    unsigned at = 0;
    for (unsigned i = 0; i < v->value_count; i++)
        if (value_fits(g->f, v->types, v->values[i]))
            v->values[at++] = v->values[i];
    v->value_count = at;
}

static void settle_null(struct gathering *g)
{
    struct view *v = g->v;
    if (!v->null_flag || !v->typed)
        return;
    add_type(v, TYPE_NULL);
    bool has_null = false;
    for (unsigned i = 0; i < v->value_count; i++)
        has_null =
            has_null || v->values[i] == JSON_NONE || json_type(g->f->j, v->values[i]) == JSON_NULL;
    if (!v->has_enum || has_null)
        return;
    int *values = flattener_alloc(g->f, (v->value_count + 1) * sizeof *values);
    memcpy(values, v->values, v->value_count * sizeof *values);
    values[v->value_count++] = JSON_NONE;
    v->values = values;
    v->is_const = false;
}

void gather_settle(struct gathering *g)
{
    settle_null(g);
    if (g->v->typed && g->v->has_enum)
        settle_enum(g);
    if (g->v->has_contains || span_is_absent(g->v->bound[KW_MIN_CONTAINS]))
        return;
    g->v->bound[KW_MIN_CONTAINS] = g->v->bound[KW_MAX_CONTAINS] = SPAN_NONE;
}
