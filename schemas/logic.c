// SPDX-License-Identifier: Apache-2.0
// not, if, allOf: only for providers that take them, and only where nothing inside was lost, since
// what is wider inside is narrower outside.
#include "schemas/build.h"

static struct site in_place(const struct building *g, bool exact)
{
    struct site s = site_below(g->s, false);
    s.root = g->s.root;
    if (s.root)
        s.depth = s.depth > 0 ? s.depth : 1;
    s.exact = s.exact || exact;
    return s;
}

// Lowers exactly, or tells it and returns false.
static bool lower_exactly(struct building *g, const struct part *parts, enum keyword k,
                          struct node **out)
{
    struct flattener *f = g->f;
    unsigned before = f->loss_total;
    if (f->p->keeps[k]) {
        *out = lower(f, parts, in_place(g, true));
        if (f->loss_total == before)
            return true;
    }
    return false;
}

static void put_not(struct building *g)
{
    struct view *v = g->v;
    struct flattener *f = g->f;
    struct node *list[8], *n;
    size_t count = 0;
    for (const struct part *p = v->nots; p != NULL; p = p->next) {
        struct part *one = part_new(f, p->node, p->flags, NULL);
        if (count == 8 || !lower_exactly(g, one, KW_NOT, &n)) {
            hint_parts(f, v, "not", one);
            flattener_lose(f, LOSS_TOLD, v->origin, "not");
        } else if (n != NULL && n->count == 0) {
            g->never = true;
        } else if (n != NULL) {
            list[count++] = n;
        }
    }
    if (count == 1)
        builder_node(&g->b, KW_NOT, list[0]);
    if (count < 2)
        return;
    struct builder b;
    b.count = 0;
    struct node **copy = flattener_alloc(f, count * sizeof *copy);
    memcpy(copy, list, count * sizeof *copy);
    builder_list(&b, KW_ANY_OF, copy, count);
    builder_node(&g->b, KW_NOT, schema_node_new(f, &b));
}

static void tell_condition(struct building *g, const struct condition *c)
{
    hint_parts(g->f, g->v, "if", c->if_);
    if (c->then != NULL)
        hint_parts(g->f, g->v, "then", c->then);
    if (c->else_ != NULL)
        hint_parts(g->f, g->v, "else", c->else_);
    flattener_lose(g->f, LOSS_TOLD, g->v->origin, "if, then, else");
}

static void put_condition(struct building *g)
{
    struct condition *c = g->v->condition;
    struct node *test;
    if (c == NULL)
        return;
    if (!lower_exactly(g, c->if_, KW_IF, &test)) {
        tell_condition(g, c);
    } else {
        builder_node(&g->b, KW_IF, test);
        if (c->then != NULL)
            builder_node(&g->b, KW_THEN, lower(g->f, c->then, in_place(g, false)));
        if (c->else_ != NULL)
            builder_node(&g->b, KW_ELSE, lower(g->f, c->else_, in_place(g, false)));
    }
    for (c = c->next; c != NULL; c = c->next)
        tell_condition(g, c);
}

static void put_residual(struct building *g)
{
    size_t count = 0;
    for (const struct part *p = g->v->residual; p != NULL; p = p->next)
        count++;
    if (count == 0)
        return;
    g->f->unsettled = true;
    struct node **list = flattener_alloc(g->f, count * sizeof *list);
    size_t at = count; // it was gathered in reverse
    for (struct part *p = g->v->residual; p != NULL; p = p->next) {
        struct part *one = part_new(g->f, p->node, p->flags, NULL);
        list[--at] = lower(g->f, one, in_place(g, false));
        if (list[at] == NULL)
            g->never = true;
    }
    builder_list(&g->b, KW_ALL_OF, list, count);
}

bool build_logic_member(struct building *g, enum keyword k)
{
    switch (k) {
    case KW_NOT:
        put_not(g);
        return true;
    case KW_IF:
        put_condition(g);
        return true;
    case KW_THEN:
    case KW_ELSE:
        return true;
    case KW_ALL_OF:
        put_residual(g);
        return true;
    default:
        return false;
    }
}
