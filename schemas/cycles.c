// SPDX-License-Identifier: Apache-2.0
#include "schemas/cycles.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"

// Edges lead from a schema to those below it and to where its reference leads. They are listed once
// a schema, when it is entered, and walked by index.
struct vertex {
    int node;
    uint32_t order, low; // 1 + the order of entry; the least one reached
    uint32_t first_edge, edge_count;
    bool open, cyclic, self;
};

struct cycles {
    struct vertex *vertex; // owned
    size_t count, capacity;
    uint32_t *of_node; // owned: by token, 1 + its vertex
    size_t node_count;
    int *edge; // owned
    size_t edge_count, edge_capacity;
    struct document *d; // borrowed, while searching
};

static void add_edge(void *arg, int child, enum keyword k)
{
    (void)k;
    struct cycles *c = arg;
    if (c->edge_count == c->edge_capacity) {
        c->edge_capacity = c->edge_capacity > 0 ? c->edge_capacity * 2 : 256;
        c->edge = memory_resize(c->edge, c->edge_capacity, sizeof *c->edge);
    }
    c->edge[c->edge_count++] = child;
}

static uint32_t enter(struct cycles *c, int node)
{
    const struct json *j = document_json(c->d);
    if (c->count == c->capacity) {
        c->capacity = c->capacity > 0 ? c->capacity * 2 : 256;
        c->vertex = memory_resize(c->vertex, c->capacity, sizeof *c->vertex);
    }
    struct vertex v = {.node = node, .first_edge = (uint32_t)c->edge_count, .open = true};
    document_each_child(c->d, node, add_edge, c);
    for (int value = json_type(j, node) == JSON_OBJECT ? json_first(j, node) : JSON_NONE, target;
         value != JSON_NONE; value = json_next(j, value)) {
        enum keyword k = (enum keyword)document_keywords(c->d)[value];
        if (k <= KW_RECURSIVE_REF && document_resolve(c->d, node, k, value, &target) == RESOLVED)
            add_edge(c, target, k);
    }
    v.edge_count = (uint32_t)c->edge_count - v.first_edge;
    v.order = v.low = (uint32_t)c->count + 1;
    c->vertex[c->count++] = v;
    c->of_node[node] = (uint32_t)c->count;
    return (uint32_t)c->count - 1;
}

struct search {
    uint32_t *path, *stack; // owned: vertices being walked, and those whose component is open
    uint32_t *next;         // owned: by vertex on the path, the edge to take
    size_t path_count, stack_count;
};

static void close_component(struct cycles *c, struct search *s, uint32_t at)
{
    bool alone = s->stack[s->stack_count - 1] == at;
    uint32_t v;
    do {
        v = s->stack[--s->stack_count];
        c->vertex[v].open = false;
        c->vertex[v].cyclic = !alone || c->vertex[v].self;
    } while (v != at);
}

static void descend(struct cycles *c, struct search *s, int node)
{
    uint32_t v = enter(c, node);
    s->next[s->path_count] = 0;
    s->path[s->path_count++] = v;
    s->stack[s->stack_count++] = v;
}

static void follow(struct cycles *c, struct search *s, uint32_t at, int node)
{
    uint32_t known = c->of_node[node];
    if (known == 0) {
        descend(c, s, node);
        return;
    }
    struct vertex *to = &c->vertex[known - 1], *from = &c->vertex[at];
    from->self = from->self || known - 1 == at;
    if (to->open && to->order < from->low)
        from->low = to->order;
}

static void leave(struct cycles *c, struct search *s)
{
    uint32_t at = s->path[--s->path_count];
    if (c->vertex[at].low == c->vertex[at].order)
        close_component(c, s, at);
    if (s->path_count > 0) {
        struct vertex *parent = &c->vertex[s->path[s->path_count - 1]];
        if (c->vertex[at].low < parent->low)
            parent->low = c->vertex[at].low;
    }
}

struct cycles *cycles_find(struct document *d)
{
    struct cycles *c = memory_new(sizeof *c);
    c->node_count = json_size(document_json(d));
    c->of_node = memory_new_array(c->node_count, sizeof *c->of_node);
    c->d = d;
    struct search s = {.path = memory_new_array(c->node_count, sizeof(uint32_t)),
                       .stack = memory_new_array(c->node_count, sizeof(uint32_t)),
                       .next = memory_new_array(c->node_count, sizeof(uint32_t))};
    descend(c, &s, JSON_ROOT);
    while (s.path_count > 0) {
        uint32_t at = s.path[s.path_count - 1];
        if (s.next[s.path_count - 1] == c->vertex[at].edge_count)
            leave(c, &s);
        else
            follow(c, &s, at, c->edge[c->vertex[at].first_edge + s.next[s.path_count - 1]++]);
    }
    free(s.path);
    free(s.stack);
    free(s.next);
    return c;
}

void cycles_free(struct cycles *c)
{
    if (c == NULL)
        return;
    free(c->vertex);
    free(c->of_node);
    free(c->edge);
    free(c);
}

bool cycles_has(const struct cycles *c, int node)
{
    uint32_t v = (size_t)node < c->node_count ? c->of_node[node] : 0;
    return v != 0 && c->vertex[v - 1].cyclic;
}
