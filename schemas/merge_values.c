// SPDX-License-Identifier: Apache-2.0
// Which values a place takes: type, enum and const, merged into a view.
#include "gateway/lib/base/memory.h"
#include "schemas/merge.h"
#include "schemas/value.h"

unsigned merge_read_type(struct flattener *f, int node)
{
    struct span text;
    if (!json_string_plain(f->j, node, &text))
        return 0;
    return type_find(text, true);
}

unsigned types_widened(unsigned types)
{
    return types & TYPE_NUMBER ? types | TYPE_INTEGER : types;
}

// Types in the order in which they were named.
struct type_list {
    unsigned types, count;
    unsigned char order[TYPE_COUNT];
};

static void add_type(struct type_list *l, unsigned bit)
{
    if (bit == 0 || (l->types & bit) != 0)
        return;
    l->types |= bit;
    l->order[l->count++] = (unsigned char)__builtin_ctz(bit);
}

static void set_types(struct view *v, const struct type_list *l)
{
    v->types = l->types;
    v->type_count = l->count;
    memcpy(v->type_order, l->order, l->count);
}

// Keeps, in the order they have, the types that `others` has too.
static void intersect_types(struct view *v, unsigned others)
{
    struct type_list both = {.types = 0};
    for (unsigned i = 0; i < v->type_count; i++) {
        unsigned bit = 1U << v->type_order[i];
        if (types_widened(others) & bit)
            add_type(&both, bit);
        else if (bit == TYPE_NUMBER && (others & TYPE_INTEGER))
            add_type(&both, TYPE_INTEGER);
    }
    set_types(v, &both);
    v->never = v->never || v->types == 0;
}

void merge_type(struct gathering *g, int value)
{
    struct view *v = g->v;
    struct type_list new = {.types = 0};
    if (json_type(g->f->j, value) == JSON_ARRAY) {
        JSON_EACH(one, g->f->j, value)
        add_type(&new, merge_read_type(g->f, one));
    } else {
        add_type(&new, merge_read_type(g->f, value));
    }
    if (new.types == 0) {
        merge_repaired(g, value);
    } else if (v->typed) {
        intersect_types(v, new.types);
    } else {
        v->typed = true;
        set_types(v, &new);
    }
}

void merge_values(struct gathering *g, const int *values, unsigned count, bool is_const)
{
    struct view *v = g->v;
    struct value_set set =
        value_set_new(g->f->j, g->f->arena, v->has_enum ? v->value_count : count);
    int *kept = flattener_alloc(g->f, (count + 1) * sizeof *kept);
    unsigned kept_count = 0;
    if (!v->has_enum) {
        for (unsigned i = 0; i < count; i++)
            if (value_set_add(&set, values[i]))
                kept[kept_count++] = values[i];
    } else {
        for (unsigned i = 0; i < v->value_count; i++)
            value_set_add(&set, v->values[i]);
        for (unsigned i = 0; i < count; i++)
            if (value_set_has(&set, values[i]))
                kept[kept_count++] = values[i];
    }
    v->is_const = is_const || (v->has_enum && v->is_const);
    v->has_enum = true;
    v->values = kept;
    v->value_count = kept_count;
    v->never = v->never || kept_count == 0;
}

void merge_enum(struct gathering *g, int value)
{
    if (json_type(g->f->j, value) != JSON_ARRAY || json_first(g->f->j, value) == JSON_NONE) {
        merge_repaired(g, value);
        return;
    }
    size_t count = json_count(g->f->j, value), i = 0;
    int *values = flattener_alloc(g->f, count * sizeof *values);
    JSON_EACH(one, g->f->j, value)
    values[i++] = one;
    merge_values(g, values, (unsigned)count, false);
}

static bool value_fits(const struct flattener *f, unsigned types, int value)
{
    unsigned type = value == JSON_NONE ? TYPE_NULL : value_type(f->j, value);
    return (types_widened(types) & type) != 0;
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
    if (!(v->types & TYPE_NULL)) {
        v->types |= TYPE_NULL;
        v->type_order[v->type_count++] = TYPE_INDEX_NULL;
    }
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
