// SPDX-License-Identifier: Apache-2.0
// Nodes being built: what the files that build them share.
#include "schemas/build.h"

#include "schemas/value.h"

struct building *building_take(struct flattener *f)
{
    struct building *g = f->free_buildings;
    if (g != NULL)
        f->free_buildings = g->next_free;
    else
        g = flattener_alloc_raw(f, sizeof *g);
    size_t from = offsetof(struct building, done);
    memset((char *)g + from, 0, sizeof *g - from);
    g->f = f;
    g->b.count = 0;
    g->losses_before = f->loss_total;
    return g;
}

void building_give(struct flattener *f, struct building *g)
{
    g->next_free = f->free_buildings;
    f->free_buildings = g;
}

struct site site_below(struct site s, bool deeper)
{
    return (struct site){
        .depth = s.depth + deeper, .exact = s.exact, .below_map = s.below_map, .level = s.level};
}

struct node *schema_node_new(struct flattener *f, const struct builder *b)
{
    struct node *n = flattener_alloc_raw(f, sizeof *n + b->count * sizeof *n->members);
    *n = (struct node){.members = (struct member *)(n + 1), .count = b->count};
    memcpy(n->members, b->member, b->count * sizeof *n->members);
    return n;
}

// A copy whose members, and the branches of a union among them, may be changed.
struct node *node_own(struct flattener *f, const struct node *n)
{
    struct node *own = flattener_alloc(f, sizeof *own);
    *own = *n;
    own->shared = own->hashed = false;
    own->written_size = 0;
    own->members = flattener_alloc(f, n->count * sizeof *n->members + 1);
    memcpy(own->members, n->members, n->count * sizeof *n->members);
    for (uint32_t i = 0; i < own->count; i++) {
        struct member *m = &own->members[i];
        if (m->kind != MEMBER_LIST)
            continue;
        struct node **list = flattener_alloc(f, m->count * sizeof *list + 1);
        memcpy(list, m->as.list, m->count * sizeof *list);
        m->as.list = list;
    }
    return own;
}

struct span compact(struct flattener *f, int node)
{
    enum json_type type = json_type(f->j, node);
    if (node == JSON_NONE)
        return SPAN_LITERAL("null");
    if (type != JSON_ARRAY && type != JSON_OBJECT)
        return json_raw(f->j, node);
    struct buffer text;
    buffer_init(&text, json_raw(f->j, node).size);
    value_write(f->j, node, &text);
    struct span copy = arena_copy(f->arena, buffer_span(&text));
    buffer_fini(&text);
    return span_is_absent(copy) ? SPAN_LITERAL("null") : copy;
}
