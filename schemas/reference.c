// SPDX-License-Identifier: Apache-2.0
// References that stay: each definition once, under a plain name in $defs of the root.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "schemas/build.h"
#include "schemas/gather.h"

enum { NAME_MAX = 64, ALIAS_MAX = 32 };

static bool counts_beside(const struct flattener *f, enum keyword k, bool only_notes)
{
    switch (k) {
    case KW_REF:
    case KW_DYNAMIC_REF:
    case KW_RECURSIVE_REF:
    case KW_SCHEMA:
    case KW_ID:
    case KW_OLD_ID:
    case KW_ANCHOR:
    case KW_DYNAMIC_ANCHOR:
    case KW_RECURSIVE_ANCHOR:
    case KW_COMMENT:
    case KW_DEFS:
    case KW_DEFINITIONS:
    case KW_DISCRIMINATOR:
        return false;
    case KW_UNKNOWN:
        return f->p->keeps[KW_ALL_OF];
    default:
        if (gather_is_note(k))
            return f->p->keeps[k] || (k != KW_TITLE);
        return !only_notes;
    }
}

// The one reference in a schema; JSON_NONE where there is none, or more than one.
static int find_reference(const struct flattener *f, int node, enum keyword *k, bool *bare)
{
    int found = JSON_NONE;
    unsigned count = 0, beside = 0, notes_beside = 0;
    if (json_type(f->j, node) != JSON_OBJECT)
        return JSON_NONE;
    JSON_EACH(value, f->j, node)
    {
        enum keyword other = keyword_of(f, value);
        if (other > KW_RECURSIVE_REF) {
            beside += counts_beside(f, other, false);
            notes_beside += counts_beside(f, other, true);
        } else if (found == JSON_NONE || *k != other) {
            count++;
            *k = other;
            found = value;
        } else {
            found = value;
        }
    }
    if (count != 1)
        return JSON_NONE;
    bool only_notes = *k == KW_REF && document_dialect(f->d, node) <= DIALECT_7;
    *bare = (only_notes ? notes_beside : beside) == 0;
    return found;
}

// Through references that are nothing but references. JSON_NONE where they go in a circle.
static int final_target(struct flattener *f, int target)
{
    for (int hops = 0; hops < ALIAS_MAX; hops++) {
        enum keyword k;
        bool bare;
        int value = find_reference(f, target, &k, &bare), next;
        if (value == JSON_NONE || !bare)
            return target;
        if (document_resolve(f->d, target, k, value, &next) != RESOLVED)
            return target;
        target = next;
    }
    return JSON_NONE;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

static struct span name_for(struct flattener *f, int target)
{
    struct span key = target == JSON_ROOT ? SPAN_LITERAL("root") : json_key_raw(f->j, target);
    char name[NAME_MAX + 16];
    size_t size = 0;
    for (size_t i = 0; i < key.size && size < NAME_MAX; i++)
        name[size++] = is_plain(key.data[i]) ? key.data[i] : '_';
    if (size == 0)
        memcpy(name, "schema", size = 6);
    struct span plain = arena_copy(f->arena, span_of(name, size));
    struct span unique = plain;
    for (size_t n = f->definition_count + 1; table_get(f->names_taken, unique) != NULL; n++)
        unique = flattener_printf(f, "%.*s_%zu", SPAN_ARGS(span_slice(plain, 0, 50)), n);
    flattener_keep(&f->names_taken, unique, (void *)(uintptr_t)(f->definition_count + 1));
    return unique;
}

// The reference to a target's definition, as JSON; it gets one where it has none yet.
static struct span definition_reference(struct flattener *f, int target)
{
    struct span key = span_of(&target, sizeof target);
    uintptr_t at = (uintptr_t)table_get(f->definition_of, key);
    if (at != 0)
        return f->definition[at - 1].reference;
    if (f->definition_count == f->definition_capacity) {
        size_t capacity = f->definition_capacity > 0 ? f->definition_capacity * 2 : 16;
        struct definition *more = flattener_alloc(f, capacity * sizeof *more);
        if (f->definition_count > 0)
            memcpy(more, f->definition, f->definition_count * sizeof *more);
        f->definition = more;
        f->definition_capacity = capacity;
    }
    struct span name = name_for(f, target);
    struct span reference = flattener_printf(f, "\"#/$defs/%.*s\"", SPAN_ARGS(name));
    f->definition[f->definition_count++] =
        (struct definition){.target = target, .name = name, .reference = reference};
    flattener_keep(&f->definition_of, key, (void *)(uintptr_t)f->definition_count);
    return reference;
}

static bool is_definition(const struct flattener *f, int target)
{
    int parent = json_parent(f->j, target);
    return parent != JSON_NONE && parent == json_get(f->j, JSON_ROOT, "$defs");
}

bool keep_reference(struct flattener *f, const struct part *parts, struct site s, struct span *ref,
                    bool *bare)
{
    enum keyword k;
    if (parts == NULL || parts->next != NULL || parts->any != NULL || parts->flags != 0 ||
        f->p->refs == REFS_INLINE || s.root || s.below_map || s.definition)
        return false;
    int target, value = find_reference(f, parts->node, &k, bare);
    if (value == JSON_NONE || (!*bare && f->p->refs != REFS_SIBLINGS) ||
        document_resolve(f->d, parts->node, k, value, &target) != RESOLVED)
        return false;
    target = final_target(f, target);
    if (json_type(f->j, target) != JSON_OBJECT)
        return false;
    if (f->p->refs_to_defs && !is_definition(f, target) && !document_is_cyclic(f->d, target))
        return false;
    if (f->p->recursion != RECURSION_KEEP && document_is_cyclic(f->d, target))
        return false;
    if (f->options->refuse_recursion && document_is_cyclic(f->d, target)) {
        flattener_refuse(f, target, "the schema refers back to itself");
        return false;
    }
    *ref = definition_reference(f, target);
    return true;
}

// The target of a schema that is nothing but a reference and whose lowering depends on no circle.
// JSON_NONE for all else.
int plain_target(struct flattener *f, const struct part *parts)
{
    enum keyword k;
    bool bare;
    int target, value;
    if (parts == NULL || parts->next != NULL || parts->any != NULL || parts->flags != 0)
        return JSON_NONE;
    value = find_reference(f, parts->node, &k, &bare);
    if (value == JSON_NONE || !bare ||
        document_resolve(f->d, parts->node, k, value, &target) != RESOLVED)
        return JSON_NONE;
    target = final_target(f, target);
    return target == JSON_NONE || document_is_cyclic(f->d, target) ? JSON_NONE : target;
}

// A definition that no value fits must still be there for those who refer to it.
static struct node *never_definition(struct flattener *f)
{
    struct builder b, empty;
    b.count = empty.count = 0;
    if (f->p->keeps[KW_NOT]) {
        builder_node(&b, KW_NOT, schema_node_new(f, &empty));
        return schema_node_new(f, &b);
    }
    if (f->p->strict)
        flattener_refuse(f, JSON_ROOT, "a definition that no value fits");
    flattener_lose(f, LOSS_NEVER, JSON_ROOT, "a definition that no value fits");
    return lower(f, NULL, (struct site){.depth = 1});
}

// More may be found while these are lowered.
void lower_definitions(struct flattener *f)
{
    for (size_t i = 0; i < f->definition_count; i++) {
        struct part *part = part_new(f, f->definition[i].target, 0, NULL);
        struct node *n = lower(f, part, (struct site){.depth = 1, .definition = true});
        f->definition[i].node = n != NULL ? n : never_definition(f);
    }
}

static void mark_reference(struct flattener *f, struct span raw)
{
    static const struct span prefix = {"\"#/$defs/", 9};
    if (raw.size <= prefix.size)
        return;
    struct span name = span_slice(raw, prefix.size, raw.size - 1);
    uintptr_t at = (uintptr_t)table_get(f->names_taken, name);
    if (at == 0 || f->definition[at - 1].used)
        return;
    f->definition[at - 1].used = true;
    f->mark[f->mark_count++] = (uint32_t)at - 1;
}

static void mark_node(struct flattener *f, const struct node *n)
{
    for (uint32_t i = 0; n != NULL && i < n->count; i++) {
        const struct member *m = &n->members[i];
        if (m->kind == MEMBER_RAW && m->keyword == KW_REF)
            mark_reference(f, m->as.raw);
        if (m->kind == MEMBER_NODE)
            mark_node(f, m->as.node);
        for (uint32_t k = 0; k < m->count; k++)
            mark_node(f, m->kind == MEMBER_MAP ? m->as.map[k].node : m->as.list[k]);
    }
}

// Some were met only in what was told in words in the end.
void drop_unused_definitions(struct flattener *f, const struct node *root)
{
    f->mark = flattener_alloc(f, (f->definition_count + 1) * sizeof *f->mark);
    mark_node(f, root);
    for (uint32_t i = 0; i < f->mark_count; i++)
        mark_node(f, f->definition[f->mark[i]].node);
    size_t left = 0;
    for (size_t i = 0; i < f->definition_count; i++)
        if (f->definition[i].used)
            f->definition[left++] = f->definition[i];
    f->definition_count = left;
}
