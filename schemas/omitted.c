// SPDX-License-Identifier: Apache-2.0
#include "schemas/omitted.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"
#include "schemas/document.h"

enum { HOPS_MAX = 16, PLACES_MAX = 32, DEPTH_MAX = 64 };

struct omitting {
    struct document *d;
    const struct json *schema, *j;
    struct json_writer w;
};

// The schemas that may say something about one value: by references, allOf and unions.
struct places {
    int node[PLACES_MAX];
    unsigned count;
};

static bool follow(struct omitting *o, int node, int *target)
{
    int reference = json_get(o->schema, node, "$ref");
    return reference != JSON_NONE &&
           document_resolve(o->d, node, KW_REF, reference, target) == RESOLVED;
}

static void find_places(struct omitting *o, int node, struct places *p, unsigned hops)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    int target;
    if (json_type(o->schema, node) != JSON_OBJECT || p->count == PLACES_MAX || hops == HOPS_MAX)
        return;
    for (unsigned i = 0; i < p->count; i++)
        if (p->node[i] == node)
            return;
    p->node[p->count++] = node;
    if (follow(o, node, &target))
        find_places(o, target, p, hops + 1);
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++)
        JSON_EACH(branch, o->schema, json_get(o->schema, node, lists[i]))
    find_places(o, branch, p, hops + 1);
}

static bool words_refuse_null(const struct json *s, int node)
{
    int type = json_get(s, node, "type"), values = json_get(s, node, "enum");
    int constant = json_get(s, node, "const");
    bool takes_null = type == JSON_NONE || json_string_is(s, type, "null");
    bool nullable = false;
    JSON_EACH(word, s, type)
    takes_null = takes_null || json_string_is(s, word, "null");
    (void)json_bool(s, json_get(s, node, "nullable"), &nullable);
    if (!takes_null && !nullable)
        return true;
    takes_null = json_type(s, values) != JSON_ARRAY;
    JSON_EACH(value, s, values)
    takes_null = takes_null || json_type(s, value) == JSON_NULL;
    return !takes_null || (constant != JSON_NONE && json_type(s, constant) != JSON_NULL);
}

static bool refuses_null(struct omitting *o, int node, unsigned hops);

// How many schemas of a list refuse null: of a union all must, of an allOf one is enough.
static bool list_refuses_null(struct omitting *o, int list, bool all, unsigned hops)
{
    size_t refusing = 0;
    JSON_EACH(branch, o->schema, list)
    refusing += refuses_null(o, branch, hops + 1);
    return refusing > 0 && (!all || refusing == json_count(o->schema, list));
}

// True only where the schema's own words leave no room for null.
static bool refuses_null(struct omitting *o, int node, unsigned hops)
{
    const struct json *s = o->schema;
    int target;
    if (json_type(s, node) != JSON_OBJECT || hops == HOPS_MAX)
        return false;
    return words_refuse_null(s, node) ||
           (follow(o, node, &target) && refuses_null(o, target, hops + 1)) ||
           list_refuses_null(o, json_get(s, node, "allOf"), false, hops) ||
           list_refuses_null(o, json_get(s, node, "anyOf"), true, hops) ||
           list_refuses_null(o, json_get(s, node, "oneOf"), true, hops);
}

static bool is_required(const struct json *s, int node, struct span key)
{
    JSON_EACH(name, s, json_get(s, node, "required"))
    {
        struct span plain;
        // A name with escapes is rare: taken as required, so that nothing is left out wrongly.
        if (!json_string_plain(s, name, &plain) || span_equals(plain, key))
            return true;
    }
    return false;
}

// A union's branch is not meant where a text of the object is another one than the branch's.
static bool is_meant(struct omitting *o, int place, int object)
{
    JSON_EACH(property, o->schema, json_get(o->schema, place, "properties"))
    {
        struct span wanted, have, key = json_key_raw(o->schema, property);
        int only = json_get(o->schema, property, "const");
        int values = json_get(o->schema, property, "enum");
        if (only == JSON_NONE && json_count(o->schema, values) == 1)
            only = json_at(o->schema, values, 0);
        if (only == JSON_NONE || (key.size > 0 && memchr(key.data, '\\', key.size) != NULL))
            continue;
        int value = json_get_span(o->j, object, key);
        if (json_string_plain(o->schema, only, &wanted) && json_string_plain(o->j, value, &have) &&
            !span_equals(wanted, have))
            return false;
    }
    return true;
}

static void write_kept(struct omitting *o, int value, const struct places *p, unsigned depth);

// The places of one property; *omit tells that a null there stands for nothing.
static void find_property(struct omitting *o, const struct places *p, struct span key,
                          struct places *below, bool *omit)
{
    bool declared = false, required = false, takes_null = false;
    for (unsigned i = 0; i < p->count; i++) {
        int properties = json_get(o->schema, p->node[i], "properties");
        int property = json_get_span(o->schema, properties, key);
        required = required || is_required(o->schema, p->node[i], key);
        if (property == JSON_NONE)
            continue;
        declared = true;
        takes_null = takes_null || !refuses_null(o, property, 0);
        find_places(o, property, below, 0);
    }
    *omit = declared && !required && !takes_null;
}

static void write_object(struct omitting *o, int object, const struct places *p, unsigned depth)
{
    struct places meant = {.count = 0};
    for (unsigned i = 0; i < p->count; i++)
        if (is_meant(o, p->node[i], object))
            meant.node[meant.count++] = p->node[i];
    json_object_open(&o->w);
    JSON_EACH(value, o->j, object)
    {
        struct span raw = json_key_raw(o->j, value);
        struct places below = {.count = 0};
        struct buffer key;
        bool omit;
        buffer_init(&key, raw.size);
        (void)json_unescape(raw, &key);
        find_property(o, &meant, buffer_span(&key), &below, &omit);
        if (json_type(o->j, value) != JSON_NULL || !omit) {
            json_write_key_span(&o->w, buffer_span(&key));
            write_kept(o, value, &below, depth + 1);
        }
        buffer_fini(&key);
    }
    json_object_close(&o->w);
}

static void write_array(struct omitting *o, int array, const struct places *p, unsigned depth)
{
    struct places below = {.count = 0};
    for (unsigned i = 0; i < p->count; i++)
        find_places(o, json_get(o->schema, p->node[i], "items"), &below, 0);
    json_array_open(&o->w);
    JSON_EACH(item, o->j, array)
    write_kept(o, item, &below, depth + 1);
    json_array_close(&o->w);
}

static void write_kept(struct omitting *o, int value, const struct places *p, unsigned depth)
{
    enum json_type type = json_type(o->j, value);
    bool known = p->count > 0 && depth < DEPTH_MAX;
    if (known && type == JSON_OBJECT)
        write_object(o, value, p, depth);
    else if (known && type == JSON_ARRAY)
        write_array(o, value, p, depth);
    else
        json_write_raw(&o->w, json_raw(o->j, value));
}

int nulls_omit(struct span schema, struct span arguments, struct buffer *out)
{
    struct omitting o;
    struct json *j;
    int rc = json_parse(arguments, &json_limits_default, &j, NULL);
    if (rc != 0)
        return rc;
    struct arena *arena = arena_new((size_t)64 << 20);
    rc = document_open(schema, arena, &o.d, NULL);
    if (rc == 0) {
        o.j = j;
        o.schema = document_json(o.d);
        json_writer_init(&o.w, out);
        struct places whole = {.count = 0};
        find_places(&o, JSON_ROOT, &whole, 0);
        write_kept(&o, JSON_ROOT, &whole, 0);
        rc = json_writer_finish(&o.w);
        document_close(o.d);
    }
    arena_free(arena);
    json_free(j);
    return rc;
}
