// SPDX-License-Identifier: Apache-2.0
// The members of a node that are about arrays.
#include "schemas/build.h"

static void shorten(struct building *g, unsigned most)
{
    struct span *have = &g->v->bound[KW_MAX_ITEMS];
    int64_t n;
    if (span_is_absent(*have) || (raw_i64(*have, &n) && n > (int64_t)most))
        *have = number_text(g->f, most);
}

static void lower_prefix(struct building *g)
{
    struct view *v = g->v;
    g->prefix = flattener_alloc(g->f, (v->prefix_count + 1) * sizeof *g->prefix);
    for (unsigned i = 0; i < v->prefix_count; i++) {
        struct node *n = lower(g->f, v->prefix[i], site_below(g->s, false));
        if (n == NULL) { // nothing fits here, so arrays end before
            shorten(g, i);
            return;
        }
        g->prefix[g->prefix_count++] = n;
    }
}

static void tell_tuple(struct building *g)
{
    struct view *v = g->v;
    for (unsigned i = 0; i < v->prefix_count && i < 8; i++)
        hint_parts(g->f, v, flattener_printf(g->f, "item %u", i + 1).data, v->prefix[i]);
    flattener_lose(g->f, LOSS_TUPLE, v->origin, "items by position");
}

// One schema for all items of a tuple: what any of its places takes.
static struct part *union_of_items(struct building *g)
{
    struct view *v = g->v;
    struct alternatives *any = flattener_alloc(g->f, sizeof *any);
    any->branch = flattener_alloc(g->f, (v->prefix_count + 1) * sizeof *any->branch);
    any->made = true;
    int64_t most = INT64_MAX;
    (void)raw_i64(v->bound[KW_MAX_ITEMS], &most);
    for (unsigned i = 0; i < v->prefix_count && (int64_t)i < most; i++)
        any->branch[any->count++] = v->prefix[i];
    bool closed = v->has_items && v->items->next == NULL && v->items->any == NULL &&
                  json_type(g->f->j, v->items->node) == JSON_FALSE;
    if (closed)
        shorten(g, v->prefix_count);
    else if (most > (int64_t)v->prefix_count)
        any->branch[any->count++] = v->items;
    return part_of_alternatives(g->f, any);
}

void build_array(struct building *g)
{
    struct view *v = g->v;
    bool tuple = v->prefix_count > 0;
    struct part *items = v->items;
    g->has_items = v->has_items;
    if (tuple && g->f->p->keeps[KW_PREFIX_ITEMS]) {
        lower_prefix(g);
    } else if (tuple) {
        tell_tuple(g);
        items = union_of_items(g);
        g->has_items = true;
    }
    // An array always says what is in it: most providers refuse one that does not. But then nothing
    // in it is unevaluated, which may matter to a schema that has this one in it.
    bool within = v->residual != NULL || v->union_count > 0 || !span_is_absent(v->ref) ||
                  v->condition != NULL || v->dependent_schemas.count > 0;
    g->keeps_unevaluated = v->has_unevaluated_items && g->f->p->keeps[KW_UNEVALUATED_ITEMS] &&
                           g->f->loss_total == g->losses_before &&
                           !(within && g->f->p->array_needs_items);
    bool beside =
        g->f->counts_items || g->keeps_unevaluated || v->residual != NULL || v->union_count > 0;
    if (!g->has_items && (!v->typed || (beside && !g->f->p->array_needs_items)))
        return;
    g->keeps_unevaluated = g->keeps_unevaluated && g->has_items;
    g->items = lower(g->f, items, site_below(g->s, false));
    g->has_items = true;
    if (g->items == NULL) {
        shorten(g, g->prefix_count);
        g->items = lower(g->f, NULL, site_below(g->s, false));
    }
    if (g->items == NULL) // a strict mode, which has been refused by now
        g->has_items = false;
}

static void put_contains(struct building *g)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    if (!v->has_contains)
        return;
    struct site below = site_below(g->s, false);
    below.exact = below.exact || !span_is_absent(v->bound[KW_MAX_CONTAINS]);
    unsigned before = f->loss_total;
    struct node *n = f->p->keeps[KW_CONTAINS] ? lower(f, v->contains, below) : NULL;
    if (f->p->keeps[KW_CONTAINS] && (!below.exact || f->loss_total == before)) {
        builder_node(&g->b, KW_CONTAINS, n);
        return;
    }
    v->bound[KW_MIN_CONTAINS] = v->bound[KW_MAX_CONTAINS] = SPAN_NONE;
    hint_parts(f, v, "contains", v->contains);
    flattener_lose(f, LOSS_TOLD, v->origin, "contains");
}

static void put_unique(struct building *g)
{
    if (!g->v->unique)
        return;
    if (g->f->p->keeps[KW_UNIQUE_ITEMS]) {
        builder_raw(&g->b, KW_UNIQUE_ITEMS, SPAN_LITERAL("true"));
        return;
    }
    hint_add(g->f, g->v, SPAN_LITERAL("items are unique"));
    flattener_lose(g->f, LOSS_TOLD, g->v->origin, "uniqueItems");
}

static void put_unevaluated(struct building *g)
{
    struct flattener *f = g->f;
    if (!g->v->has_unevaluated_items)
        return;
    // Once items say something of their own, nothing is left unevaluated.
    if (g->keeps_unevaluated) {
        struct node *n = lower(f, g->v->unevaluated_items, site_below(g->s, false));
        builder_node(&g->b, KW_UNEVALUATED_ITEMS, n);
        return;
    }
    flattener_lose(f, LOSS_OPENED, g->v->origin, "unevaluatedItems");
}

bool build_array_member(struct building *g, enum keyword k)
{
    if (keyword_types(k) != TYPE_ARRAY || keyword_shape(k) == SHAPE_COUNT)
        return false;
    if ((g->types & TYPE_ARRAY) == 0)
        return true;
    switch (k) {
    case KW_ITEMS:
        if (g->has_items)
            builder_node(&g->b, KW_ITEMS, g->items);
        return true;
    case KW_PREFIX_ITEMS:
        if (g->prefix_count > 0)
            builder_list(&g->b, KW_PREFIX_ITEMS, g->prefix, g->prefix_count);
        return true;
    case KW_CONTAINS:
        put_contains(g);
        return true;
    case KW_UNIQUE_ITEMS:
        put_unique(g);
        return true;
    case KW_UNEVALUATED_ITEMS:
        put_unevaluated(g);
        return true;
    default:
        return true;
    }
}
