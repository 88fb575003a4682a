// SPDX-License-Identifier: Apache-2.0
// Lists of schemas that apply together.
#include "schemas/flattener.h"

struct part *part_new(struct flattener *f, int node, unsigned flags, struct part *next)
{
    struct part *p = flattener_alloc_raw(f, sizeof *p);
    *p = (struct part){.next = next, .node = node, .flags = flags};
    return p;
}

// A copy of a list with flags put on each part.
struct part *parts_flagged(struct flattener *f, const struct part *parts, unsigned flags)
{
    struct part *first = NULL, **at = &first;
    for (; parts != NULL; parts = parts->next) {
        *at = part_new(f, parts->node, parts->flags | flags, NULL);
        (*at)->any = parts->any;
        at = &(*at)->next;
    }
    return first;
}

struct part *part_of_alternatives(struct flattener *f, const struct alternatives *any)
{
    struct part *p = part_new(f, JSON_NONE, 0, NULL);
    p->any = any;
    return p;
}

void parts_append(struct part **list, struct part *more)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = more;
}

// What is sure to be open without gathering it: true, {}, and nothing.
bool parts_demand(const struct flattener *f, const struct part *parts)
{
    for (; parts != NULL; parts = parts->next) {
        if (parts->any != NULL)
            return true;
        if (json_type(f->j, parts->node) == JSON_TRUE)
            continue;
        if (json_type(f->j, parts->node) != JSON_OBJECT ||
            json_first(f->j, parts->node) != JSON_NONE)
            return true;
    }
    return false;
}

bool parts_refuse_all(const struct flattener *f, const struct part *parts)
{
    for (; parts != NULL; parts = parts->next)
        if (parts->any == NULL && json_type(f->j, parts->node) == JSON_FALSE)
            return true;
    return false;
}
