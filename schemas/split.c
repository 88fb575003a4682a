// SPDX-License-Identifier: Apache-2.0
// For providers that want one type a node: several types are a union of nodes with one each, and
// anything at all is a union of all types.
#include "gateway/lib/base/memory.h"
#include "schemas/build.h"
#include "schemas/value.h"

// What says something first, so that a model reads it first.
static const unsigned char split_order[] = {TYPE_INDEX_OBJECT,  TYPE_INDEX_ARRAY,
                                            TYPE_INDEX_STRING,  TYPE_INDEX_NUMBER,
                                            TYPE_INDEX_INTEGER, TYPE_INDEX_BOOLEAN};

static struct node *typed_node(struct flattener *f, struct span type)
{
    struct builder b;
    b.count = 0;
    builder_raw(&b, KW_TYPE, type);
    return schema_node_new(f, &b);
}

static struct node *array_of(struct flattener *f, struct node *items)
{
    struct builder b;
    b.count = 0;
    builder_raw(&b, KW_TYPE, SPAN_LITERAL("\"array\""));
    builder_node(&b, KW_ITEMS, items);
    return schema_node_new(f, &b);
}

static struct node *union_node(struct flattener *f, struct node **list, size_t count)
{
    struct builder b;
    b.count = 0;
    struct node **copy = flattener_alloc(f, count * sizeof *copy);
    memcpy(copy, list, count * sizeof *copy);
    builder_list(&b, KW_ANY_OF, copy, count);
    return schema_node_new(f, &b);
}

static void add_null(struct flattener *f, struct node **list, size_t *count)
{
    if (f->p->null_style != NULL_TYPE)
        return;
    struct node *n = typed_node(f, SPAN_LITERAL("\"null\""));
    n->is_null = n->takes_null = true;
    list[(*count)++] = n;
}

static struct node *with_flag(struct flattener *f, struct node *n)
{
    struct builder b;
    b.count = n->count;
    memcpy(b.member, n->members, n->count * sizeof *n->members);
    builder_raw(&b, KW_NULLABLE, SPAN_LITERAL("true"));
    struct node *out = schema_node_new(f, &b);
    out->takes_null = true;
    return out;
}

// The flag goes beside anyOf, or, where nothing may stand there, onto every branch.
static struct node *nullable_union(struct flattener *f, struct node **list, size_t count)
{
    if (f->p->null_style == NULL_FLAG && f->p->union_bare)
        for (size_t i = 0; i < count; i++)
            if (schema_node_member(list[i], KW_NULLABLE) == NULL)
                list[i] = with_flag(f, list[i]);
    struct node *n = union_node(f, list, count);
    if (f->p->null_style == NULL_FLAG && !f->p->union_bare)
        n = with_flag(f, n);
    n->takes_null = true;
    return n;
}

// Any value but null, its arrays' items scalars: the one row of the loss table that narrows.
static size_t list_anything(struct flattener *f, struct node **list)
{
    struct node *scalars[3] = {typed_node(f, SPAN_LITERAL("\"string\"")),
                               typed_node(f, SPAN_LITERAL("\"number\"")),
                               typed_node(f, SPAN_LITERAL("\"boolean\""))};
    memcpy(list, scalars, sizeof scalars);
    list[3] = typed_node(f, SPAN_LITERAL("\"object\""));
    list[4] = array_of(f, union_node(f, scalars, 3));
    return 5;
}

struct node *build_anything(struct flattener *f, struct view *v, struct site s)
{
    struct node *list[6];
    if (f->p->untyped == UNTYPED_REFUSED) {
        flattener_refuse(f, v->origin, "a schema without a type");
        return build_plain(f, v, v->types, s);
    }
    flattener_lose(f, LOSS_ANY_AS_UNION, v->origin, "anything");
    size_t count = list_anything(f, list);
    add_null(f, list, &count);
    return with_notes(f, v, nullable_union(f, list, count), s);
}

static unsigned types_of(const struct flattener *f, const struct view *v)
{
    if (!v->has_enum)
        return v->types & TYPE_NUMBER ? v->types & ~(unsigned)TYPE_INTEGER : v->types;
    unsigned types = 0, declared = v->typed ? v->types : TYPE_ANY;
    for (unsigned i = 0; i < v->value_count; i++) {
        unsigned one =
            v->values[i] == JSON_NONE ? (unsigned)TYPE_NULL : value_type(f->j, v->values[i]);
        // 1 under "number" is a number.
        if (one == TYPE_INTEGER && v->typed && !(declared & TYPE_INTEGER))
            one = TYPE_NUMBER;
        types |= one;
    }
    return types & TYPE_NUMBER ? types & ~(unsigned)TYPE_INTEGER : types;
}

static void keep_values_of(struct flattener *f, struct view *v, unsigned types)
{
    if (!v->has_enum)
        return;
    unsigned wide = types & TYPE_NUMBER ? types | TYPE_INTEGER : types, at = 0;
    int *values = flattener_alloc(f, (v->value_count + 1) * sizeof *values);
    for (unsigned i = 0; i < v->value_count; i++) {
        unsigned one =
            v->values[i] == JSON_NONE ? (unsigned)TYPE_NULL : value_type(f->j, v->values[i]);
        if (one & wide)
            values[at++] = v->values[i];
    }
    v->values = values;
    v->value_count = at;
}

static void forget_notes(struct view *v)
{
    for (unsigned k = KW_TITLE; k <= KW_EXAMPLES; k++)
        v->text[k] = JSON_NONE;
    v->hints = v->last_hint = NULL;
    v->deprecated = v->read_only = v->write_only = false;
}

static struct node *of_one_type(struct flattener *f, const struct view *v, unsigned type,
                                struct site s)
{
    struct view *one = view_take(f);
    *one = *v;
    forget_notes(one);
    keep_values_of(f, one, type);
    one->typed = true;
    one->types = type;
    one->type_count = 0;
    struct node *n = build_plain(f, one, type, s);
    view_give(f, one);
    return n;
}

static struct node *only_null(struct flattener *f, struct view *v, struct site s)
{
    struct node *n;
    if (f->p->null_style == NULL_FLAG) {
        n = with_flag(f, typed_node(f, SPAN_LITERAL("\"string\"")));
        hint_add(f, v, SPAN_LITERAL("always null"));
        flattener_lose(f, LOSS_TOLD, v->origin, "null alone");
    } else {
        n = typed_node(f, SPAN_LITERAL("\"null\""));
    }
    n->is_null = n->takes_null = true;
    n = with_notes(f, v, n, s);
    n->is_null = true;
    return n;
}

struct node *build_split(struct flattener *f, struct view *v, struct site s)
{
    unsigned types = types_of(f, v);
    bool null = (types & TYPE_NULL) != 0, flag = f->p->null_style == NULL_FLAG;
    types &= ~(unsigned)TYPE_NULL;
    if (types == 0)
        return only_null(f, v, s);
    if (__builtin_popcount(types) == 1 && (flag || !null)) {
        keep_values_of(f, v, types | (null ? (unsigned)TYPE_NULL : 0));
        v->typed = true;
        return build_plain(f, v, types | (null ? (unsigned)TYPE_NULL : 0), s);
    }
    f->unsettled = f->unsettled || v->has_enum;
    struct node *list[TYPE_COUNT + 1];
    size_t count = 0;
    struct site below = s;
    below.branch = true;
    below.root = false;
    if (!v->typed && !v->has_enum)
        flattener_lose(f, LOSS_ANY_AS_UNION, v->origin, "no type is given");
    for (size_t i = 0; i < ARRAY_COUNT(split_order); i++) {
        struct node *n = NULL;
        if (types & 1U << split_order[i])
            n = of_one_type(f, v, 1U << split_order[i], below);
        if (n != NULL)
            list[count++] = n;
    }
    if (count == 0)
        return null ? only_null(f, v, s) : NULL;
    if (null)
        add_null(f, list, &count);
    struct node *n = null ? nullable_union(f, list, count) : union_node(f, list, count);
    return with_notes(f, v, n, s);
}
