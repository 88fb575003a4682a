// SPDX-License-Identifier: Apache-2.0
// The root: every provider wants one object with properties, and no union, enum or not around it.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "schemas/build.h"
#include "schemas/names.h"

enum { FOLD_DEPTH_MAX = 4, FOLD_BRANCHES_MAX = 256 };

struct fold {
    struct flattener *f;
    unsigned depth, branches_left;
};

static void fold_unions(struct fold *fold, struct view *v);

// The branches that an object can be, each as a view without unions.
static size_t gather_branches(struct fold *fold, const struct alternatives *any, struct view **out)
{
    struct flattener *f = fold->f;
    size_t count = 0;
    for (unsigned i = 0; i < any->count; i++) {
        struct view *b = flattener_alloc_raw(f, sizeof *b);
        gather(f, any->branch[i], b, true);
        if (b->never || (b->typed && !(b->types & TYPE_OBJECT)))
            continue;
        const struct active *outer = f->active;
        struct active *chain = flattener_alloc(f, (b->entered_count + 1) * sizeof *chain);
        for (unsigned k = 0; k < b->entered_count; k++) {
            chain[k] = (struct active){f->active, b->entered[k]};
            f->active = &chain[k];
        }
        fold->depth++;
        fold_unions(fold, b);
        fold->depth--;
        f->active = outer;
        out[count++] = b;
    }
    return count;
}

static const struct part *part_in(const struct view *b, struct span key, bool *given)
{
    const struct entry *e = entries_find(&b->properties, key);
    *given = e != NULL;
    return e != NULL ? e->parts : b->additional;
}

// What a property may be: what it may be in any branch.
static struct part *property_in_any(struct flattener *f, struct view *const *branch, size_t count,
                                    struct span key)
{
    struct alternatives *any = flattener_alloc(f, sizeof *any);
    any->branch = flattener_alloc(f, count * sizeof *any->branch);
    any->made = true;
    // The branches that speak of it come first, so that a model reads them first.
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            bool given;
            const struct part *parts = part_in(branch[i], key, &given);
            if (given != (pass == 0) ||
                (!given && branch[i]->has_additional && parts_refuse_all(f, parts)))
                continue;
            any->branch[any->count++] = parts_flagged(f, parts, 0);
        }
    return part_of_alternatives(f, any);
}

static bool required_in_all(struct view *const *branch, size_t count, struct span key)
{
    for (size_t i = 0; i < count; i++)
        if (entries_find(&branch[i]->required, key) == NULL)
            return false;
    return true;
}

static void tell_branches(struct flattener *f, struct view *v, struct view *const *branch,
                          size_t count)
{
    struct buffer text;
    buffer_init(&text, 700);
    buffer_append_string(&text, "one of these sets: ");
    for (size_t i = 0; i < count && buffer_size(&text) < 400; i++) {
        const struct view *b = branch[i];
        const struct entries *names = b->required.count > 0 ? &b->required : &b->properties;
        buffer_append_string(&text, i > 0 ? " | " : "");
        if (names->count == 0)
            buffer_append_string(&text, "any");
        for (uint32_t k = 0; k < names->count && buffer_size(&text) < 500; k++)
            buffer_printf(&text, "%s%.*s", k > 0 ? ", " : "", SPAN_ARGS(names->list[k].key));
    }
    hint_add(f, v, arena_copy(f->arena, buffer_span(&text)));
    buffer_fini(&text);
}

static void add_properties(struct flattener *f, struct view *v, struct view *const *branch,
                           size_t count)
{
    unsigned now = ++v->parts_seen;
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < branch[i]->properties.count; k++) {
            struct span key = branch[i]->properties.list[k].key;
            struct entry *e = entries_add(f, &v->properties, key);
            if (e->stamp == now)
                continue;
            if (e->made == 0) {
                e->made = now;
                parts_append(&e->parts, parts_flagged(f, v->additional, 0));
            }
            e->stamp = now;
            parts_append(&e->parts, property_in_any(f, branch, count, key));
        }
}

static void fold_branches(struct flattener *f, struct view *v, struct view *const *branch,
                          size_t count)
{
    add_properties(f, v, branch, count);
    for (uint32_t k = 0; k < branch[0]->required.count; k++)
        if (required_in_all(branch, count, branch[0]->required.list[k].key))
            entries_add(f, &v->required, branch[0]->required.list[k].key);
    bool closed = true;
    for (size_t i = 0; i < count; i++) {
        closed = closed && branch[i]->has_additional && parts_refuse_all(f, branch[i]->additional);
        if (v->text[KW_DESCRIPTION] == JSON_NONE && branch[i]->text[KW_DESCRIPTION] != JSON_NONE)
            hint_value(f, v, "alternative", branch[i]->text[KW_DESCRIPTION]);
    }
    if (closed && v->patterns.count == 0) {
        v->has_additional = true;
        parts_append(&v->additional, parts_flagged(f, branch[0]->additional, 0));
    }
    tell_branches(f, v, branch, count);
    flattener_lose(f, LOSS_ROOT_UNION, v->origin, "alternatives became one object");
}

static bool asks_presence_only(const struct flattener *f, const struct alternatives *any)
{
    for (unsigned i = 0; i < any->count; i++) {
        const struct part *p = any->branch[i];
        if (p == NULL || p->any != NULL || p->next != NULL)
            return false;
        if (json_get(f->j, p->node, "properties") != JSON_NONE ||
            json_get(f->j, p->node, "$ref") != JSON_NONE ||
            json_get(f->j, p->node, "required") == JSON_NONE)
            return false;
    }
    return true;
}

static void fold_unions(struct fold *fold, struct view *v)
{
    struct flattener *f = fold->f;
    for (unsigned i = 0; i < v->union_count; i++) {
        const struct alternatives *any = v->unions[i];
        if (fold->depth >= FOLD_DEPTH_MAX || any->count > fold->branches_left) {
            hint_parts(f, v, "one of", any->branch[0]);
            flattener_lose(f, LOSS_TOLD, v->origin, "a union at the root");
            continue;
        }
        fold->branches_left -= any->count;
        struct view **branch = flattener_alloc(f, any->count * sizeof *branch);
        size_t count = gather_branches(fold, any, branch);
        if (asks_presence_only(f, any) && count > 0) {
            tell_branches(f, v, branch, count);
            flattener_lose(f, LOSS_TOLD, v->origin, "alternatives of what must be there");
        } else if (count > 0) {
            fold_branches(f, v, branch, count);
        }
    }
    v->union_count = 0;
}

static void forget_what_no_root_has(struct flattener *f, struct view *v)
{
    if (v->has_enum) {
        for (unsigned i = 0; i < v->value_count && i < 8; i++)
            hint_value(f, v, "one of", v->values[i]);
        flattener_lose(f, LOSS_TOLD, v->origin, "an enum at the root");
        v->has_enum = v->is_const = false;
    }
    for (const struct part *p = v->nots; p != NULL; p = p->next) {
        struct part *one = part_new(f, p->node, p->flags, NULL);
        hint_parts(f, v, "not", one);
        flattener_lose(f, LOSS_TOLD, v->origin, "not at the root");
    }
    v->nots = NULL;
}

// What cannot be an object becomes an open one.
static void repair_root(struct flattener *f, struct view *v)
{
    bool object = !v->never && (!v->typed || (v->types & TYPE_OBJECT) != 0);
    if (!object) {
        flattener_lose(f, LOSS_REPAIRED, JSON_ROOT, "the root is not an object");
        gather(f, NULL, v, true);
        if (json_type(f->j, JSON_ROOT) == JSON_OBJECT)
            hint_value(f, v, "originally", JSON_ROOT);
    }
    if (v->typed && v->types != TYPE_OBJECT)
        flattener_lose(f, LOSS_REPAIRED, JSON_ROOT, "the root is an object only");
    v->typed = true;
    v->types = TYPE_OBJECT;
    v->type_count = 0;
    v->null_flag = false;
}

// Nova's root has room for nothing but the properties; the rest is for the tool's description.
static void bare_root(struct flattener *f, struct node *n)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        enum keyword k = (enum keyword)n->members[i].keyword;
        if (k == KW_DESCRIPTION)
            f->result->description = n->members[i].as.raw;
        else if (k == KW_TYPE || k == KW_PROPERTIES || k == KW_REQUIRED)
            n->members[left++] = n->members[i];
        else if (k != KW_TITLE && k != KW_DEFS)
            flattener_lose(f, LOSS_TOLD, JSON_ROOT, keyword_name(k));
    }
    n->count = left;
}

static void fill_definitions(struct flattener *f, struct node *n)
{
    struct named_node *map = flattener_alloc(f, (f->definition_count + 1) * sizeof *map);
    for (size_t i = 0; i < f->definition_count; i++)
        map[i] = (struct named_node){f->definition[i].name, f->definition[i].node};
    uint32_t left = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        struct member m = n->members[i];
        if (m.keyword == KW_DEFS) {
            m.kind = MEMBER_MAP;
            m.count = (uint32_t)f->definition_count;
            m.as.map = map;
        }
        if (m.keyword != KW_DEFS || f->definition_count > 0)
            n->members[left++] = m;
    }
    n->count = left;
}

// A result that is no object is wrapped, as the result itself will be.
static bool wraps(const struct flattener *f, const struct view *v)
{
    return f->options->kind == SCHEMA_OUTPUT &&
           (v->never || (v->typed && v->types != TYPE_OBJECT) || !v->typed);
}

// Where an object may come too, it comes as it is: then nothing asks for the wrap.
static struct node *wrapped_root(struct flattener *f, bool always)
{
    struct builder b;
    b.count = 0;
    struct part *root = part_new(f, JSON_ROOT, 0, NULL);
    struct named_node *map = flattener_alloc(f, sizeof *map);
    struct node *inner = lower(f, root, (struct site){.depth = 1});
    map[0] = (struct named_node){SPAN_LITERAL("result"),
                                 inner != NULL ? inner : lower(f, NULL, (struct site){.depth = 1})};
    builder_raw(&b, KW_TYPE, SPAN_LITERAL("\"object\""));
    builder_map(&b, KW_PROPERTIES, map, map[0].node != NULL);
    if (always || f->p->strict)
        builder_raw(&b, KW_REQUIRED, SPAN_LITERAL("[\"result\"]"));
    if (f->p->strict)
        builder_raw(&b, KW_ADDITIONAL_PROPERTIES, SPAN_LITERAL("false"));
    builder_raw(&b, KW_DEFS, SPAN_NONE);
    return schema_node_new(f, &b);
}

struct node *lower_root(struct flattener *f)
{
    struct part *root = part_new(f, JSON_ROOT, 0, NULL);
    struct view *v = flattener_alloc_raw(f, sizeof *v);
    gather(f, root, v, true);
    struct node *n;
    if (wraps(f, v)) {
        n = wrapped_root(f, v->never || (v->types & TYPE_OBJECT) == 0);
    } else {
        struct active *chain = flattener_alloc(f, (v->entered_count + 1) * sizeof *chain);
        for (unsigned k = 0; k < v->entered_count; k++) {
            chain[k] = (struct active){f->active, v->entered[k]};
            f->active = &chain[k];
        }
        repair_root(f, v);
        struct fold fold = {f, 0, FOLD_BRANCHES_MAX};
        fold_unions(&fold, v);
        forget_what_no_root_has(f, v);
        f->root = v;
        n = build_plain(f, v, TYPE_OBJECT, (struct site){.root = true});
        f->active = NULL;
    }
    lower_definitions(f);
    if (n == NULL) {
        n = wrapped_root(f, true);
        lower_definitions(f);
    }
    drop_unused_definitions(f, n);
    fill_definitions(f, n);
    if (f->p->root_is_bare)
        bare_root(f, n);
    return n;
}
