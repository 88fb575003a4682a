// SPDX-License-Identifier: Apache-2.0
// anyOf and oneOf. Where a provider wants a union to stand alone, what stands beside it is put into
// every branch; nested unions become one; equal branches are one.
#include "gateway/lib/base/memory.h"
#include "schemas/build.h"
#include "schemas/disjoint.h"
#include "schemas/value.h"

enum { PRODUCT_MAX = 64 };

struct node_list {
    struct node **list;
    size_t count, capacity;
};

static void list_add(struct flattener *f, struct node_list *l, struct node *n)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity > 0 ? l->capacity * 2 : 8;
        struct node **bigger = flattener_alloc(f, capacity * sizeof *bigger);
        if (l->count > 0)
            memcpy(bigger, l->list, l->count * sizeof *bigger);
        l->list = bigger;
        l->capacity = capacity;
    }
    l->list[l->count++] = n;
}

// Equal nodes once. Sorted by nothing, so that order stays; quadratic up to a bound, then as it is.
static void list_add_new(struct flattener *f, struct node_list *l, struct node *n)
{
    for (size_t i = 0; i < l->count && i < 256; i++)
        if (l->list[i]->count == n->count && schema_node_hash(l->list[i]) == schema_node_hash(n))
            return;
    list_add(f, l, n);
}

static bool is_plain_union(struct node *n)
{
    return n->count == 1 && n->members[0].keyword == KW_ANY_OF && n->members[0].kind == MEMBER_LIST;
}

static void splice(struct flattener *f, struct node_list *l, struct node *n, bool exclusive)
{
    if (exclusive) {
        list_add(f, l, n);
        return;
    }
    if (!is_plain_union(n)) {
        list_add_new(f, l, n);
        return;
    }
    for (uint32_t i = 0; i < n->members[0].count; i++)
        list_add_new(f, l, n->members[0].as.list[i]);
}

static bool is_null_schema(const struct flattener *f, const struct part *branch)
{
    if (branch == NULL || branch->next != NULL || branch->any != NULL)
        return false;
    int type = json_get(f->j, branch->node, "type");
    return json_string_is(f->j, type, "null") || json_string_is(f->j, type, "NULL");
}

// A keyword that the provider gets as words at most.
static bool is_only_told(const struct flattener *f, enum keyword k)
{
    switch (k) {
    case KW_REF:
    case KW_DYNAMIC_REF:
    case KW_RECURSIVE_REF:
    case KW_ALL_OF:
    case KW_ONE_OF:
    case KW_CONST:
    case KW_PREFIX_ITEMS:
    case KW_ADDITIONAL_ITEMS:
    case KW_NULLABLE:
    case KW_EXCLUSIVE_MINIMUM:
    case KW_EXCLUSIVE_MAXIMUM:
        return false;
    default:
        return k == KW_UNKNOWN ? !f->p->keeps[KW_ALL_OF] : !f->p->keeps[k];
    }
}

static bool only_demands_presence(const struct flattener *f, const struct part *branch)
{
    if (branch == NULL || branch->next != NULL || branch->any != NULL ||
        json_type(f->j, branch->node) != JSON_OBJECT || json_first(f->j, branch->node) == JSON_NONE)
        return false;
    bool some = false;
    JSON_EACH(value, f->j, branch->node)
    {
        enum keyword k = keyword_of(f, value);
        bool presence = k == KW_REQUIRED || k == KW_NOT || k == KW_DEPENDENT_REQUIRED ||
                        k == KW_MIN_PROPERTIES || k == KW_MAX_PROPERTIES;
        some = some || presence;
        if (!presence && k != KW_TITLE && k != KW_DESCRIPTION && !is_only_told(f, k))
            return false;
    }
    return some;
}

// Branches like {"required": ["a"]} are told: "at least one of: a | b".
static bool tell_presence(struct flattener *f, struct view *v, const struct alternatives *any)
{
    struct buffer text;
    for (unsigned i = 0; i < any->count; i++)
        if (!only_demands_presence(f, any->branch[i]))
            return false;
    buffer_init(&text, 600);
    buffer_append_string(&text, any->exclusive ? "exactly one of: " : "at least one of: ");
    for (unsigned i = 0; i < any->count && buffer_size(&text) < 400; i++) {
        int required = json_get(f->j, any->branch[i]->node, "required");
        if (i > 0)
            buffer_append_string(&text, " | ");
        if (json_type(f->j, required) != JSON_ARRAY)
            buffer_append_string(&text, "other conditions");
        JSON_EACH(name, f->j, required)
        {
            struct span raw = json_raw(f->j, name);
            if (raw.size > 2)
                buffer_printf(&text, "%s%.*s", name == json_first(f->j, required) ? "" : " and ",
                              SPAN_ARGS(span_slice(raw, 1, raw.size - 1)));
        }
    }
    hint_add(f, v, arena_copy(f->arena, buffer_span(&text)));
    flattener_lose(f, LOSS_TOLD, v->origin, "alternatives of what must be there");
    buffer_fini(&text);
    return true;
}

static void tell_union(struct flattener *f, struct view *v, const struct alternatives *any)
{
    for (unsigned i = 0; i < any->count && i < 8; i++)
        hint_parts(f, v, any->exclusive ? "exactly one of" : "one of", any->branch[i]);
    flattener_lose(f, LOSS_TOLD, v->origin, "a union");
}

// How a union is lowered at this place.
struct union_job {
    struct flattener *f;
    struct view *v;
    const struct part *parts; // all that applies here
    struct site s;
    const struct alternatives *any;
    bool distribute, flag; // base into each branch; null is a flag
    bool nullable, exclusive;
    unsigned survivor; // the first branch that a value fits
    struct node_list nodes;
};

// At the end of a list: one branch, and the other unions, which apply beside it whole.
static void put_branch(struct union_job *u, unsigned branch, struct part **at)
{
    *at = parts_flagged(u->f, u->any->branch[branch], 0);
    while (*at != NULL)
        at = &(*at)->next;
    for (unsigned k = 0; k < u->v->union_count; k++)
        if (u->v->unions[k] != u->any) {
            *at = part_of_alternatives(u->f, u->v->unions[k]);
            at = &(*at)->next;
        }
}

static struct part *branch_parts(struct union_job *u, unsigned i)
{
    struct flattener *f = u->f;
    if (!u->distribute)
        return u->any->branch[i];
    struct part *all = parts_flagged(f, u->parts, PART_NO_UNIONS | PART_NO_NOTES), **at = &all;
    while (*at != NULL)
        at = &(*at)->next;
    put_branch(u, i, at);
    return all;
}

static void lower_branches(struct union_job *u)
{
    struct site below = site_below(u->s, false);
    below.root = u->s.root && u->s.depth > 0;
    below.branch = true;
    below.exact = u->s.exact || u->exclusive;
    unsigned before = u->f->loss_total;
    for (unsigned i = 0; i < u->any->count; i++) {
        if (u->flag && is_null_schema(u->f, u->any->branch[i])) {
            u->nullable = true;
            continue;
        }
        struct node *n = lower(u->f, branch_parts(u, i), below);
        if (n == NULL)
            continue;
        if (u->nodes.count == 0)
            u->survivor = i;
        u->nullable = u->nullable || (u->flag && n->is_null);
        if (!(u->flag && n->is_null))
            splice(u->f, &u->nodes, n, u->exclusive);
    }
    // Branches that lost something may turn out equal, or empty, once they are written.
    u->f->unsettled = u->f->unsettled || u->distribute || u->f->loss_total != before;
}

// Base and branches multiply; what would be too much is told instead.
static void limit_product(struct union_job *u)
{
    struct view *v = u->v;
    unsigned product = u->any->count;
    size_t base = 0;
    for (const struct part *p = u->parts; p != NULL && u->distribute; p = p->next)
        if (p->any == NULL)
            base += json_raw(u->f->j, p->node).size;
    for (unsigned k = v->union_count; k > 0; k--) {
        const struct alternatives *any = v->unions[k - 1];
        if (any == u->any)
            continue;
        product *= any->count;
        if (u->distribute && product <= PRODUCT_MAX)
            continue;
        product /= any->count;
        tell_union(u->f, v, any);
        memmove(&v->unions[k - 1], &v->unions[k], (v->union_count - k) * sizeof v->unions[0]);
        v->union_count--;
    }
    size_t cost = u->distribute && view_has_demands(v) ? base * product : 0;
    if (cost > u->f->expansion_left) {
        u->distribute = false;
        u->any = NULL;
        return;
    }
    u->f->expansion_left -= cost;
}

static void add_null_branch(struct union_job *u)
{
    for (size_t i = 0; i < u->nodes.count; i++)
        if (u->nodes.list[i]->takes_null)
            return;
    struct builder b;
    b.count = 0;
    builder_raw(&b, KW_TYPE, SPAN_LITERAL("\"null\""));
    struct node *null = schema_node_new(u->f, &b);
    null->is_null = null->takes_null = true;
    list_add(u->f, &u->nodes, null);
}

static void make_nullable(struct flattener *f, struct node *n)
{
    if (schema_node_member(n, KW_NULLABLE) != NULL)
        return;
    struct builder b;
    b.count = n->count;
    memcpy(b.member, n->members, n->count * sizeof *n->members);
    builder_raw(&b, KW_NULLABLE, SPAN_LITERAL("true"));
    *n = *schema_node_new(f, &b);
    n->takes_null = true;
}

static bool accepts_null(const struct node_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i]->takes_null)
            return true;
    return false;
}

// One branch left: it is the node, with the notes of the place on it.
static struct node *collapse(struct union_job *u)
{
    struct node *n = node_own(u->f, u->nodes.list[0]);
    if (u->nullable)
        make_nullable(u->f, n);
    return with_notes(u->f, u->v, n, u->s);
}

static struct node *assemble(struct union_job *u)
{
    struct flattener *f = u->f;
    struct builder b;
    b.count = 0;
    if (u->nullable && f->p->union_bare)
        for (size_t i = 0; i < u->nodes.count; i++) {
            u->nodes.list[i] = node_own(f, u->nodes.list[i]);
            make_nullable(f, u->nodes.list[i]);
        }
    enum keyword k = u->exclusive ? KW_ONE_OF : KW_ANY_OF;
    builder_list(&b, k, u->nodes.list, u->nodes.count);
    if (u->nullable && !f->p->union_bare)
        builder_raw(&b, KW_NULLABLE, SPAN_LITERAL("true"));
    struct node *n = schema_node_new(f, &b);
    n->takes_null = u->nullable || accepts_null(&u->nodes);
    return with_notes(f, u->v, n, u->s);
}

static struct node *lower_alone(struct union_job *u)
{
    struct flattener *f = u->f;
    struct view *v = u->v;
    u->distribute = view_has_demands(v) || v->union_count > 1;
    if (u->any->exclusive) {
        if (!alternatives_are_disjoint(f, u->any))
            flattener_lose(f, LOSS_ONE_OF, v->origin, "branches overlap");
    }
    limit_product(u);
    if (u->any == NULL) {
        tell_union(f, v, v->unions[0]);
        v->union_count = 0;
        return lower_view(f, v, u->parts, u->s);
    }
    lower_branches(u);
    bool null_flag = v->null_flag && !v->typed;
    if (u->flag)
        u->nullable = u->nullable || null_flag;
    else if ((null_flag || u->s.add_null) && u->nodes.count > 0)
        add_null_branch(u);
    if (u->nodes.count == 0 && u->nullable) {
        struct view *null = flattener_alloc_raw(f, sizeof *null);
        gather(f, NULL, null, false);
        null->typed = true;
        null->types = TYPE_NULL;
        u->nullable = false;
        list_add(f, &u->nodes, build_split(f, null, u->s));
    }
    if (u->nodes.count == 0)
        return NULL;
    return u->nodes.count == 1 ? collapse(u) : assemble(u);
}

// The union beside everything else that the place demands.
static struct node *lower_beside(struct union_job *u, struct node *base)
{
    struct flattener *f = u->f;
    struct view *v = u->v;
    if (v->null_flag && !v->typed && u->any == v->unions[0] && !u->exclusive)
        add_null_branch(u);
    struct builder *b = flattener_alloc(f, sizeof *b);
    memcpy(b->member, base->members, base->count * sizeof *base->members);
    b->count = base->count;
    builder_list(b, u->exclusive ? KW_ONE_OF : KW_ANY_OF, u->nodes.list, u->nodes.count);
    struct node *n = schema_node_new(f, b);
    n->takes_null = base->takes_null;
    return n;
}

static struct node *union_of_list(struct union_job *u)
{
    if (u->nodes.count == 1 && !u->exclusive)
        return u->nodes.list[0];
    struct builder b;
    b.count = 0;
    builder_list(&b, u->exclusive ? KW_ONE_OF : KW_ANY_OF, u->nodes.list, u->nodes.count);
    return schema_node_new(u->f, &b);
}

// Branches as they are; oneOf stays where its branches may overlap and the provider knows it.
static bool lower_as_is(struct union_job *u)
{
    struct flattener *f = u->f;
    u->exclusive =
        u->any->exclusive && f->p->keeps[KW_ONE_OF] && !alternatives_are_disjoint(f, u->any);
    bool overlaps = u->any->exclusive && !u->exclusive && !f->p->keeps[KW_ONE_OF] &&
                    !alternatives_are_disjoint(f, u->any);
    unsigned before = f->loss_total;
    f->unsettled = f->unsettled || u->exclusive || overlaps;
    lower_branches(u);
    if (u->exclusive && f->loss_total != before) {
        // A branch that became wider would overlap where it did not.
        struct node_list old = u->nodes;
        u->nodes = (struct node_list){.count = 0};
        u->exclusive = false;
        overlaps = true;
        for (size_t i = 0; i < old.count; i++)
            splice(f, &u->nodes, old.list[i], false);
    }
    if (overlaps)
        flattener_lose(f, LOSS_ONE_OF, u->v->origin, "branches overlap");
    return u->nodes.count > 0;
}

static void add_all_of(struct flattener *f, struct node *n, struct node **list, size_t count)
{
    struct member *m = schema_node_member(n, KW_ALL_OF);
    if (m != NULL) {
        struct node **all = flattener_alloc(f, (m->count + count) * sizeof *all);
        memcpy(all, m->as.list, m->count * sizeof *all);
        memcpy(all + m->count, list, count * sizeof *all);
        m->as.list = all;
        m->count += (uint32_t)count;
        n->hashed = false;
        return;
    }
    struct builder *b = flattener_alloc(f, sizeof *b);
    memcpy(b->member, n->members, n->count * sizeof *n->members);
    b->count = n->count;
    builder_list(b, KW_ALL_OF, list, count);
    bool null = n->takes_null;
    *n = *schema_node_new(f, b);
    n->takes_null = null;
}

// One branch is left, so it applies like everything else that stands there.
static struct node *lower_survivor(struct union_job *u)
{
    struct flattener *f = u->f;
    f->unsettled = true;
    struct part *all = parts_flagged(f, u->parts, PART_NO_UNIONS), **at = &all;
    while (*at != NULL) {
        (*at)->flags |= span_is_absent(u->v->ref) ? 0 : PART_NO_REF;
        at = &(*at)->next;
    }
    put_branch(u, u->survivor, at);
    struct view *v = view_take(f);
    gather(f, all, v, false);
    v->ref = u->v->ref;
    u->s.level++;
    struct node *n = lower_gathered(f, v, all, u->s);
    view_give(f, v);
    return n;
}

static struct node *lower_with_siblings(struct flattener *f, struct view *v,
                                        const struct part *parts, struct site s)
{
    unsigned count = v->union_count;
    struct union_job *first = NULL;
    struct node **others = flattener_alloc(f, (count + 1) * sizeof *others);
    size_t other_count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct union_job *u = flattener_alloc(f, sizeof *u);
        *u = (struct union_job){.f = f, .v = v, .parts = parts, .s = s, .any = v->unions[i]};
        if (i > 0 && !f->p->keeps[KW_ALL_OF]) {
            tell_union(f, v, u->any);
            continue;
        }
        if (!lower_as_is(u))
            return NULL;
        if (u->nodes.count == 1 && s.level < 100)
            return lower_survivor(u);
        if (i == 0)
            first = u;
        else
            others[other_count++] = union_of_list(u);
    }
    struct node *base = build_plain(f, v, v->types, s);
    if (base == NULL)
        return NULL;
    struct node *n;
    if (first->nodes.count == 1 && !first->exclusive && base->count == 0)
        n = node_own(f, first->nodes.list[0]);
    else
        n = lower_beside(first, base);
    if (other_count > 0)
        add_all_of(f, n, others, other_count);
    return n;
}

struct node *build_union(struct flattener *f, struct view *v, const struct part *parts,
                         struct site s)
{
    f->unsettled = f->unsettled || f->loss_total > 0;
    if (!f->p->union_alone)
        return lower_with_siblings(f, v, parts, s);
    for (unsigned i = 0; i < v->union_count;) {
        if (!tell_presence(f, v, v->unions[i])) {
            i++;
            continue;
        }
        memmove(&v->unions[i], &v->unions[i + 1], (v->union_count - i - 1) * sizeof v->unions[0]);
        v->union_count--;
    }
    if (v->union_count == 0)
        return lower_view(f, v, parts, s);
    struct union_job *u = flattener_alloc(f, sizeof *u);
    *u = (struct union_job){.f = f,
                            .v = v,
                            .parts = parts,
                            .s = s,
                            .any = v->unions[0],
                            .flag = f->p->null_style == NULL_FLAG};
    return lower_alone(u);
}
