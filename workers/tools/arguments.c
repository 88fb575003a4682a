// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/arguments.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SHOWN_BYTES = 60 }; // of a wrong value

static const char *expected_name(enum tool_type type)
{
    switch (type) {
    case TOOL_STRING:
        return "a string";
    case TOOL_INTEGER:
        return "an integer";
    case TOOL_BOOLEAN:
        return "true or false";
    case TOOL_STRINGS:
        return "an array of strings";
    }
    return "something else";
}

static const char *came_name(enum json_type type)
{
    switch (type) {
    case JSON_NULL:
        return "null";
    case JSON_FALSE:
    case JSON_TRUE:
        return "the boolean";
    case JSON_NUMBER:
        return "the number";
    case JSON_STRING:
        return "the string";
    case JSON_ARRAY:
        return "the array";
    case JSON_OBJECT:
        return "the object";
    default:
        return "nothing";
    }
}

static int refuse_type(const struct tool *tool, const struct tool_param *p, const struct json *doc,
                       int node, struct failure *why)
{
    enum json_type came = json_type(doc, node);
    if (came == JSON_NULL)
        return failure_set(why, FAULT_INVALID, "%s: argument \"%s\" must be %s, not null%s",
                           tool->name, p->name, expected_name(p->type),
                           p->required ? "" : "; leave it out for the default");
    struct span raw = json_raw(doc, node);
    struct span shown = span_slice(raw, 0, SHOWN_BYTES);
    const char *hint = "";
    if (came == JSON_STRING && p->type != TOOL_STRING)
        hint = "; send the value without quotes";
    else if (came == JSON_NUMBER && p->type == TOOL_INTEGER)
        hint = "; send a whole number";
    return failure_set(why, FAULT_INVALID, "%s: argument \"%s\" must be %s, got %s %.*s%s%s",
                       tool->name, p->name, expected_name(p->type), came_name(came),
                       SPAN_ARGS(shown), raw.size > SHOWN_BYTES ? "…" : "", hint);
}

// Names for a message, with commas between, as far as they fit into `most` bytes.
struct name_list {
    size_t most, used;
    char text[256];
};

static bool name_list_add(struct name_list *l, const char *name)
{
    size_t size = strlen(name);
    if (l->used + size + 3 > l->most)
        return false;
    if (l->used > 0) {
        memcpy(l->text + l->used, ", ", 2);
        l->used += 2;
    }
    memcpy(l->text + l->used, name, size);
    l->used += size;
    return true;
}

static int refuse_choice(const struct tool *tool, const struct tool_param *p, struct span text,
                         struct failure *why)
{
    struct name_list list = {.most = 160};
    for (const char *const *choice = p->choice; *choice != NULL && name_list_add(&list, *choice);
         choice++)
        continue;
    return failure_set(why, FAULT_INVALID, "%s: argument \"%s\" must be one of %s, got \"%.*s\"",
                       tool->name, p->name, list.text, SPAN_ARGS(span_slice(text, 0, SHOWN_BYTES)));
}

static bool is_choice(const struct tool_param *p, struct span text)
{
    for (const char *const *choice = p->choice; *choice != NULL; choice++)
        if (span_is(text, *choice))
            return true;
    return false;
}

static int take_string(struct arguments *a, const struct tool_param *p, const struct json *doc,
                       int node, struct argument *out, struct failure *why)
{
    const char *tool = a->tool->name;
    if (json_type(doc, node) != JSON_STRING)
        return refuse_type(a->tool, p, doc, node, why);
    if (!json_string_plain(doc, node, &out->text) &&
        !json_string_arena(doc, node, a->arena, &out->text))
        return failure_set(why, FAULT_TOO_LARGE, "%s: argument \"%s\" is too long", tool, p->name);
    if (out->text.size < (size_t)p->min)
        return failure_set(why, FAULT_INVALID, "%s: argument \"%s\" must not be empty", tool,
                           p->name);
    if (p->max > 0 && out->text.size > (size_t)p->max)
        return failure_set(why, FAULT_TOO_LARGE,
                           "%s: argument \"%s\" has %zu bytes; at most %" PRId64 " are taken", tool,
                           p->name, out->text.size, p->max);
    if (p->choice != NULL && !is_choice(p, out->text))
        return refuse_choice(a->tool, p, out->text, why);
    return 0;
}

static int take_strings(struct arguments *a, const struct tool_param *p, const struct json *doc,
                        int node, struct argument *out, struct failure *why)
{
    if (json_type(doc, node) != JSON_ARRAY)
        return refuse_type(a->tool, p, doc, node, why);
    out->list = arena_alloc(a->arena, p->most * sizeof *out->list);
    JSON_EACH(child, doc, node)
    {
        struct argument one = {0};
        if ((size_t)out->number == p->most)
            return failure_set(why, FAULT_TOO_LARGE,
                               "%s: argument \"%s\" has too many strings; at most %zu are taken",
                               a->tool->name, p->name, p->most);
        int fault = take_string(a, p, doc, child, &one, why);
        if (fault != 0)
            return fault;
        out->list[out->number++] = one.text;
    }
    return 0;
}

static int take_integer(const struct tool *tool, const struct tool_param *p, const struct json *doc,
                        int node, struct argument *out, struct failure *why)
{
    if (json_type(doc, node) != JSON_NUMBER || !json_i64(doc, node, &out->number))
        return refuse_type(tool, p, doc, node, why);
    if (out->number >= p->min && (p->max == 0 || out->number <= p->max))
        return 0;
    if (p->max == 0)
        return failure_set(why, FAULT_INVALID,
                           "%s: argument \"%s\" must be at least %" PRId64 ", got %" PRId64,
                           tool->name, p->name, p->min, out->number);
    return failure_set(why, FAULT_INVALID,
                       "%s: argument \"%s\" must be between %" PRId64 " and %" PRId64
                       ", got %" PRId64,
                       tool->name, p->name, p->min, p->max, out->number);
}

static int take_boolean(const struct tool *tool, const struct tool_param *p, const struct json *doc,
                        int node, struct argument *out, struct failure *why)
{
    bool value;
    if (!json_bool(doc, node, &value))
        return refuse_type(tool, p, doc, node, why);
    out->number = value ? 1 : 0;
    return 0;
}

static int take(struct arguments *a, size_t index, const struct json *doc, int node,
                struct failure *why)
{
    const struct tool_param *p = &a->tool->params[index];
    struct argument *out = &a->value[index];
    out->given = true;
    switch (p->type) {
    case TOOL_STRING:
        return take_string(a, p, doc, node, out, why);
    case TOOL_INTEGER:
        return take_integer(a->tool, p, doc, node, out, why);
    case TOOL_BOOLEAN:
        return take_boolean(a->tool, p, doc, node, out, why);
    case TOOL_STRINGS:
        return take_strings(a, p, doc, node, out, why);
    }
    return failure_set(why, FAULT_INTERNAL, "a parameter row without a type");
}

static void use_fallback(const struct tool_param *p, struct argument *out)
{
    out->number = p->fallback;
    bool has_choice = p->choice != NULL && p->fallback != TOOL_NO_FALLBACK;
    out->text = has_choice ? span_from_string(p->choice[p->fallback]) : SPAN_NONE;
}

static int refuse_unknown(const struct tool *tool, struct span key, struct failure *why)
{
    struct name_list list = {.most = 256};
    for (const struct tool_param *p = tool->params;
         p->name != NULL && name_list_add(&list, p->name); p++)
        continue;
    return failure_set(why, FAULT_INVALID, "%s has no argument \"%.*s\"; it takes %s", tool->name,
                       SPAN_ARGS(span_slice(key, 0, SHOWN_BYTES)), list.text);
}

static int check_names(const struct tool *tool, const struct json *doc, int args,
                       struct failure *why)
{
    JSON_EACH(node, doc, args)
    {
        bool known = false;
        for (const struct tool_param *p = tool->params; p->name != NULL && !known; p++)
            known = span_is(json_key_raw(doc, node), p->name);
        if (!known)
            return refuse_unknown(tool, json_key_raw(doc, node), why);
    }
    int twice = json_object_duplicate(doc, args);
    if (twice != JSON_NONE)
        return failure_set(why, FAULT_INVALID, "%s: argument \"%.*s\" stands there twice",
                           tool->name, SPAN_ARGS(json_key_raw(doc, twice)));
    return 0;
}

int arguments_parse(struct arguments *a, const struct tool *tool, const struct json *doc, int args,
                    struct failure *why)
{
    *a = (struct arguments){.tool = tool, .arena = arena_new(ARGUMENTS_BYTES_MAX)};
    enum json_type type = json_type(doc, args);
    if (type != JSON_OBJECT && type != JSON_ABSENT)
        return failure_set(why, FAULT_INVALID, "%s: the arguments must be an object, got %s",
                           tool->name, came_name(type));
    int rc = check_names(tool, doc, args, why);
    for (size_t i = 0; rc == 0 && tool->params[i].name != NULL; i++) {
        const struct tool_param *p = &tool->params[i];
        int node = json_get(doc, args, p->name);
        if (node != JSON_NONE)
            rc = take(a, i, doc, node, why);
        else if (p->required)
            rc = failure_set(why, FAULT_INVALID,
                             "%s: argument \"%s\" is missing; it must be %s (%s)", tool->name,
                             p->name, expected_name(p->type), p->description);
        else
            use_fallback(p, &a->value[i]);
    }
    return rc;
}

void arguments_fini(struct arguments *a)
{
    arena_free(a->arena);
    a->arena = NULL;
}

static const struct argument *find(const struct arguments *a, const char *name)
{
    for (size_t i = 0; a->tool->params[i].name != NULL; i++)
        if (strcmp(a->tool->params[i].name, name) == 0)
            return &a->value[i];
    abort(); // a tool asks for an argument that its own row does not have
}

bool argument_given(const struct arguments *a, const char *name)
{
    return find(a, name)->given;
}

struct span argument_text(const struct arguments *a, const char *name)
{
    return find(a, name)->text;
}

int64_t argument_integer(const struct arguments *a, const char *name)
{
    return find(a, name)->number;
}

const struct span *argument_strings(const struct arguments *a, const char *name, size_t *count)
{
    const struct argument *found = find(a, name);
    *count = (size_t)found->number;
    return found->list;
}

bool argument_boolean(const struct arguments *a, const char *name)
{
    return find(a, name)->number != 0;
}
