// SPDX-License-Identifier: Apache-2.0
// The table as a JSON Schema, for editors.
#include "gateway/lib/config/tree.h"
#include "gateway/lib/config/value.h"
#include "gateway/lib/json/writer.h"

enum { SCHEMA_BYTES = 4 << 20 };

static void write_words(struct json_writer *w, const char *const *words)
{
    json_write_key(w, "enum");
    json_array_open(w);
    for (; *words != NULL; words++)
        json_write_string(w, span_from_string(*words));
    json_array_close(w);
}

static void write_integer(struct json_writer *w, const struct key *k)
{
    int64_t least, most;
    value_range(k, &least, &most);
    json_write_member_string(w, "type", "integer");
    json_write_member_i64(w, "minimum", least);
    if (most != INT64_MAX)
        json_write_member_i64(w, "maximum", most);
}

static void write_quantity(struct json_writer *w, const char *pattern)
{
    json_write_key(w, "type");
    json_write_raw(w, SPAN_LITERAL("[\"string\",\"integer\"]"));
    json_write_member_string(w, "pattern", pattern);
}

static void write_type(struct json_writer *w, const struct key *k)
{
    switch (k->kind) {
    case KEY_BOOL:
        json_write_member_string(w, "type", "boolean");
        break;
    case KEY_INTEGER:
        write_integer(w, k);
        break;
    case KEY_SIZE:
        write_quantity(w, "^[0-9]+ ?([KMGT]iB|B)?$");
        break;
    case KEY_DURATION:
        write_quantity(w, "^(0|[0-9]+ ?(ms|s|m|min|h|d))$");
        break;
    case KEY_ENUM:
    case KEY_WORD:
        write_words(w, k->words);
        break;
    case KEY_NAME:
        json_write_member_string(w, "type", "string");
        json_write_member_string(w, "pattern", "^[a-z0-9][a-z0-9-]*$");
        break;
    case KEY_PATH:
        json_write_member_string(w, "type", "string");
        json_write_member_string(w, "pattern", "^/");
        break;
    default: // a number in the file is a string to these, too
        json_write_key(w, "type");
        json_write_raw(w, SPAN_LITERAL("[\"string\",\"number\",\"boolean\"]"));
    }
}

static void write_default(struct json_writer *w, const struct key *k)
{
    if (k->fallback == NULL || k->kind == KEY_STRINGS)
        return;
    json_write_key(w, "default");
    if (k->kind == KEY_BOOL || k->kind == KEY_INTEGER)
        json_write_raw(w, span_from_string(k->fallback));
    else
        json_write_string(w, span_from_string(k->fallback));
}

static void write_group(struct json_writer *w, const struct key_table *t, const char *pattern);

static void write_counts(struct json_writer *w, const struct key *k, bool list)
{
    if (k->least > 0)
        json_write_member_i64(w, list ? "minItems" : "minProperties", k->least);
    if (k->most > 0)
        json_write_member_i64(w, list ? "maxItems" : "maxProperties", k->most);
}

static void write_elements(struct json_writer *w, const struct key_table *t,
                           const struct key_child *c)
{
    bool list = c->key->kind != KEY_MAP;
    json_write_member_string(w, "type", list ? "array" : "object");
    write_counts(w, c->key, list);
    json_write_key(w, list ? "items" : "additionalProperties");
    json_object_open(w);
    if (c->key->kind == KEY_STRINGS)
        json_write_member_string(w, "type", "string");
    else
        write_group(w, t, c->pattern);
    json_object_close(w);
    if (!list)
        json_write_key(w, "propertyNames");
    if (!list)
        json_write_raw(w, SPAN_LITERAL("{\"pattern\":\"^[a-z0-9][a-z0-9-]*$\"}"));
}

static void write_child(struct json_writer *w, const struct key_table *t, const struct key_child *c)
{
    json_write_key(w, c->segment);
    json_object_open(w);
    if (c->key != NULL)
        json_write_member_string(w, "description", c->key->help);
    if (c->key == NULL)
        write_group(w, t, c->pattern);
    else if (!key_is_leaf(c->key) || c->key->kind == KEY_STRINGS)
        write_elements(w, t, c);
    else
        write_type(w, c->key);
    if (c->key != NULL)
        write_default(w, c->key);
    json_object_close(w);
}

static void write_required(struct json_writer *w, const struct key_table *t, const char *pattern)
{
    struct key_child c;
    bool any = false;
    for (size_t at = 0; key_child_next(t, pattern, &at, &c);) {
        bool required =
            c.key != NULL && (c.key->required || (!key_is_leaf(c.key) && c.key->least > 0));
        if (required && !any) {
            json_write_key(w, "required");
            json_array_open(w);
            any = true;
        }
        if (required)
            json_write_string(w, span_from_string(c.segment));
    }
    if (any)
        json_array_close(w);
}

// The members of an object schema; the caller opens and closes it.
static void write_group(struct json_writer *w, const struct key_table *t, const char *pattern)
{
    struct key_child c;
    json_write_member_string(w, "type", "object");
    json_write_key(w, "properties");
    json_object_open(w);
    for (size_t at = 0; key_child_next(t, pattern, &at, &c);)
        write_child(w, t, &c);
    json_object_close(w);
    write_required(w, t, pattern);
    json_write_member_bool(w, "additionalProperties", false);
}

// The file is for people as well: one member a line.
static int indent_json(struct span json, struct buffer *out)
{
    int depth = 0, rc = 0;
    bool in_string = false;
    for (size_t i = 0; i < json.size && rc == 0; i++) {
        char c = json.data[i];
        if (in_string && c == '\\')
            rc = buffer_append_char(out, json.data[i++]);
        else if (c == '"')
            in_string = !in_string;
        bool closes = !in_string && (c == '}' || c == ']');
        if (closes)
            depth--;
        if (rc == 0 && closes)
            rc = buffer_printf(out, "\n%*s", 2 * depth, "");
        if (rc == 0)
            rc = buffer_append_char(out, json.data[i]);
        if (in_string || c == '"' || rc != 0)
            continue;
        bool opens = c == '{' || c == '[';
        depth += opens;
        if (opens || c == ',')
            rc = buffer_printf(out, "\n%*s", 2 * depth, "");
        else if (c == ':')
            rc = buffer_append_char(out, ' ');
    }
    return rc != 0 ? rc : buffer_append_char(out, '\n');
}

int keys_write_schema(const struct key_table *t, struct buffer *out)
{
    struct json_writer w;
    struct buffer compact;
    buffer_init(&compact, SCHEMA_BYTES);
    json_writer_init(&w, &compact);
    json_object_open(&w);
    json_write_member_string(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_write_member_string(&w, "title", t->program);
    json_write_member_string(&w, "description", t->title);
    write_group(&w, t, "");
    json_object_close(&w);
    int rc = json_writer_finish(&w);
    if (rc == 0)
        rc = indent_json(buffer_span(&compact), out);
    buffer_fini(&compact);
    return rc;
}
