// SPDX-License-Identifier: Apache-2.0
// A node that is no union: its members, in the order in which the source has them.
#include "schemas/build.h"
#include "schemas/value.h"

#include "gateway/lib/base/memory.h"

static const enum keyword canonical_order[] = {
    KW_REF,
    KW_TYPE,
    KW_TITLE,
    KW_NULLABLE,
    KW_CONST,
    KW_ENUM,
    KW_FORMAT,
    KW_PATTERN,
    KW_MIN_LENGTH,
    KW_MAX_LENGTH,
    KW_MINIMUM,
    KW_MAXIMUM,
    KW_EXCLUSIVE_MINIMUM,
    KW_EXCLUSIVE_MAXIMUM,
    KW_MULTIPLE_OF,
    KW_PREFIX_ITEMS,
    KW_ITEMS,
    KW_MIN_ITEMS,
    KW_MAX_ITEMS,
    KW_UNIQUE_ITEMS,
    KW_CONTAINS,
    KW_MIN_CONTAINS,
    KW_MAX_CONTAINS,
    KW_UNEVALUATED_ITEMS,
    KW_PROPERTIES,
    KW_PATTERN_PROPERTIES,
    KW_REQUIRED,
    KW_ADDITIONAL_PROPERTIES,
    KW_PROPERTY_NAMES,
    KW_MIN_PROPERTIES,
    KW_MAX_PROPERTIES,
    KW_DEPENDENT_REQUIRED,
    KW_DEPENDENT_SCHEMAS,
    KW_UNEVALUATED_PROPERTIES,
    KW_PROPERTY_ORDERING,
    KW_NOT,
    KW_IF,
    KW_THEN,
    KW_ELSE,
    KW_ALL_OF,
    KW_CONTENT_ENCODING,
    KW_CONTENT_MEDIA_TYPE,
    KW_DEFAULT,
    KW_EXAMPLE,
    KW_EXAMPLES,
    KW_DEPRECATED,
    KW_READ_ONLY,
    KW_WRITE_ONLY,
    KW_DEFS,
    KW_DESCRIPTION,
};

static void put_reference_member(struct building *g, enum keyword k)
{
    if (k == KW_REF && !span_is_absent(g->v->ref))
        builder_raw(&g->b, KW_REF, g->v->ref);
    if (k != KW_DEFS && k != KW_DEFINITIONS)
        return;
    // Their place; what goes there is known last.
    g->done[KW_DEFS] = g->done[KW_DEFINITIONS] = true;
    if (g->s.root && g->s.depth == 0)
        builder_raw(&g->b, KW_DEFS, SPAN_NONE);
}

static void put_member(struct building *g, enum keyword k)
{
    if (g->done[k])
        return;
    g->done[k] = true;
    if (!build_value_member(g, k) && !build_note_member(g, k) && !build_object_member(g, k) &&
        !build_array_member(g, k) && !build_logic_member(g, k) && !build_bound_member(g, k))
        put_reference_member(g, k);
}

// Old keywords stand where their new ones go.
static enum keyword place_of(enum keyword k)
{
    switch (k) {
    case KW_ADDITIONAL_ITEMS:
        return KW_ITEMS;
    case KW_DEPENDENCIES:
        return KW_DEPENDENT_SCHEMAS;
    default:
        return k;
    }
}

static void put_unknown(struct building *g)
{
    struct flattener *f = g->f;
    for (unsigned i = 0; i < g->v->unknown_count && f->p->keeps[KW_ALL_OF]; i++) {
        int node = g->v->unknown[i];
        struct member *m = builder_add(&g->b, KW_UNKNOWN, MEMBER_RAW);
        m->key = canonical_key(f, json_key_raw(f->j, node));
        m->as.raw = json_raw(f->j, node);
    }
}

// Without the description's place, where nothing is to be said there.
static void put_description(struct building *g)
{
    struct span text = description_text(g->f, g->v);
    unsigned at = g->description_at - 1;
    if (!span_is_absent(text)) {
        g->b.member[at].as.raw = text;
        return;
    }
    memmove(&g->b.member[at], &g->b.member[at + 1], (g->b.count - at - 1) * sizeof g->b.member[0]);
    g->b.count--;
}

static struct node *build_finish(struct building *g)
{
    if (g->never)
        return NULL;
    put_unknown(g);
    put_description(g);
    struct node *n = schema_node_new(g->f, &g->b);
    n->takes_null = g->nullable;
    n->is_null = g->types == TYPE_NULL;
    return n;
}

static void check_strict(struct building *g)
{
    struct view *v = g->v;
    if (!g->f->p->strict)
        return;
    if (!v->typed && !v->has_enum)
        flattener_refuse(g->f, v->origin, "a schema without a type");
    if ((g->types & TYPE_OBJECT) == 0 || (!v->typed && v->has_enum))
        return;
    bool closed = v->has_additional && v->additional->next == NULL &&
                  json_type(g->f->j, v->additional->node) == JSON_FALSE;
    if (v->properties.count == 0 && !closed && !g->s.root)
        flattener_refuse(g->f, v->origin, "an object of any shape");
    if (v->has_additional && !closed && parts_demand(g->f, v->additional))
        flattener_refuse(g->f, v->origin, "a map from names to values");
    if (v->patterns.count > 0)
        flattener_refuse(g->f, v->origin, "properties by pattern");
}

static unsigned types_of_values(const struct flattener *f, const struct view *v)
{
    unsigned types = 0;
    for (unsigned i = 0; i < v->value_count; i++)
        types |= v->values[i] == JSON_NONE ? (unsigned)TYPE_NULL : value_type(f->j, v->values[i]);
    return types & TYPE_NUMBER ? types & ~(unsigned)TYPE_INTEGER : types;
}

struct keyword_set {
    uint64_t word[2];
};

static void set_add(struct keyword_set *s, enum keyword k, bool on)
{
    s->word[k / 64] |= (uint64_t)on << (k % 64);
}

// Keywords that may have something to say: those of the source, and those that come about here.
static struct keyword_set keywords_of(const struct building *g)
{
    const struct view *v = g->v;
    struct keyword_set s = {{v->seen[0], v->seen[1]}};
    set_add(&s, KW_TYPE, true);
    set_add(&s, KW_DESCRIPTION, true);
    set_add(&s, KW_REF, !span_is_absent(v->ref));
    set_add(&s, KW_NULLABLE, (g->types & TYPE_NULL) != 0);
    set_add(&s, KW_ENUM, v->has_enum);
    set_add(&s, KW_ITEMS, g->has_items);
    set_add(&s, KW_PREFIX_ITEMS, g->prefix_count > 0);
    set_add(&s, KW_MINIMUM, true);
    set_add(&s, KW_MAXIMUM, true);
    set_add(&s, KW_MAX_ITEMS, true);
    if (g->types & TYPE_OBJECT) {
        set_add(&s, KW_PROPERTIES, true);
        set_add(&s, KW_REQUIRED, true);
        set_add(&s, KW_ADDITIONAL_PROPERTIES, true);
        set_add(&s, KW_DEPENDENT_REQUIRED, true);
        set_add(&s, KW_DEPENDENT_SCHEMAS, true);
    }
    set_add(&s, KW_ALL_OF, v->residual != NULL);
    set_add(&s, KW_DEFS, g->s.root);
    return s;
}

struct node *build_plain(struct flattener *f, struct view *v, unsigned types, struct site s)
{
    struct building *g = building_take(f);
    g->v = v;
    g->s = s;
    g->types = types;
    g->losses_before = v->losses_before;
    if (!v->typed && v->has_enum && f->p->untyped == UNTYPED_REFUSED) {
        g->types = types_of_values(f, v);
        v->typed = true;
    }
    check_strict(g);
    build_conditional_properties(g);
    build_exclusive(g, KW_EXCLUSIVE_MINIMUM);
    build_exclusive(g, KW_EXCLUSIVE_MAXIMUM);
    if (g->types & TYPE_OBJECT)
        build_object(g);
    if (g->types & TYPE_ARRAY)
        build_array(g);
    for (unsigned i = 0; i < v->order_count; i++)
        put_member(g, place_of((enum keyword)v->order[i]));
    struct keyword_set left = keywords_of(g);
    for (size_t i = 0; i < ARRAY_COUNT(canonical_order); i++)
        if (left.word[canonical_order[i] / 64] & 1ULL << (canonical_order[i] % 64))
            put_member(g, canonical_order[i]);
    struct node *n = build_finish(g);
    building_give(f, g);
    return n;
}
