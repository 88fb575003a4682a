// SPDX-License-Identifier: Apache-2.0
// The members of a node that are about objects.
#include "gateway/lib/base/memory.h"
#include "schemas/build.h"

static bool is_required(const struct view *v, struct span key)
{
    return entries_find(&v->required, key) != NULL;
}

static void lose_property(struct building *g, struct span key)
{
    flattener_lose(g->f, LOSS_NEVER, g->v->origin, "a property that no value fits");
    if (is_required(g->v, key) && g->s.branch)
        g->never = true;
}

static void add_conditional(struct building *g, const struct part *consequence)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    int properties =
        consequence != NULL ? json_get(f->j, consequence->node, "properties") : JSON_NONE;
    JSON_EACH(one, f->j, properties)
    {
        struct span key = canonical_key(f, json_key_raw(f->j, one));
        if (v->properties.count > 200 || entries_find(&v->properties, key) != NULL)
            continue;
        struct alternatives *any = flattener_alloc(f, sizeof *any);
        any->branch = flattener_alloc(f, 2 * sizeof *any->branch);
        any->branch[0] = part_new(f, one, 0, NULL);
        any->count = 2; // the other is anything
        any->made = true;
        struct entry *e = entries_add(f, &v->properties, key);
        e->parts = part_of_alternatives(f, any);
        e->parts->next = parts_flagged(f, v->additional, 0);
    }
}

// Where a condition can only be told, the properties that it speaks of are shown all the same.
void build_conditional_properties(struct building *g)
{
    const struct provider *p = g->f->p;
    bool told = !p->keeps[KW_IF] || (p->root_is_bare && g->s.root && g->s.depth == 0);
    if (!told || p->strict || (g->types & TYPE_OBJECT) == 0 || g->v->patterns.count > 0)
        return;
    for (const struct condition *c = g->v->condition; c != NULL; c = c->next) {
        add_conditional(g, c->then);
        add_conditional(g, c->else_);
    }
}

static void lower_property(struct building *g, const struct entry *e)
{
    struct site below = site_below(g->s, true);
    below.add_null = g->f->p->all_required && !is_required(g->v, e->key);
    struct node *n = lower(g->f, e->parts, below);
    if (n == NULL)
        lose_property(g, e->key);
    else
        g->properties[g->property_count++] =
            (struct named_node){renamed_key(g->f, e->key, g->s), n};
}

// Where the provider wants "properties" beside "required", what is required gets its property.
static void add_required_properties(struct building *g)
{
    struct view *v = g->v;
    if (!g->f->p->properties_beside_required || g->property_count > 0)
        return;
    for (uint32_t i = 0; i < v->required.count; i++) {
        struct span key = v->required.list[i].key;
        if (entries_find(&v->properties, key) != NULL)
            continue;
        struct entry *e = entries_add(g->f, &v->properties, key);
        e->parts = parts_flagged(g->f, v->additional, 0);
        lower_property(g, e);
    }
}

void build_object(struct building *g)
{
    struct view *v = g->v;
    uint32_t count = v->properties.count;
    g->properties = flattener_alloc(g->f, (count + v->required.count + 1) * sizeof *g->properties);
    for (uint32_t i = 0; i < count; i++)
        lower_property(g, &v->properties.list[i]);
    add_required_properties(g);
}

static bool has_property(const struct building *g, struct span key)
{
    const struct entry *e = entries_find(&g->v->properties, key);
    if (e == NULL)
        return false;
    if (g->property_count == g->v->properties.count)
        return true;
    struct span name = renamed_key(g->f, key, g->s);
    for (uint32_t i = 0; i < g->property_count; i++)
        if (span_equals(g->properties[i].key, name))
            return true;
    return false;
}

static void append_name(struct buffer *text, struct span key)
{
    buffer_append_string(text, buffer_size(text) > 1 ? ",\"" : "\"");
    buffer_append(text, key);
    buffer_append_char(text, '"');
}

static size_t names_size(const struct view *v)
{
    size_t size = 64;
    for (uint32_t i = 0; i < v->required.count; i++)
        size += v->required.list[i].key.size + 80;
    for (uint32_t i = 0; i < v->properties.count; i++)
        size += v->properties.list[i].key.size + 80;
    return size;
}

// A name that must be there but is described nowhere: kept where the provider does not mind.
static bool keeps_name(struct building *g, struct span key)
{
    if (has_property(g, key))
        return true;
    if (entries_find(&g->v->properties, key) != NULL)
        return false; // a property that no value fits
    if (!g->f->p->known_required)
        return true;
    if (!g->f->p->all_required || !g->f->p->strict)
        hint_add(g->f, g->v, flattener_printf(g->f, "required too: %.*s", SPAN_ARGS(key)));
    flattener_lose(g->f, LOSS_TOLD, g->v->origin, "required names a property that is not there");
    return false;
}

static void put_required(struct building *g)
{
    struct view *v = g->v;
    struct buffer text;
    buffer_init(&text, names_size(v));
    buffer_append_char(&text, '[');
    for (uint32_t i = 0; i < v->required.count; i++) {
        struct span key = v->required.list[i].key;
        if (keeps_name(g, key))
            append_name(&text, renamed_key(g->f, key, g->s));
    }
    for (uint32_t i = 0; g->f->p->all_required && i < g->property_count; i++) {
        bool there = false;
        for (uint32_t k = 0; k < v->required.count && !there; k++)
            there = span_equals(v->required.list[k].key, g->properties[i].key);
        if (there)
            continue;
        append_name(&text, g->properties[i].key);
        flattener_lose(g->f, LOSS_STRICT, v->origin, "an optional property takes null instead");
    }
    buffer_append_char(&text, ']');
    // Strict modes want the list wherever there are properties; an empty one says nothing.
    if (buffer_size(&text) > 2)
        builder_raw(&g->b, KW_REQUIRED, arena_copy(g->f->arena, buffer_span(&text)));
    buffer_fini(&text);
}

static void put_properties(struct building *g)
{
    bool empty = g->property_count == 0;
    bool said = (g->v->seen[KW_PROPERTIES / 64] & 1ULL << (KW_PROPERTIES % 64)) != 0;
    if (empty && !g->s.root && (!said || !g->v->typed || g->f->p->filled_objects))
        return;
    if (empty && g->s.root && !said && g->s.depth > 0)
        return;
    builder_map(&g->b, KW_PROPERTIES, g->properties, g->property_count);
}

static void put_additional_value(struct building *g)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    struct site below = site_below(g->s, true);
    below.below_map = f->p->inline_in_maps;
    if (!parts_demand(f, v->additional)) {
        builder_raw(&g->b, KW_ADDITIONAL_PROPERTIES, SPAN_LITERAL("true"));
        return;
    }
    struct node *n = lower(f, v->additional, below);
    if (n != NULL && n->count == 0)
        builder_raw(&g->b, KW_ADDITIONAL_PROPERTIES, SPAN_LITERAL("true"));
    else if (n == NULL)
        builder_raw(&g->b, KW_ADDITIONAL_PROPERTIES, SPAN_LITERAL("false"));
    else
        builder_node(&g->b, KW_ADDITIONAL_PROPERTIES, n);
}

static void put_additional(struct building *g)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    bool closed = parts_refuse_all(f, v->additional);
    if (f->p->strict) {
        if (!closed)
            flattener_lose(f, LOSS_STRICT, v->origin, "an open object was closed");
        builder_raw(&g->b, KW_ADDITIONAL_PROPERTIES, SPAN_LITERAL("false"));
        return;
    }
    // Without the patterns, what they let pass must not count as additional.
    if (v->has_additional && v->patterns.count > 0 && !f->p->keeps[KW_PATTERN_PROPERTIES]) {
        flattener_lose(f, LOSS_OPENED, v->origin, "patterns stand beside it");
        if (f->p->free_form_open)
            builder_raw(&g->b, KW_ADDITIONAL_PROPERTIES, SPAN_LITERAL("true"));
        return;
    }
    if (!v->has_additional) {
        if (f->p->free_form_open && g->property_count == 0 && v->typed)
            builder_raw(&g->b, KW_ADDITIONAL_PROPERTIES, SPAN_LITERAL("true"));
        return;
    }
    if (f->p->keeps[KW_ADDITIONAL_PROPERTIES]) {
        put_additional_value(g);
    } else if (closed) {
        flattener_lose(f, LOSS_OPENED, v->origin, "it cannot be closed");
    } else if (parts_demand(f, v->additional)) {
        hint_parts(f, v, "other properties", v->additional);
        flattener_lose(f, LOSS_TOLD, v->origin, "additionalProperties");
    }
}

// Maps of schemas that are kept whole or told whole.
static void put_map(struct building *g, enum keyword k, struct entries *e, bool rename)
{
    if (e->count == 0)
        return;
    if (!g->f->p->keeps[k]) {
        for (uint32_t i = 0; i < e->count; i++)
            hint_parts(
                g->f, g->v,
                flattener_printf(g->f, "%s %.*s", keyword_name(k), SPAN_ARGS(e->list[i].key)).data,
                e->list[i].parts);
        flattener_lose(g->f, LOSS_TOLD, g->v->origin, keyword_name(k));
        return;
    }
    struct named_node *map = flattener_alloc(g->f, e->count * sizeof *map);
    struct site below = site_below(g->s, k == KW_PATTERN_PROPERTIES);
    below.root = rename && g->s.root;
    if (below.root && below.depth == 0)
        below.depth = 1;
    for (uint32_t i = 0; i < e->count; i++) {
        struct span key = rename ? renamed_key(g->f, e->list[i].key, g->s) : e->list[i].key;
        map[i] = (struct named_node){key, lower(g->f, e->list[i].parts, below)};
    }
    builder_map(&g->b, k, map, e->count);
}

// The names that all lists under one key ask for, as JSON.
static void append_dependents(struct building *g, const struct entry *e, struct buffer *text)
{
    struct flattener *f = g->f;
    struct entries names = {.count = 0};
    for (const struct part *p = e->parts; p != NULL; p = p->next)
        JSON_EACH(one, f->j, p->node)
        {
            struct span raw = json_raw(f->j, one);
            if (json_type(f->j, one) == JSON_STRING)
                entries_add(f, &names, canonical_key(f, span_slice(raw, 1, raw.size - 1)));
        }
    buffer_append_char(text, '"');
    buffer_append(text, renamed_key(f, e->key, g->s));
    buffer_append_string(text, "\":[");
    for (uint32_t k = 0; k < names.count; k++) {
        buffer_append_string(text, k > 0 ? ",\"" : "\"");
        buffer_append(text, renamed_key(f, names.list[k].key, g->s));
        buffer_append_char(text, '"');
    }
    buffer_append_char(text, ']');
}

static void put_dependent_required(struct building *g)
{
    struct flattener *f = g->f;
    struct entries *all = &g->v->dependent_required;
    struct buffer text;
    if (all->count == 0)
        return;
    buffer_init(&text, json_source(f->j).size * 2 + 4096);
    buffer_append_char(&text, '{');
    for (uint32_t i = 0; i < all->count; i++) {
        if (i > 0)
            buffer_append_char(&text, ',');
        append_dependents(g, &all->list[i], &text);
    }
    buffer_append_char(&text, '}');
    struct span raw = arena_copy(f->arena, buffer_span(&text));
    buffer_fini(&text);
    if (f->p->keeps[KW_DEPENDENT_REQUIRED]) {
        builder_raw(&g->b, KW_DEPENDENT_REQUIRED, raw);
        return;
    }
    hint_add(
        f, g->v,
        flattener_printf(f, "if present, also required: %.*s", SPAN_ARGS(span_slice(raw, 0, 300))));
    flattener_lose(f, LOSS_TOLD, g->v->origin, "dependentRequired");
}

static void put_names(struct building *g)
{
    if (g->v->names == NULL)
        return;
    if (!g->f->p->keeps[KW_PROPERTY_NAMES]) {
        hint_parts(g->f, g->v, "property names", g->v->names);
        flattener_lose(g->f, LOSS_TOLD, g->v->origin, "propertyNames");
        return;
    }
    builder_node(&g->b, KW_PROPERTY_NAMES, lower(g->f, g->v->names, site_below(g->s, false)));
}

// What counts as evaluated is only known where nothing beside it was lost.
static void put_unevaluated(struct building *g)
{
    struct flattener *f = g->f;
    if (!g->v->has_unevaluated_properties)
        return;
    if (f->p->keeps[KW_UNEVALUATED_PROPERTIES] && f->loss_total == g->losses_before) {
        struct node *n = lower(f, g->v->unevaluated_properties, site_below(g->s, true));
        builder_node(&g->b, KW_UNEVALUATED_PROPERTIES, n);
        return;
    }
    flattener_lose(f, LOSS_OPENED, g->v->origin, "unevaluatedProperties");
}

// A property ordering names properties that exist.
static void put_ordering(struct building *g)
{
    struct flattener *f = g->f;
    struct buffer text;
    if (json_type(f->j, g->v->ordering) != JSON_ARRAY || !f->p->keeps[KW_PROPERTY_ORDERING])
        return;
    buffer_init(&text, json_raw(f->j, g->v->ordering).size + 2);
    buffer_append_char(&text, '[');
    JSON_EACH(one, f->j, g->v->ordering)
    {
        struct span raw = json_raw(f->j, one);
        if (json_type(f->j, one) != JSON_STRING)
            continue;
        struct span key = canonical_key(f, span_slice(raw, 1, raw.size - 1));
        bool known = false;
        for (uint32_t i = 0; i < g->property_count && !known; i++)
            known = span_equals(g->properties[i].key, key);
        if (known) {
            buffer_append_string(&text, buffer_size(&text) > 1 ? ",\"" : "\"");
            buffer_append(&text, key);
            buffer_append_char(&text, '"');
        }
    }
    buffer_append_char(&text, ']');
    if (buffer_size(&text) > 2)
        builder_raw(&g->b, KW_PROPERTY_ORDERING, arena_copy(f->arena, buffer_span(&text)));
    buffer_fini(&text);
}

bool build_object_member(struct building *g, enum keyword k)
{
    if (keyword_types(k) != TYPE_OBJECT || keyword_shape(k) == SHAPE_COUNT)
        return false;
    if ((g->types & TYPE_OBJECT) == 0)
        return true;
    switch (k) {
    case KW_PROPERTIES:
        put_properties(g);
        return true;
    case KW_REQUIRED:
        put_required(g);
        return true;
    case KW_ADDITIONAL_PROPERTIES:
        put_additional(g);
        return true;
    case KW_PATTERN_PROPERTIES:
        put_map(g, k, &g->v->patterns, false);
        return true;
    case KW_DEPENDENT_SCHEMAS:
        put_map(g, k, &g->v->dependent_schemas, true);
        return true;
    case KW_DEPENDENT_REQUIRED:
        put_dependent_required(g);
        return true;
    case KW_PROPERTY_NAMES:
        put_names(g);
        return true;
    case KW_UNEVALUATED_PROPERTIES:
        put_unevaluated(g);
        return true;
    case KW_PROPERTY_ORDERING:
        put_ordering(g);
        return true;
    default:
        return true;
    }
}
