// SPDX-License-Identifier: Apache-2.0
// Merges all schemas that apply at one place into a view. The rule for each keyword is exact: the
// view accepts what all of them accept. What cannot be merged exactly is set aside (`residual`)
// where the provider takes allOf, else told in a hint.
#include "schemas/gather.h"
#include "gateway/lib/base/memory.h"
#include "schemas/flattener.h"
#include "schemas/value.h"

enum { EXPANSION_UNIT = 64 };

static bool visit(struct gathering *g, int node)
{
    for (unsigned i = 0; i < g->visited_count; i++)
        if (g->visited[i] == node)
            return false;
    if (g->visited_count == GATHER_PARTS_MAX) {
        flattener_lose(g->f, LOSS_EXPANSION, node, "too many schemas apply at one place");
        return false;
    }
    g->visited[g->visited_count++] = node;
    return true;
}

void gather_push(struct gathering *g, int node, unsigned flags)
{
    struct part *p = part_new(g->f, node, flags, NULL);
    *g->tail = p;
    g->tail = &p->next;
}

static void note_order(struct view *v, enum keyword k)
{
    uint64_t bit = 1ULL << (k % 64);
    if (k >= KW_COUNT || (v->seen[k / 64] & bit) != 0)
        return;
    v->seen[k / 64] |= bit;
    if (v->order_count < VIEW_ORDER_MAX)
        v->order[v->order_count++] = (unsigned char)k;
}

static unsigned active_count(const struct flattener *f, int target)
{
    unsigned count = 0;
    for (const struct active *a = f->active; a != NULL; a = a->outer)
        count += a->target == target;
    return count;
}

static struct span name_of_target(struct flattener *f, int target)
{
    struct span key = json_key_raw(f->j, target);
    return span_is_absent(key) ? SPAN_LITERAL("the whole") : span_slice(key, 0, 60);
}

// The types of a schema whose content is cut away.
static void cut_to_types(struct gathering *g, int target)
{
    g->v->cut = true;
    if (json_type(g->f->j, target) != JSON_OBJECT)
        return;
    int type = json_get(g->f->j, target, "type");
    int nullable = json_get(g->f->j, target, "nullable");
    if (type != JSON_NONE)
        gather_keyword(g, KW_TYPE, type);
    if (json_type(g->f->j, nullable) == JSON_TRUE)
        g->v->null_flag = true;
}

static void follow(struct gathering *g, int target)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    size_t cost = json_raw(f->j, target).size + EXPANSION_UNIT;
    struct span name = name_of_target(f, target);
    unsigned depth = f->options->recursion_depth;
    for (unsigned i = 0; i < g->visited_count; i++)
        if (g->visited[i] == target)
            return; // A and A is A; and references in a circle demand nothing
    if (active_count(f, target) >= depth) {
        if (f->p->recursion == RECURSION_REFUSE)
            flattener_refuse(f, target, "the schema refers back to itself");
        flattener_lose(f, LOSS_RECURSION, target, "unrolled and closed here");
        hint_add(f, v, flattener_printf(f, "%.*s continues here in the same way", SPAN_ARGS(name)));
        cut_to_types(g, target);
        return;
    }
    if (cost > f->expansion_left || v->entered_count == ARRAY_COUNT(v->entered)) {
        flattener_lose(f, LOSS_EXPANSION, target, "not expanded further");
        hint_add(f, v, flattener_printf(f, "a %.*s follows here", SPAN_ARGS(name)));
        cut_to_types(g, target);
        return;
    }
    f->expansion_left -= cost;
    v->entered[v->entered_count++] = target;
    gather_push(g, target, g->part->flags & (PART_NO_UNIONS | PART_SOFT | PART_NO_NOTES));
}

void gather_reference(struct gathering *g, enum keyword k, int value)
{
    static const enum loss rows[] = {[RESOLVED_DANGLING] = LOSS_DANGLING,
                                     [RESOLVED_REMOTE] = LOSS_REMOTE,
                                     [RESOLVED_DYNAMIC] = LOSS_DYNAMIC};
    int target;
    struct flattener *f = g->f;
    if (json_type(f->j, value) != JSON_STRING) {
        flattener_lose(f, LOSS_REPAIRED, value, "a reference that is not a string");
        return;
    }
    enum resolution how = document_resolve(f->d, g->part->node, k, value, &target);
    if (how == RESOLVED) {
        follow(g, target);
        return;
    }
    flattener_lose(f, rows[how], value, "any value is taken here");
    hint_value(f, g->v, "see", value);
}

// Can this part not be merged with what is there, without loss?
static bool is_awkward(struct gathering *g, int node)
{
    struct view *v = g->v;
    const struct json *j = g->f->j;
    if (v->parts_seen == 0)
        return false;
    bool patterns = false, additional = false, awkward = false;
    JSON_EACH(value, j, node)
    {
        switch (keyword_of(g->f, value)) {
        case KW_UNEVALUATED_ITEMS:
        case KW_UNEVALUATED_PROPERTIES:
            awkward = true;
            break;
        case KW_PATTERN_PROPERTIES:
            patterns = json_first(j, value) != JSON_NONE;
            break;
        case KW_ADDITIONAL_PROPERTIES:
            additional = json_type(j, value) != JSON_TRUE;
            break;
        case KW_CONTAINS:
            awkward = awkward || v->has_contains;
            break;
        case KW_IF:
            awkward = awkward || v->condition != NULL;
            break;
        case KW_PATTERN:
            awkward = awkward || (v->text[KW_PATTERN] != JSON_NONE &&
                                  !value_equal(j, v->text[KW_PATTERN], value));
            break;
        case KW_FORMAT:
            awkward = awkward || (v->text[KW_FORMAT] != JSON_NONE &&
                                  !value_equal(j, v->text[KW_FORMAT], value));
            break;
        case KW_MULTIPLE_OF:
            awkward = awkward || (!span_is_absent(v->bound[KW_MULTIPLE_OF]) &&
                                  !span_equals(v->bound[KW_MULTIPLE_OF], json_raw(j, value)));
            break;
        default:
            break;
        }
    }
    bool has_patterns = v->patterns.count > 0, has_additional = v->has_additional;
    return awkward || (patterns && has_additional) || (additional && has_patterns) ||
           (patterns && additional);
}

// Also tells whether the schema demands anything itself, beside its reference and its notes.
static bool find_last(struct flattener *f, int node, int last[KW_COUNT])
{
    bool demands = false;
    JSON_EACH(value, f->j, node)
    {
        enum keyword k = keyword_of(f, value);
        if (k == KW_UNKNOWN)
            continue;
        last[k] = value;
        demands = demands || (k > KW_DEFINITIONS && !gather_is_note(k) && k != KW_ALL_OF);
    }
    return demands;
}

static void gather_object(struct gathering *g)
{
    struct flattener *f = g->f;
    int node = g->part->node;
    if (is_awkward(g, node)) {
        if (f->p->keeps[KW_ALL_OF] && !g->root) {
            g->v->residual = part_new(f, node, g->part->flags & PART_NO_UNIONS, g->v->residual);
            return;
        }
        g->part->flags |= PART_SOFT;
    }
    int last[KW_COUNT]; // of duplicate keys the last one counts
    last[KW_REF] = JSON_NONE;
    g->v->parts_seen += find_last(f, node, last);
    bool only_notes = last[KW_REF] != JSON_NONE && document_dialect(f->d, node) <= DIALECT_7;
    gather_begin(g);
    JSON_EACH(value, f->j, node)
    {
        enum keyword k = keyword_of(f, value);
        if (f->work_left > 0)
            f->work_left--;
        if (only_notes && k != KW_REF && !gather_is_note(k))
            continue;
        note_order(g->v, k);
        if (k == KW_UNKNOWN || last[k] == value)
            gather_keyword(g, k, value);
    }
    gather_end(g);
}

static void gather_part(struct gathering *g)
{
    struct flattener *f = g->f;
    int node = g->part->node;
    if (g->part->any != NULL) {
        if (!(g->part->flags & PART_NO_UNIONS))
            gather_union(g, g->part->any);
        return;
    }
    if (!visit(g, node))
        return;
    switch (json_type(f->j, node)) {
    case JSON_TRUE:
        return;
    case JSON_FALSE:
        g->v->never = true;
        return;
    case JSON_OBJECT:
        gather_object(g);
        return;
    case JSON_STRING: // "directory": "string"
        flattener_lose(f, LOSS_REPAIRED, node, "a type's name where its schema belongs");
        gather_keyword(g, KW_TYPE, node);
        return;
    default:
        flattener_lose(f, LOSS_REPAIRED, node, "not a schema");
    }
}

void view_clear(struct view *v)
{
    memset(v, 0, offsetof(struct view, ordering));
    v->ordering = JSON_NONE;
    memset(v->text, 0xff, sizeof v->text); // JSON_NONE
    memset(&v->bound[KW_BOUND_FIRST], 0, sizeof v->bound - KW_BOUND_FIRST * sizeof v->bound[0]);
}

void gather(struct flattener *f, const struct part *parts, struct view *v, bool root)
{
    view_clear(v);
    v->losses_before = f->loss_total;
    v->types = TYPE_ANY;
    v->origin = parts != NULL ? parts->node : JSON_NONE;
    struct gathering g; // only what is counted is read, so it is not cleared as a whole
    g.f = f;
    g.v = v;
    g.root = root;
    g.queue = NULL;
    g.visited_count = 0;
    g.tail = &g.queue;
    for (const struct part *p = parts; p != NULL; p = p->next) {
        gather_push(&g, p->node, p->flags);
        CONTAINER_OF(g.tail, struct part, next)->any = p->any;
    }
    for (g.part = g.queue; g.part != NULL && !v->never; g.part = g.part->next) {
        if (f->work_left == 0) {
            flattener_lose(f, LOSS_EXPANSION, g.part->node, "the work limit is reached");
            v->cut = true;
            break;
        }
        gather_part(&g);
    }
    if (!v->never)
        gather_settle(&g);
}
