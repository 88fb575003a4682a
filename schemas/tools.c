// SPDX-License-Identifier: Apache-2.0
#include "schemas/tools.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/json/edit.h"
#include "gateway/lib/json/writer.h"
#include "schemas/flatten.h"
#include "schemas/omitted.h"

enum { TOOLS_MAX = 100000 };

struct tool_map {
    struct arena *arena;     // owned
    struct table *names;     // owned: provider's name to a span in the arena
    struct table *arguments; // owned: provider's name, NUL, provider's key to a span
    struct table *strict;    // owned: provider's name to the server's inputSchema, a span
};

static const size_t arena_limit = (size_t)1 << 30;

struct listing {
    const struct json *j;
    const struct provider *p;
    struct tool_map *map;
    struct tool_name *names;
    size_t count;
};

void tool_map_free(struct tool_map *map)
{
    if (map == NULL)
        return;
    table_free(map->names);
    table_free(map->arguments);
    table_free(map->strict);
    arena_free(map->arena);
    free(map);
}

struct span tool_map_name(const struct tool_map *map, struct span provider_name)
{
    const struct span *found = table_get(map->names, provider_name);
    return found != NULL ? *found : provider_name;
}

static void argument_key(struct buffer *key, struct span tool, struct span argument)
{
    buffer_init(key, tool.size + argument.size + 1);
    buffer_append(key, tool);
    buffer_append_char(key, '\0');
    buffer_append(key, argument);
}

struct span tool_map_argument(const struct tool_map *map, struct span provider_name,
                              struct span key)
{
    struct buffer both;
    argument_key(&both, provider_name, key);
    const struct span *found = table_get(map->arguments, buffer_span(&both));
    buffer_fini(&both);
    return found != NULL ? *found : key;
}

// Keys are mapped at the top only: no provider has rules for those below.
static void write_argument(const struct tool_map *map, struct span tool, const struct json *j,
                           int value, struct json_writer *w)
{
    struct buffer key;
    buffer_init(&key, json_key_raw(j, value).size);
    (void)json_unescape(json_key_raw(j, value), &key);
    json_write_key_span(w, tool_map_argument(map, tool, buffer_span(&key)));
    json_write_raw(w, json_raw(j, value));
    buffer_fini(&key);
}

static bool map_keys(const struct tool_map *map, struct span tool, const struct json *j,
                     int arguments, struct buffer *out)
{
    struct json_writer w;
    if (table_count(map->arguments) == 0)
        return false;
    json_writer_init(&w, out);
    json_object_open(&w);
    JSON_EACH(value, j, arguments)
    write_argument(map, tool, j, value, &w);
    json_object_close(&w);
    return json_writer_finish(&w) == 0;
}

static bool omit_nulls(const struct tool_map *map, struct span tool, struct span arguments,
                       struct buffer *out)
{
    const struct span *schema = table_get(map->strict, tool);
    return schema != NULL && nulls_omit(*schema, arguments, out) == 0;
}

bool tool_map_arguments(const struct tool_map *map, struct span provider_name, const struct json *j,
                        int arguments, struct buffer *out)
{
    struct buffer mapped;
    if (json_type(j, arguments) != JSON_OBJECT)
        return false;
    buffer_init(&mapped, out->limit);
    bool changed = map_keys(map, provider_name, j, arguments, &mapped);
    struct span now = changed ? buffer_span(&mapped) : json_raw(j, arguments);
    if (!omit_nulls(map, provider_name, now, out)) {
        buffer_clear(out);
        if (changed)
            changed = buffer_append(out, now) == 0;
    } else {
        changed = true;
    }
    buffer_fini(&mapped);
    return changed;
}

static void *kept_span(struct tool_map *map, struct span text)
{
    struct span *kept = arena_alloc(map->arena, sizeof *kept);
    *kept = arena_copy(map->arena, text);
    return kept;
}

static void keep_renames(struct tool_map *map, struct span tool, const struct flatten_result *r)
{
    for (unsigned i = 0; i < r->rename_count; i++) {
        struct buffer key;
        argument_key(&key, tool, r->rename[i].to);
        table_put(map->arguments, buffer_span(&key), kept_span(map, r->rename[i].from));
        buffer_fini(&key);
    }
}

// A tool's schemas as the provider gets them, and what its description says beyond the server's
// words.
struct rewritten {
    struct buffer input, output;
    struct failure why;      // a schema that became open
    struct span description; // JSON text of what the root could not carry
};

static int flatten_for(struct listing *l, int schema, enum schema_kind kind, struct buffer *out,
                       struct flatten_result **r, struct failure *why)
{
    // Results come as the server made them, so their schema is never strict, nor are keys renamed.
    struct flatten_options options = {.kind = kind, .keep_keys = kind == SCHEMA_OUTPUT};
    struct span raw = json_raw(l->j, schema);
    const struct provider *otherwise = l->p->otherwise;
    if (kind == SCHEMA_OUTPUT && l->p->strict && otherwise != NULL)
        return flatten(raw, otherwise, &options, out, r, why);
    int rc = flatten(raw, l->p, &options, out, r, why);
    if (rc != FAULT_UNSUPPORTED || otherwise == NULL)
        return rc;
    flatten_result_free(*r);
    return flatten(raw, otherwise, &options, out, r, why);
}

static void rewrite_schema(struct listing *l, int schema, enum schema_kind kind, struct span tool,
                           struct rewritten *to)
{
    struct buffer *out = kind == SCHEMA_INPUT ? &to->input : &to->output;
    struct flatten_result *r;
    struct failure why = {0};
    if (schema == JSON_NONE)
        return;
    if (flatten_for(l, schema, kind, out, &r, &why) == 0) {
        if (kind == SCHEMA_INPUT) {
            keep_renames(l->map, tool, r);
            if (l->p->all_required)
                table_put(l->map->strict, tool, kept_span(l->map, json_raw(l->j, schema)));
            to->description = arena_copy(l->map->arena, r->description);
        }
    } else {
        buffer_append_string(out, "{\"type\":\"object\",\"properties\":{}}");
        to->why = why;
    }
    flatten_result_free(r);
}

static void append_text(const struct json *j, int node, struct buffer *text)
{
    if (buffer_size(text) > 0)
        buffer_append_char(text, ' ');
    (void)json_string(j, node, text);
}

static void write_description(struct listing *l, int tool, const struct rewritten *remark,
                              struct json_writer *w)
{
    struct buffer text;
    struct json *more;
    buffer_init(&text, json_raw(l->j, tool).size + remark->description.size + 1024);
    append_text(l->j, json_get(l->j, tool, "description"), &text);
    if (remark->description.size > 0 && json_parse(remark->description, NULL, &more, NULL) == 0) {
        append_text(more, JSON_ROOT, &text);
        json_free(more);
    }
    if (remark->why.fault != 0)
        buffer_printf(&text, " (any arguments are shown as allowed: %s)", remark->why.text);
    json_write_key(w, "description");
    json_write_string(w, buffer_span(&text));
    buffer_fini(&text);
}

static void write_member(struct listing *l, int tool, int value, struct span name,
                         const struct rewritten *to, struct json_writer *w)
{
    struct span key = json_key_raw(l->j, value);
    bool told = to->why.fault != 0 || to->description.size > 0;
    if (span_is(key, "description") && told) {
        write_description(l, tool, to, w);
        return;
    }
    json_write_raw(w, span_of(key.data - 1, key.size + 2));
    w->comma = false;
    if (w->fault == 0)
        w->fault = buffer_append_char(w->out, ':');
    if (span_is(key, "name"))
        json_write_string(w, name);
    else if (span_is(key, "inputSchema"))
        json_write_raw(w, buffer_span(&to->input));
    else if (span_is(key, "outputSchema"))
        json_write_raw(w, buffer_span(&to->output));
    else
        json_write_raw(w, json_raw(l->j, value));
}

static void write_tool(struct listing *l, int tool, struct span name, struct json_writer *w)
{
    const struct json *j = l->j;
    struct rewritten to = {.description = SPAN_NONE};
    buffer_init(&to.input, w->out->limit);
    buffer_init(&to.output, w->out->limit);
    rewrite_schema(l, json_get(j, tool, "inputSchema"), SCHEMA_INPUT, name, &to);
    rewrite_schema(l, json_get(j, tool, "outputSchema"), SCHEMA_OUTPUT, name, &to);
    json_object_open(w);
    JSON_EACH(value, j, tool)
    write_member(l, tool, value, name, &to, w);
    bool told = to.why.fault != 0 || to.description.size > 0;
    if (told && json_get(j, tool, "description") == JSON_NONE)
        write_description(l, tool, &to, w);
    json_object_close(w);
    buffer_fini(&to.input);
    buffer_fini(&to.output);
}

static void map_names(struct listing *l, int tools)
{
    size_t at = 0;
    JSON_EACH(tool, l->j, tools)
    {
        l->names[at].from = SPAN_LITERAL("");
        (void)json_string_arena(l->j, json_get(l->j, tool, "name"), l->map->arena,
                                &l->names[at++].from);
    }
    names_map(l->names, l->count, l->p, l->map->arena);
    for (at = 0; at < l->count; at++)
        if (!span_equals(l->names[at].from, l->names[at].to))
            table_put(l->map->names, l->names[at].to, kept_span(l->map, l->names[at].from));
}

static int write_tools(struct listing *l, int tools, struct buffer *out)
{
    struct json_writer w;
    size_t at = 0;
    json_writer_init(&w, out);
    json_array_open(&w);
    JSON_EACH(tool, l->j, tools)
    {
        if (json_type(l->j, tool) == JSON_OBJECT)
            write_tool(l, tool, l->names[at].to, &w);
        else
            json_write_raw(&w, json_raw(l->j, tool));
        at++;
    }
    json_array_close(&w);
    return json_writer_finish(&w);
}

static int rewrite(const struct json *j, const struct provider *p, struct tool_map *map,
                   struct buffer *out, struct failure *why)
{
    int tools = json_get(j, JSON_ROOT, "tools");
    struct listing l = {.j = j, .p = p, .map = map, .count = json_count(j, tools)};
    if (json_type(j, tools) != JSON_ARRAY || l.count > TOOLS_MAX)
        return failure_set(why, FAULT_PARSE, "the list has no \"tools\", or too many");
    struct buffer list;
    struct json_edit e;
    buffer_init(&list, out->limit);
    l.names = memory_new_array(l.count + 1, sizeof *l.names);
    map_names(&l, tools);
    int rc = write_tools(&l, tools, &list);
    free(l.names);
    json_edit_init(&e, j);
    if (rc == 0)
        rc = json_edit_replace(&e, tools, buffer_span(&list));
    if (rc == 0)
        rc = json_edit_write(&e, out);
    buffer_fini(&list);
    return rc == 0 ? 0 : failure_set(why, rc, "the rewritten list is too large");
}

int tools_rewrite(struct span result, const struct provider *p, struct buffer *out,
                  struct tool_map **map, struct failure *why)
{
    static const struct json_limits limits = {.bytes = 64U << 20, .tokens = 4U << 20, .depth = 512};
    struct json *j;
    *map = NULL;
    int rc = json_parse(result, &limits, &j, why);
    if (rc != 0)
        return rc;
    struct tool_map *m = memory_new(sizeof *m);
    m->arena = arena_new(arena_limit);
    m->names = table_new();
    m->arguments = table_new();
    m->strict = table_new();
    rc = rewrite(j, p, m, out, why);
    json_free(j);
    if (rc != 0)
        tool_map_free(m);
    else
        *map = m;
    return rc;
}
