// SPDX-License-Identifier: Apache-2.0
// What a client sees of the table: schemas without any $ref, and true annotations.
#include "workers/tools/tool.h"

static const char *type_name(enum tool_type type)
{
    switch (type) {
    case TOOL_STRING:
        return "string";
    case TOOL_INTEGER:
        return "integer";
    case TOOL_BOOLEAN:
        return "boolean";
    case TOOL_STRINGS:
        return "array";
    }
    return "string";
}

static void write_choices(const struct tool_param *p, struct json_writer *w)
{
    json_write_key(w, "enum");
    json_array_open(w);
    for (const char *const *choice = p->choice; *choice != NULL; choice++)
        json_write_string(w, span_from_string(*choice));
    json_array_close(w);
    if (!p->required && p->fallback != TOOL_NO_FALLBACK)
        json_write_member_string(w, "default", p->choice[p->fallback]);
}

static void write_param(const struct tool_param *p, struct json_writer *w)
{
    json_write_key(w, p->name);
    json_object_open(w);
    json_write_member_string(w, "type", type_name(p->type));
    json_write_member_string(w, "description", p->description);
    if (p->choice != NULL)
        write_choices(p, w);
    if (p->type == TOOL_STRINGS) {
        json_write_key(w, "items");
        json_object_open(w);
        json_write_member_string(w, "type", "string");
        json_object_close(w);
        json_write_member_i64(w, "maxItems", (int64_t)p->most);
    }
    if (p->type == TOOL_STRING && p->min > 0)
        json_write_member_i64(w, "minLength", p->min);
    if (p->type == TOOL_INTEGER) {
        json_write_member_i64(w, "minimum", p->min);
        if (p->max > 0)
            json_write_member_i64(w, "maximum", p->max);
        if (!p->required)
            json_write_member_i64(w, "default", p->fallback);
    }
    if (p->type == TOOL_BOOLEAN && !p->required)
        json_write_member_bool(w, "default", p->fallback != 0);
    json_object_close(w);
}

void tool_schema_write(const struct tool *tool, struct json_writer *w)
{
    json_object_open(w);
    json_write_member_string(w, "type", "object");
    json_write_key(w, "properties");
    json_object_open(w);
    for (const struct tool_param *p = tool->params; p->name != NULL; p++)
        write_param(p, w);
    json_object_close(w);
    json_write_key(w, "required");
    json_array_open(w);
    for (const struct tool_param *p = tool->params; p->name != NULL; p++)
        if (p->required)
            json_write_string(w, span_from_string(p->name));
    json_array_close(w);
    json_write_member_bool(w, "additionalProperties", false);
    json_object_close(w);
}

static void write_annotations(const struct tool *tool, struct json_writer *w)
{
    json_write_key(w, "annotations");
    json_object_open(w);
    json_write_member_string(w, "title", tool->title);
    json_write_member_bool(w, "readOnlyHint", tool->annotations.read_only);
    json_write_member_bool(w, "destructiveHint", tool->annotations.destructive);
    json_write_member_bool(w, "idempotentHint", tool->annotations.idempotent);
    json_write_member_bool(w, "openWorldHint", tool->annotations.open_world);
    json_object_close(w);
}

static void write_tool(const struct tool *tool, struct json_writer *w)
{
    json_object_open(w);
    json_write_member_string(w, "name", tool->name);
    json_write_member_string(w, "title", tool->title);
    json_write_member_string(w, "description", tool->description);
    json_write_key(w, "inputSchema");
    tool_schema_write(tool, w);
    if (tool->output_schema != NULL) {
        json_write_key(w, "outputSchema");
        json_write_raw(w, span_from_string(tool->output_schema));
    }
    write_annotations(tool, w);
    json_object_close(w);
}

void tool_list_write(struct json_writer *w, bool read_only)
{
    json_array_open(w);
    for (size_t i = 0; i < tool_count; i++)
        if (!read_only || tool_table[i].in_read_only)
            write_tool(&tool_table[i], w);
    json_array_close(w);
}
