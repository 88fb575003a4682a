// SPDX-License-Identifier: Apache-2.0
#include "schemas/output_keys.h"

#include <stdio.h>

#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"
#include "schemas/document.h"
#include "schemas/results.h"

enum { KEY_SIZE = 64 };
#define KEY "$ref"

struct renaming {
    const struct json *j;
    struct json_writer w;
};

static void write_schema(struct renaming *r, int node);

static bool is_any(struct span key, const char *const *words)
{
    for (; *words != NULL; words++)
        if (span_is(key, *words))
            return true;
    return false;
}

// As results.h names it: underscores in front until it is free in this object.
static void free_name(const struct json *j, int properties, char name[KEY_SIZE])
{
    int size = 1;
    do
        snprintf(name, KEY_SIZE, "%.*s" KEY, size++, "________________________________");
    while (size < 32 && json_get(j, properties, name) != JSON_NONE);
}

static void write_map(struct renaming *r, int map, const char *renamed)
{
    json_object_open(&r->w);
    JSON_EACH(value, r->j, map)
    {
        struct span raw = json_key_raw(r->j, value);
        struct buffer key;
        buffer_init(&key, raw.size);
        (void)json_unescape(raw, &key);
        bool is_key = renamed != NULL && span_is(buffer_span(&key), KEY);
        json_write_key_span(&r->w, is_key ? span_from_string(renamed) : buffer_span(&key));
        buffer_fini(&key);
        write_schema(r, value);
    }
    json_object_close(&r->w);
}

static void write_names(struct renaming *r, int list, const char *renamed)
{
    json_array_open(&r->w);
    JSON_EACH(name, r->j, list)
    if (json_string_is(r->j, name, KEY))
        json_write_string(&r->w, span_from_string(renamed));
    else
        json_write_raw(&r->w, json_raw(r->j, name));
    json_array_close(&r->w);
}

static void write_null(struct renaming *r)
{
    json_object_open(&r->w);
    json_write_key(&r->w, "type");
    json_write_string(&r->w, SPAN_LITERAL("null"));
    json_object_close(&r->w);
}

static void write_list(struct renaming *r, int list, bool or_null)
{
    json_array_open(&r->w);
    JSON_EACH(schema, r->j, list)
    write_schema(r, schema);
    if (or_null)
        write_null(r);
    json_array_close(&r->w);
}

// Values that results are compared with get the names that results get.
static void write_data(struct renaming *r, int value)
{
    struct buffer data;
    buffer_init(&data, r->w.out->limit);
    if (r->w.fault == 0)
        r->w.fault = results_rewrite_value(json_raw(r->j, value), &data);
    json_write_raw(&r->w, buffer_span(&data));
    buffer_fini(&data);
}

static void write_value(struct renaming *r, struct span key, int value, const char *renamed,
                        bool or_null)
{
    static const char *const maps[] = {"$defs", "definitions", "patternProperties", NULL};
    static const char *const names[] = {"required", "propertyOrdering", NULL};
    static const char *const lists[] = {"anyOf", "oneOf", "allOf", "prefixItems", NULL};
    static const char *const single[] = {"items", "additionalProperties", "contains", NULL};
    static const char *const data[] = {"enum", "const", NULL};
    enum json_type type = json_type(r->j, value);
    if (type == JSON_OBJECT && span_is(key, "properties"))
        write_map(r, value, renamed);
    else if (type == JSON_OBJECT && is_any(key, maps))
        write_map(r, value, NULL);
    else if (type == JSON_ARRAY && is_any(key, names))
        write_names(r, value, renamed);
    else if (type == JSON_ARRAY && is_any(key, lists))
        write_list(r, value, or_null && span_is(key, "anyOf"));
    else if (is_any(key, data))
        write_data(r, value);
    else if (is_any(key, single))
        write_schema(r, value);
    else
        json_write_raw(&r->w, json_raw(r->j, value));
}

static void write_schema(struct renaming *r, int node)
{
    char renamed[KEY_SIZE];
    if (json_type(r->j, node) != JSON_OBJECT) {
        json_write_raw(&r->w, json_raw(r->j, node));
        return;
    }
    free_name(r->j, json_get(r->j, node, "properties"), renamed);
    // Who validates a result reads JSON Schema, which has no such flag: null is one more branch.
    bool or_null = json_type(r->j, json_get(r->j, node, "nullable")) == JSON_TRUE;
    bool apart = or_null && node != JSON_ROOT && json_get(r->j, node, "anyOf") == JSON_NONE;
    if (apart) {
        json_object_open(&r->w);
        json_write_key(&r->w, "anyOf");
        json_array_open(&r->w);
    }
    json_object_open(&r->w);
    JSON_EACH(value, r->j, node)
    {
        struct span key = json_key_raw(r->j, value); // flatten writes keywords without escapes
        if (or_null && span_is(key, "nullable"))
            continue;
        json_write_key_span(&r->w, key);
        write_value(r, key, value, renamed, or_null);
    }
    json_object_close(&r->w);
    if (!apart)
        return;
    write_null(r);
    json_array_close(&r->w);
    json_object_close(&r->w);
}

int output_keys_rename(struct span schema, struct buffer *out)
{
    struct renaming r;
    struct json *j;
    int rc = json_parse(schema, &schemas_limits, &j, NULL);
    if (rc != 0)
        return rc;
    r.j = j;
    json_writer_init(&r.w, out);
    write_schema(&r, JSON_ROOT);
    rc = json_writer_finish(&r.w);
    json_free(j);
    return rc;
}
