// SPDX-License-Identifier: Apache-2.0
// From the schemas that apply at a place to the one that the provider gets there.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "schemas/build.h"
#include "schemas/gather.h"
#include "schemas/value.h"

enum { LEVELS_MAX = 120 };

bool view_has_demands(const struct view *v)
{
    for (unsigned k = KW_BOUND_FIRST; k < KW_BOUND_END; k++)
        if (!span_is_absent(v->bound[k]))
            return true;
    return v->typed || v->has_enum || v->properties.count > 0 || v->patterns.count > 0 ||
           v->required.count > 0 || v->dependent_required.count > 0 ||
           v->dependent_schemas.count > 0 || v->has_additional || v->names != NULL ||
           v->has_unevaluated_properties || v->has_items || v->has_unevaluated_items ||
           v->has_contains || v->prefix_count > 0 || v->nots != NULL || v->condition != NULL ||
           v->unique || v->text[KW_PATTERN] != JSON_NONE || v->text[KW_FORMAT] != JSON_NONE ||
           v->residual != NULL;
}

bool view_is_open(const struct view *v)
{
    return !view_has_demands(v) && v->union_count == 0;
}

static bool has_children(const struct view *v)
{
    return v->properties.count > 0 || v->has_additional || v->has_items || v->prefix_count > 0 ||
           v->union_count > 0 || v->patterns.count > 0 || v->nots != NULL || v->condition != NULL ||
           v->dependent_schemas.count > 0 || v->has_contains || v->residual != NULL ||
           v->names != NULL || v->has_unevaluated_properties || v->has_unevaluated_items;
}

// Leaves the types and the notes, so that nothing is narrowed.
static void strip_children(struct flattener *f, struct view *v)
{
    static const enum keyword kept[] = {KW_TITLE, KW_DESCRIPTION};
    struct view old = *v;
    view_clear(v);
    v->origin = old.origin;
    v->losses_before = old.losses_before;
    v->typed = old.typed;
    v->null_flag = old.null_flag;
    v->types = old.types;
    v->type_count = old.type_count;
    memcpy(v->type_order, old.type_order, sizeof v->type_order);
    memcpy(v->order, old.order, sizeof v->order);
    v->order_count = old.order_count;
    v->hints = old.hints;
    v->last_hint = old.last_hint;
    memcpy(v->entered, old.entered, sizeof v->entered);
    v->entered_count = old.entered_count;
    for (size_t i = 0; i < ARRAY_COUNT(kept); i++)
        v->text[kept[i]] = old.text[kept[i]];
    flattener_lose(f, LOSS_DEPTH, v->origin, "deeper levels are left away here");
    if (f->p->strict)
        flattener_refuse(f, v->origin, "the schema is nested too deeply");
    hint_add(f, v, SPAN_LITERAL("deeper levels are not shown"));
}

static bool says_nothing(const struct node *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (!gather_is_note((enum keyword)n->members[i].keyword))
            return false;
    return true;
}

struct node *lower_view(struct flattener *f, struct view *v, const struct part *parts,
                        struct site s)
{
    unsigned deepest = f->p->depth > 0 ? f->p->depth : LEVELS_MAX;
    if (v->never)
        return NULL;
    // A few levels are kept for what stands for anything.
    unsigned left = deepest > s.depth ? deepest - s.depth : 0;
    if ((left < 3 || s.level >= LEVELS_MAX) && has_children(v) && !parts_fit(f, parts, left))
        strip_children(f, v);
    if (v->union_count > 0)
        return build_union(f, v, parts, s);
    if (view_is_open(v) && f->p->untyped != UNTYPED_KEPT)
        return build_anything(f, v, s);
    if (f->p->untyped == UNTYPED_UNION)
        return build_split(f, v, s);
    struct node *n = build_plain(f, v, v->types, s);
    if (f->p->untyped == UNTYPED_BARE && n != NULL && says_nothing(n))
        return build_anything(f, v, s); // all that it demanded is told in words by now
    return n;
}

struct view *view_take(struct flattener *f)
{
    struct view *v = f->free_views;
    if (v == NULL)
        return flattener_alloc_raw(f, sizeof *v);
    f->free_views = v->next_free;
    return v;
}

void view_give(struct flattener *f, struct view *v)
{
    v->next_free = f->free_views;
    f->free_views = v;
}

struct node *lower_gathered(struct flattener *f, struct view *v, const struct part *parts,
                            struct site s)
{
    const struct active *outer = f->active;
    if (v->entered_count == 0)
        return lower_view(f, v, parts, s);
    struct active *chain = flattener_alloc(f, v->entered_count * sizeof *chain);
    for (unsigned at = 0; at < v->entered_count; at++) {
        chain[at] = (struct active){f->active, v->entered[at]};
        f->active = &chain[at];
    }
    struct node *n = lower_view(f, v, parts, s);
    f->active = outer;
    return n;
}

static struct node *lower_reference(struct flattener *f, struct span ref, struct site s)
{
    struct builder b;
    b.count = 0;
    builder_raw(&b, KW_REF, ref);
    struct node *n = schema_node_new(f, &b);
    if (!s.add_null)
        return n;
    struct node **list = flattener_alloc(f, 2 * sizeof *list);
    list[0] = n;
    b.count = 0;
    builder_raw(&b, KW_TYPE, SPAN_LITERAL("\"null\""));
    list[1] = schema_node_new(f, &b);
    list[1]->is_null = list[1]->takes_null = true;
    b.count = 0;
    builder_list(&b, KW_ANY_OF, list, 2);
    n = schema_node_new(f, &b);
    n->takes_null = true;
    return n;
}

static struct node *lower_anew(struct flattener *f, const struct part *parts, struct site s)
{
    struct span ref = SPAN_NONE;
    bool bare = false, kept = keep_reference(f, parts, s, &ref, &bare);
    if (kept && bare)
        return lower_reference(f, ref, s);
    struct view *v = view_take(f);
    s.level++;
    gather(f, kept ? parts_flagged(f, parts, PART_NO_REF) : parts, v, false);
    v->ref = ref;
    struct node *n = lower_gathered(f, v, parts, s);
    view_give(f, v);
    return n;
}

// What a reference came to at some place, and what that cost.
struct inlined {
    struct node *node;
    struct site s;
    size_t expansion;
    unsigned losses;
};

static bool is_reusable(const struct flattener *f, const struct inlined *i, struct site s)
{
    return i != NULL && i->expansion <= f->expansion_left && s.level <= i->s.level &&
           s.depth <= i->s.depth;
}

static unsigned cuts(const struct flattener *f)
{
    const unsigned *l = f->result->losses;
    return l[LOSS_RECURSION] + l[LOSS_EXPANSION] + l[LOSS_DEPTH];
}

// A definition that is inlined at many places comes to the same at each, but for the depth there.
static struct node *lower_inlined(struct flattener *f, int target, const struct part *parts,
                                  struct site s)
{
    int id[2] = {target, s.add_null};
    struct span key = span_of(id, sizeof id);
    struct inlined *known = table_get(f->inlined, key);
    if (is_reusable(f, known, s)) {
        f->expansion_left -= known->expansion;
        f->loss_total += known->losses;
        return known->node;
    }
    size_t expansion = f->expansion_left;
    unsigned losses = f->loss_total, cut = cuts(f);
    struct node *n = lower_anew(f, parts, s);
    if (n == NULL || cuts(f) != cut)
        return n;
    struct inlined *new = flattener_alloc(f, sizeof *new);
    *new = (struct inlined){n, s, expansion - f->expansion_left, f->loss_total - losses};
    n->shared = true;
    flattener_keep(&f->inlined, key, new);
    return n;
}

struct node *lower(struct flattener *f, const struct part *parts, struct site s)
{
    bool plain = f->p->refs == REFS_INLINE && !s.root && !s.exact && !s.branch && !s.definition;
    int target = plain ? plain_target(f, parts) : JSON_NONE;
    return target != JSON_NONE ? lower_inlined(f, target, parts, s) : lower_anew(f, parts, s);
}
