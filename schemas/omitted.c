// SPDX-License-Identifier: Apache-2.0
#include "schemas/omitted.h"

#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"
#include "schemas/document.h"

enum { HOPS_MAX = 16, DEPTH_MAX = 64 };

struct omitting {
    struct document *d;
    const struct json *schema, *j;
    struct json_writer w;
};

static bool is_null_schema(const struct json *s, int node)
{
    return json_string_is(s, json_get(s, node, "type"), "null");
}

// The one branch of an anyOf or oneOf that is not null, else JSON_NONE.
static int only_branch(const struct json *s, int node)
{
    int list = json_get(s, node, "anyOf"), found = JSON_NONE;
    if (list == JSON_NONE)
        list = json_get(s, node, "oneOf");
    JSON_EACH(branch, s, list)
    {
        if (is_null_schema(s, branch))
            continue;
        if (found != JSON_NONE)
            return JSON_NONE;
        found = branch;
    }
    return found;
}

// Follows references and single branches to where properties and items stand.
static int find_shape(struct omitting *o, int node)
{
    for (int i = 0; i < HOPS_MAX; i++) {
        int reference = json_get(o->schema, node, "$ref"), next = JSON_NONE;
        if (reference == JSON_NONE)
            next = only_branch(o->schema, node);
        else if (document_resolve(o->d, node, KW_REF, reference, &next) != RESOLVED)
            return JSON_NONE;
        if (next == JSON_NONE)
            return node;
        node = next;
    }
    return JSON_NONE;
}

// True only where the schema's own words leave no room for null.
static bool refuses_null(struct omitting *o, int node)
{
    const struct json *s = o->schema;
    for (int i = 0; i < HOPS_MAX; i++) {
        int type = json_get(s, node, "type"), values = json_get(s, node, "enum");
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
        int constant = json_get(s, node, "const"), reference = json_get(s, node, "$ref");
        if (!takes_null || (constant != JSON_NONE && json_type(s, constant) != JSON_NULL))
            return true;
        if (reference == JSON_NONE ||
            document_resolve(o->d, node, KW_REF, reference, &node) != RESOLVED)
            return false;
    }
    return false;
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

static void write_kept(struct omitting *o, int value, int schema, unsigned depth);

static void write_object(struct omitting *o, int object, int schema, unsigned depth)
{
    int properties = json_get(o->schema, schema, "properties");
    json_object_open(&o->w);
    JSON_EACH(value, o->j, object)
    {
        struct span raw = json_key_raw(o->j, value);
        struct buffer key;
        buffer_init(&key, raw.size);
        (void)json_unescape(raw, &key);
        int property = json_get_span(o->schema, properties, buffer_span(&key));
        bool optional = !is_required(o->schema, schema, buffer_span(&key));
        if (json_type(o->j, value) != JSON_NULL || property == JSON_NONE || !optional ||
            !refuses_null(o, property)) {
            json_write_key_span(&o->w, buffer_span(&key));
            write_kept(o, value, property, depth + 1);
        }
        buffer_fini(&key);
    }
    json_object_close(&o->w);
}

static void write_kept(struct omitting *o, int value, int schema, unsigned depth)
{
    enum json_type type = json_type(o->j, value);
    int shape = JSON_NONE;
    if ((type == JSON_OBJECT || type == JSON_ARRAY) && depth < DEPTH_MAX && schema != JSON_NONE)
        shape = find_shape(o, schema);
    if (shape != JSON_NONE && type == JSON_OBJECT) {
        write_object(o, value, shape, depth);
        return;
    }
    int items = json_get(o->schema, shape, "items");
    if (type != JSON_ARRAY || json_type(o->schema, items) != JSON_OBJECT) {
        json_write_raw(&o->w, json_raw(o->j, value));
        return;
    }
    json_array_open(&o->w);
    JSON_EACH(item, o->j, value)
    write_kept(o, item, items, depth + 1);
    json_array_close(&o->w);
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
        write_kept(&o, JSON_ROOT, JSON_ROOT, 0);
        rc = json_writer_finish(&o.w);
        document_close(o.d);
    }
    arena_free(arena);
    json_free(j);
    return rc;
}
