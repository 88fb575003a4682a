// SPDX-License-Identifier: Apache-2.0
// anyOf and oneOf, merged into a view: what is no true union becomes what it is.
#include "gateway/lib/base/memory.h"
#include "schemas/merge.h"
#include "schemas/value.h"

void merge_any_of(struct gathering *g, enum keyword k, int value)
{
    if (g->part->flags & PART_NO_UNIONS)
        return;
    size_t count = json_count(g->f->j, value), i = 0;
    if (json_type(g->f->j, value) != JSON_ARRAY || count == 0) {
        merge_repaired(g, value);
        return;
    }
    struct alternatives *any = flattener_alloc(g->f, sizeof *any);
    any->branch = flattener_alloc(g->f, count * sizeof *any->branch);
    any->exclusive = k == KW_ONE_OF;
    JSON_EACH(one, g->f->j, value)
    any->branch[i++] = part_new(g->f, one, 0, NULL);
    any->count = (unsigned)count;
    gather_union(g, any);
}

// The values of a branch that says nothing but them, with at most notes and their type.
static bool only_values(struct flattener *f, const struct part *branch, int *out)
{
    *out = JSON_NONE;
    if (branch == NULL || branch->next != NULL || branch->any != NULL ||
        json_type(f->j, branch->node) != JSON_OBJECT)
        return false;
    JSON_EACH(value, f->j, branch->node)
    {
        enum keyword k = keyword_of(f, value);
        if ((k == KW_CONST || (k == KW_ENUM && json_type(f->j, value) == JSON_ARRAY)) &&
            *out == JSON_NONE)
            *out = value;
        else if (k != KW_TYPE && k != KW_COMMENT && !gather_is_note(k) && k != KW_UNKNOWN)
            return false;
    }
    int type = json_get(f->j, branch->node, "type");
    if (*out == JSON_NONE || json_type(f->j, type) == JSON_ARRAY)
        return false;
    if (merge_read_type(f, type) == 0)
        type = JSON_NONE;
    bool fits = true, list = keyword_of(f, *out) == KW_ENUM;
    for (int v = list ? json_first(f->j, *out) : *out; v != JSON_NONE && fits;
         v = list ? json_next(f->j, v) : JSON_NONE)
        fits = type == JSON_NONE ||
               (types_widened(merge_read_type(f, type)) & value_type(f->j, v)) != 0;
    return fits;
}

static void tell_branch(struct gathering *g, int branch, int value)
{
    struct span text;
    const struct json *j = g->f->j;
    int note = json_get(j, branch, "description");
    if (note == JSON_NONE)
        note = json_get(j, branch, "title");
    if (json_type(j, value) == JSON_ARRAY || value_equal(j, note, value) ||
        !json_string_arena(j, note, g->f->arena, &text))
        return;
    hint_add(g->f, g->v,
             flattener_printf(g->f, "%.*s: %.*s", SPAN_ARGS(json_raw(j, value)), SPAN_ARGS(text)));
}

// A union of nothing but values is an enum.
static bool gather_union_of_values(struct gathering *g, const struct alternatives *any)
{
    struct flattener *f = g->f;
    size_t count = 0, at = 0;
    int value;
    for (unsigned i = 0; i < any->count; i++) {
        if (!only_values(f, any->branch[i], &value))
            return false;
        count += json_type(f->j, value) == JSON_ARRAY ? json_count(f->j, value) : 1;
    }
    if (count == 0)
        return false;
    int *values = flattener_alloc(f, count * sizeof *values);
    struct value_set set = value_set_new(f->j, f->arena, count);
    bool distinct = true;
    for (unsigned i = 0; i < any->count; i++) {
        only_values(f, any->branch[i], &value);
        bool list = keyword_of(f, value) == KW_ENUM;
        for (int v = list ? json_first(f->j, value) : value; v != JSON_NONE;
             v = list ? json_next(f->j, v) : JSON_NONE) {
            if (at < count)
                values[at++] = v;
            distinct = value_set_add(&set, v) && distinct;
        }
    }
    if (any->exclusive && !distinct)
        return false;
    for (unsigned i = 0; i < any->count; i++) {
        only_values(f, any->branch[i], &value);
        tell_branch(g, any->branch[i]->node, value);
    }
    merge_values(g, values, (unsigned)at, false);
    return true;
}

static bool is_false(const struct flattener *f, const struct part *branch)
{
    return branch != NULL && branch->any == NULL && json_type(f->j, branch->node) == JSON_FALSE;
}

void gather_union(struct gathering *g, const struct alternatives *any)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    struct alternatives *left = flattener_alloc(f, sizeof *left);
    *left = *any;
    left->count = 0;
    left->branch = flattener_alloc(f, (any->count + 1) * sizeof *left->branch);
    for (unsigned i = 0; i < any->count; i++)
        if (!is_false(f, any->branch[i]))
            left->branch[left->count++] = any->branch[i];
    if (left->count == 0) {
        v->never = true;
        return;
    }
    if (left->count == 1) {
        for (const struct part *p = left->branch[0]; p != NULL; p = p->next) {
            gather_push(g, p->node, p->flags);
            CONTAINER_OF(g->tail, struct part, next)->any = p->any;
        }
        return;
    }
    bool to_enum = !f->p->keeps[KW_CONST] || f->p->strict || any->made;
    if (to_enum && gather_union_of_values(g, left))
        return;
    if (v->union_count == VIEW_UNIONS_MAX) {
        flattener_lose(f, LOSS_TOLD, v->origin, "too many unions apply at one place");
        return;
    }
    v->unions[v->union_count++] = left;
}
