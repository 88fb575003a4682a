// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/parameters.h"

#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/exchange.h"
#include "gateway/lib/mcp/header_value.h"

enum { MARKS_MOST = 1024, DEPTH_MOST = 8, HEADER_BYTES = 128, TOOL_BYTES = 256 };
#define PREFIX "mcp-param-"

struct mark {
    struct list node;
    char tool[TOOL_BYTES];
    char header[HEADER_BYTES]; // lower-case
    char *path[DEPTH_MOST];    // owned; the names of properties from the arguments down
    size_t depth;
};

struct parameters {
    struct list marks; // owned
    size_t count;
};

// --- what a list marks ---------------------------------------------------------------------------

static bool is_token(struct span s)
{
    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL))
            return false;
    }
    return s.size > 0;
}

static bool read_header(const struct json *j, int property, char out[HEADER_BYTES])
{
    struct span name;
    int type = json_get(j, property, "type");
    bool is_plain = json_string_is(j, type, "string") || json_string_is(j, type, "integer") ||
                    json_string_is(j, type, "boolean");
    if (!is_plain || !json_string_plain(j, json_get(j, property, "x-mcp-header"), &name) ||
        !is_token(name) || sizeof PREFIX + name.size > HEADER_BYTES)
        return false;
    memcpy(out, PREFIX, sizeof PREFIX - 1);
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        out[sizeof PREFIX - 1 + i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    out[sizeof PREFIX - 1 + name.size] = '\0';
    return true;
}

static void add_mark(struct parameters *p, const char *tool, const char *header,
                     const struct span *path, size_t depth)
{
    if (p->count == MARKS_MOST)
        return;
    struct mark *m = memory_new(sizeof *m);
    memcpy(m->tool, tool, sizeof m->tool);
    memcpy(m->header, header, sizeof m->header);
    for (; m->depth < depth; m->depth++)
        m->path[m->depth] = memory_copy_span(path[m->depth]);
    list_append(&p->marks, &m->node);
    p->count++;
}

// Only a pure chain of `properties` leads to an argument that is surely there or not.
static void read_properties(struct parameters *p, const struct json *j, int schema,
                            const char *tool, struct span path[DEPTH_MOST], size_t depth)
{
    char header[HEADER_BYTES];
    if (depth == DEPTH_MOST)
        return;
    JSON_EACH(property, j, json_get(j, schema, "properties"))
    {
        path[depth] = json_key_raw(j, property);
        if (json_type(j, property) != JSON_OBJECT)
            continue;
        if (read_header(j, property, header))
            add_mark(p, tool, header, path, depth + 1);
        read_properties(p, j, property, tool, path, depth + 1);
    }
}

struct parameters *parameters_new(struct span tools)
{
    struct parameters *p = memory_new(sizeof *p);
    struct span path[DEPTH_MOST], name;
    struct failure why;
    struct json *j = NULL;
    char tool[TOOL_BYTES];
    list_init(&p->marks);
    if (span_is_absent(tools) || json_parse(tools, NULL, &j, &why) != 0)
        return p;
    JSON_EACH(node, j, JSON_ROOT)
    {
        if (json_string_plain(j, json_get(j, node, "name"), &name) &&
            span_copy_string(name, tool, sizeof tool))
            read_properties(p, j, json_get(j, node, "inputSchema"), tool, path, 0);
    }
    json_free(j);
    return p;
}

void parameters_free(struct parameters *p)
{
    if (p == NULL)
        return;
    for (struct list *node; (node = list_pop(&p->marks)) != NULL;) {
        struct mark *m = LIST_ENTRY(node, struct mark, node);
        for (size_t i = 0; i < m->depth; i++)
            free(m->path[i]);
        free(m);
    }
    free(p);
}

// --- whether a request agrees --------------------------------------------------------------------

static bool numbers_agree(const struct json *doc, int argument, struct span sent)
{
    static const struct json_limits limits = {.bytes = 64, .tokens = 2, .depth = 1};
    struct json *j = NULL;
    struct failure why;
    double meant = 0, told = 0;
    bool agree = json_parse(sent, &limits, &j, &why) == 0 && json_double(j, JSON_ROOT, &told) &&
                 json_double(doc, argument, &meant) && told == meant;
    json_free(j);
    return agree;
}

static bool agrees(const struct json *doc, int argument, struct span sent, struct arena *arena)
{
    struct span text;
    bool is;
    switch (json_type(doc, argument)) {
    case JSON_STRING:
        return json_string_arena(doc, argument, arena, &text) && span_equals(text, sent);
    case JSON_NUMBER:
        return numbers_agree(doc, argument, sent);
    default:
        return json_bool(doc, argument, &is) && span_is(sent, is ? "true" : "false");
    }
}

static int check_mark(const struct mark *m, const struct exchange *ex, const struct json *doc,
                      int arguments, struct arena *arena, struct failure *why)
{
    struct span sent = exchange_header(ex, m->header), value;
    int argument = arguments;
    for (size_t i = 0; i < m->depth && argument != JSON_NONE; i++)
        argument = json_type(doc, argument) == JSON_OBJECT ? json_get(doc, argument, m->path[i])
                                                           : JSON_NONE;
    bool is_given = argument != JSON_NONE && json_type(doc, argument) != JSON_NULL;
    if (!is_given && span_is_absent(sent))
        return 0;
    if (!is_given)
        return failure_set(why, FAULT_INVALID, "the header %s stands for no argument", m->header);
    if (span_is_absent(sent))
        return failure_set(why, FAULT_INVALID, "the header %s is missing", m->header);
    if (exchange_header_repeats(ex, m->header) > 1)
        return failure_set(why, FAULT_INVALID, "the header %s stands twice", m->header);
    if (mcp_header_decode(sent, arena, &value, why) != 0) {
        failure_prefix(why, "%s", m->header);
        return FAULT_INVALID;
    }
    if (!agrees(doc, argument, value, arena))
        return failure_set(why, FAULT_INVALID, "the header %s differs from the body", m->header);
    return 0;
}

int parameters_check(const struct parameters *p, const struct exchange *ex, const struct json *doc,
                     struct span tool, int arguments, struct arena *arena, struct failure *why)
{
    int fault = 0;
    LIST_EACH(node, &p->marks)
    {
        const struct mark *m = LIST_ENTRY(node, struct mark, node);
        if (fault == 0 && span_is(tool, m->tool))
            fault = check_mark(m, ex, doc, arguments, arena, why);
    }
    return fault;
}
