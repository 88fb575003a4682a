// SPDX-License-Identifier: Apache-2.0
// What several keywords of one schema must be together.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "schemas/checker.h"
#include "schemas/names.h"

static bool has(const struct checker *c, int node, const char *key)
{
    return json_get(c->j, node, key) != JSON_NONE;
}

void checker_root(struct checker *c)
{
    static const char *const refused[] = {"anyOf", "oneOf", "allOf", "enum", "not", "$ref"};
    const struct provider *p = c->p;
    int type = json_get(c->j, JSON_ROOT, "type");
    bool gemini = p->null_style == NULL_FLAG;
    if (json_type(c->j, JSON_ROOT) != JSON_OBJECT) {
        checker_find(c, JSON_ROOT, true, "the root must be an object");
        return;
    }
    if (!json_string_is(c->j, type, "object") &&
        !((gemini || p->lax) && json_string_is(c->j, type, "OBJECT")))
        checker_find(c, JSON_ROOT, true, "the root's type must be object");
    for (size_t i = 0; i < ARRAY_COUNT(refused) && !p->lax; i++) {
        int value = json_get(c->j, JSON_ROOT, refused[i]);
        bool anthropic_only = p->property_keys && (i == 3 || i == 4);
        if (value != JSON_NONE && !anthropic_only && !p->only_kept)
            checker_find(c, value, !p->inline_in_maps && !p->free_form_open, "%s at the root",
                         refused[i]);
    }
    if (p->array_needs_items && !p->only_kept && !p->union_described &&
        !has(c, JSON_ROOT, "properties"))
        checker_find(c, JSON_ROOT, true, "the root has no properties");
    JSON_EACH(value, c->j, JSON_ROOT)
    {
        enum keyword k = (enum keyword)document_keywords(c->d)[value];
        if (p->root_is_bare && k != KW_TYPE && k != KW_PROPERTIES && k != KW_REQUIRED)
            checker_find(c, value, true, "the root has type, properties and required only");
    }
}

static struct table *names_of_properties(const struct checker *c, int properties)
{
    struct table *t = table_new();
    struct buffer key;
    buffer_init(&key, json_source(c->j).size);
    JSON_EACH(one, c->j, properties)
    {
        buffer_clear(&key);
        json_unescape(json_key_raw(c->j, one), &key);
        table_put(t, buffer_span(&key), t);
    }
    buffer_fini(&key);
    return t;
}

static void check_required(struct checker *c, int node, struct table *names, unsigned types)
{
    const struct provider *p = c->p;
    int required = json_get(c->j, node, "required");
    struct table *seen = table_new();
    JSON_EACH(one, c->j, required)
    {
        struct span name;
        if (!json_string_arena(c->j, one, c->out->arena, &name))
            continue;
        if (p->known_required && table_get(names, name) == NULL)
            checker_find(c, one, true, "required names a property that is not there");
        if (table_get(seen, name) != NULL && !p->lax && !p->only_kept)
            checker_find(c, one, true, "required names a property twice");
        table_put(seen, name, seen);
    }
    if (p->only_kept && required != JSON_NONE && types != TYPE_OBJECT)
        checker_find(c, required, true, "required is for objects only");
    int properties = json_get(c->j, node, "properties");
    JSON_EACH(one, c->j, properties)
    {
        struct span name;
        struct buffer key;
        buffer_init(&key, json_key_raw(c->j, one).size);
        json_unescape(json_key_raw(c->j, one), &key);
        name = buffer_span(&key);
        bool optional = table_get(seen, name) == NULL;
        c->optional_count += optional;
        if (p->all_required && optional)
            checker_find(c, one, true, "every property must be required");
        buffer_fini(&key);
    }
    table_free(seen);
}

static void check_closed(struct checker *c, int node, unsigned types)
{
    int additional = json_get(c->j, node, "additionalProperties");
    if (!c->p->strict || (types & TYPE_OBJECT) == 0)
        return;
    if (json_type(c->j, additional) != JSON_FALSE)
        checker_find(c, node, true, "additionalProperties must be false");
}

void checker_object(struct checker *c, int node, unsigned types, bool root)
{
    const struct provider *p = c->p;
    int properties = json_get(c->j, node, "properties");
    JSON_EACH(one, c->j, properties)
    {
        struct span key = json_key_raw(c->j, one);
        c->property_count++;
        c->text_size += key.size;
        if (root && p->property_keys && !name_is_plain_key(key))
            checker_find(c, one, true, "a key at the root is [a-zA-Z0-9_.-]{1,64}");
    }
    int twice = json_object_duplicate(c->j, properties);
    if (twice != JSON_NONE)
        checker_find(c, twice, false, "a property stands twice");
    struct table *names = names_of_properties(c, properties);
    check_required(c, node, names, types);
    if (p->only_kept) {
        if (properties != JSON_NONE && types != TYPE_OBJECT)
            checker_find(c, properties, true, "properties are for objects only");
        if (!root && properties != JSON_NONE && table_count(names) == 0)
            checker_find(c, properties, true, "properties must not be empty");
        int ordering = json_get(c->j, node, "propertyOrdering");
        JSON_EACH(one, c->j, ordering)
        {
            struct span name;
            if (json_string_arena(c->j, one, c->out->arena, &name) &&
                table_get(names, name) == NULL)
                checker_find(c, one, true, "propertyOrdering names a property that is not there");
        }
    }
    table_free(names);
    check_closed(c, node, types);
    if (p->properties_beside_required && properties == JSON_NONE && has(c, node, "required"))
        checker_find(c, node, true, "required without properties");
}

static bool is_annotation(enum keyword k)
{
    return k == KW_DESCRIPTION || k == KW_TITLE || k == KW_DEFAULT || k == KW_NULLABLE ||
           k == KW_DEFS || k == KW_EXAMPLE;
}

static void check_union(struct checker *c, int node)
{
    const struct provider *p = c->p;
    c->union_count++;
    JSON_EACH(value, c->j, node)
    {
        enum keyword k = (enum keyword)document_keywords(c->d)[value];
        if (k == KW_ANY_OF || k == KW_ONE_OF || k == KW_UNKNOWN)
            continue;
        bool bad = p->union_bare || (p->union_described && k != KW_DESCRIPTION &&
                                     (k == KW_TYPE || !is_annotation(k)));
        if (bad)
            checker_find(c, value, true, "%s beside anyOf", keyword_name(k));
    }
}

static bool says_nothing(const struct checker *c, int node)
{
    JSON_EACH(value, c->j, node)
    {
        enum keyword k = (enum keyword)document_keywords(c->d)[value];
        if (!is_annotation(k) && k != KW_UNKNOWN && k != KW_COMMENT && k != KW_EXAMPLES)
            return false;
    }
    return true;
}

static void check_typed(struct checker *c, int node, unsigned types, bool is_union)
{
    bool ref = has(c, node, "$ref") || has(c, node, "$dynamicRef");
    bool valued = has(c, node, "enum") || has(c, node, "const");
    switch (c->p->untyped) {
    case UNTYPED_UNION:
        if (types == 0 && !is_union && !(ref && c->p->refs != REFS_INLINE))
            checker_find(c, node, true, "a schema without a type");
        return;
    case UNTYPED_REFUSED:
        if (types == 0 && !is_union && !ref && !(valued && !c->p->all_required))
            checker_find(c, node, true, "a schema without a type");
        return;
    case UNTYPED_BARE:
        // An empty schema means any JSON there; one with notes only is not understood.
        if (says_nothing(c, node) && !is_union && json_first(c->j, node) != JSON_NONE)
            checker_find(c, node, true, "a schema that says nothing");
        return;
    default:
        return;
    }
}

void checker_node(struct checker *c, int node, unsigned types, bool root, bool is_union)
{
    const struct provider *p = c->p;
    (void)root;
    if (is_union)
        check_union(c, node);
    else if (__builtin_popcount(types) > 1)
        c->union_count++;
    check_typed(c, node, types, is_union);
    bool has_items = has(c, node, "items");
    if ((types & TYPE_ARRAY) && p->array_needs_items && !has_items)
        checker_find(c, node, true, "an array without items");
    if (p->only_kept && has_items && types != TYPE_ARRAY)
        checker_find(c, json_get(c->j, node, "items"), true, "items are for arrays only");
    if (json_type(c->j, json_get(c->j, node, "items")) == JSON_ARRAY && !p->lax)
        checker_find(c, json_get(c->j, node, "items"), true, "items must be one schema");
}
