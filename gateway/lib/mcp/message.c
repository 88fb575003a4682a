// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/mcp/message.h"

#include "gateway/lib/base/memory.h"

// The members of one object that route: found in one pass, refused when they stand twice.
struct member {
    struct span key;
    int *node;
};

static bool key_is(struct span raw, struct span key)
{
    if (memchr(raw.data, '\\', raw.size) == NULL)
        return span_equals(raw, key);
    // An escaped key names the same member; the longest escape of a byte is six characters.
    if (raw.size > key.size * 6)
        return false;
    struct buffer plain;
    buffer_init(&plain, raw.size);
    bool same = json_unescape(raw, &plain) && span_equals(buffer_span(&plain), key);
    buffer_fini(&plain);
    return same;
}

static int read_members(const struct json *doc, int object, const struct member *members,
                        size_t count, struct failure *why)
{
    for (size_t i = 0; i < count; i++)
        *members[i].node = JSON_NONE;
    if (json_type(doc, object) != JSON_OBJECT)
        return 0;
    JSON_EACH(child, doc, object)
    {
        struct span raw = json_key_raw(doc, child);
        for (size_t i = 0; i < count; i++) {
            if (!key_is(raw, members[i].key))
                continue;
            if (*members[i].node != JSON_NONE)
                return failure_set(why, FAULT_REQUEST, "\"%.*s\" stands twice in one object",
                                   SPAN_ARGS(members[i].key));
            *members[i].node = child;
            break;
        }
    }
    return 0;
}

static bool id_is_valid(const struct json *doc, int node, struct span raw)
{
    if (raw.size > MCP_ID_BYTES)
        return false;
    if (json_type(doc, node) == JSON_STRING)
        return true;
    // Integers of any size; a fraction or an exponent could be read back as another number.
    return json_type(doc, node) == JSON_NUMBER && memchr(raw.data, '.', raw.size) == NULL &&
           memchr(raw.data, 'e', raw.size) == NULL && memchr(raw.data, 'E', raw.size) == NULL;
}

static int read_string(const struct json *doc, int node, size_t limit, struct arena *arena,
                       const char *what, struct span *out, struct failure *why)
{
    if (json_type(doc, node) != JSON_STRING)
        return failure_set(why, FAULT_INVALID, "%s must be a string", what);
    if (json_raw(doc, node).size > limit)
        return failure_set(why, FAULT_INVALID, "%s is longer than %zu bytes", what, limit);
    if (json_string_plain(doc, node, out) || json_string_arena(doc, node, arena, out))
        return 0;
    return failure_set(why, FAULT_INVALID, "%s cannot be read", what);
}

static int read_meta(const struct json *doc, struct mcp_message *m, struct failure *why)
{
    if (m->meta != JSON_NONE && json_type(doc, m->meta) != JSON_OBJECT)
        return failure_set(why, FAULT_INVALID, "params._meta must be an object");
    const struct member members[] = {
        {SPAN_LITERAL(MCP_META_PREFIX "protocolVersion"), &m->claimed_version},
        {SPAN_LITERAL(MCP_META_PREFIX "clientInfo"), &m->client_info},
        {SPAN_LITERAL(MCP_META_PREFIX "clientCapabilities"), &m->client_capabilities},
        {SPAN_LITERAL(MCP_META_PREFIX "logLevel"), &m->log_level},
        {SPAN_LITERAL("progressToken"), &m->progress_token},
    };
    return read_members(doc, m->meta, members, ARRAY_COUNT(members), why);
}

static int read_params(const struct json *doc, struct arena *arena, struct mcp_message *m,
                       struct failure *why)
{
    if (m->params != JSON_NONE && json_type(doc, m->params) != JSON_OBJECT)
        return failure_set(why, FAULT_INVALID, "params must be an object");
    int name = JSON_NONE, uri = JSON_NONE, task = JSON_NONE;
    const struct member members[] = {
        {SPAN_LITERAL("name"), &name},
        {SPAN_LITERAL("uri"), &uri},
        {SPAN_LITERAL("taskId"), &task},
        {SPAN_LITERAL("_meta"), &m->meta},
        {SPAN_LITERAL("arguments"), &m->arguments},
    };
    int fault = read_members(doc, m->params, members, ARRAY_COUNT(members), why);
    if (fault == 0)
        fault = read_meta(doc, m, why);
    const char *key = mcp_method_name_key(m->method);
    if (fault != 0 || key == NULL)
        return fault;
    int node = key[0] == 'n' ? name : key[0] == 'u' ? uri : task;
    if (node == JSON_NONE)
        return failure_set(why, FAULT_INVALID, "params.%s is missing", key);
    const char *what = key[0] == 'n'   ? "params.name"
                       : key[0] == 'u' ? "params.uri"
                                       : "params.taskId";
    return read_string(doc, node, MCP_NAME_BYTES, arena, what, &m->name, why);
}

static void message_clear(struct mcp_message *m, int node)
{
    *m = (struct mcp_message){
        .node = node,
        .params = JSON_NONE,
        .meta = JSON_NONE,
        .arguments = JSON_NONE,
        .claimed_version = JSON_NONE,
        .client_info = JSON_NONE,
        .client_capabilities = JSON_NONE,
        .log_level = JSON_NONE,
        .progress_token = JSON_NONE,
    };
}

static int read_response(const struct json *doc, int result, int error, struct mcp_message *m,
                         struct failure *why)
{
    m->kind = MCP_RESPONSE;
    if ((result == JSON_NONE) == (error == JSON_NONE))
        return failure_set(why, FAULT_REQUEST, "a message has a method, or a result, or an error");
    if (error != JSON_NONE && json_type(doc, error) != JSON_OBJECT)
        return failure_set(why, FAULT_REQUEST, "error must be an object");
    if (result != JSON_NONE && span_is_absent(m->id))
        return failure_set(why, FAULT_REQUEST, "a response needs the id of its request");
    return 0;
}

int mcp_message_read(const struct json *doc, int node, struct arena *arena, struct mcp_message *out,
                     struct failure *why)
{
    message_clear(out, node);
    if (json_type(doc, node) != JSON_OBJECT)
        return failure_set(why, FAULT_REQUEST, "a message must be a JSON object");
    int version, id, method, result, error;
    const struct member members[] = {
        {SPAN_LITERAL("jsonrpc"), &version}, {SPAN_LITERAL("id"), &id},
        {SPAN_LITERAL("method"), &method},   {SPAN_LITERAL("params"), &out->params},
        {SPAN_LITERAL("result"), &result},   {SPAN_LITERAL("error"), &error},
    };
    int fault = read_members(doc, node, members, ARRAY_COUNT(members), why);
    if (fault != 0)
        return fault;
    bool null_id = json_type(doc, id) == JSON_NULL;
    if (id != JSON_NONE && !(null_id && method == JSON_NONE)) {
        if (!id_is_valid(doc, id, json_raw(doc, id)))
            return failure_set(why, FAULT_REQUEST, "id must be a string or an integer");
        out->id = json_raw(doc, id);
    }
    if (!json_string_is(doc, version, "2.0"))
        return failure_set(why, FAULT_REQUEST, "jsonrpc must be \"2.0\"");
    if (method == JSON_NONE)
        return read_response(doc, result, error, out, why);
    if (result != JSON_NONE || error != JSON_NONE)
        return failure_set(why, FAULT_REQUEST,
                           "a message with a method has no result and no error");
    if (read_string(doc, method, MCP_METHOD_BYTES, arena, "method", &out->method_text, why) != 0)
        return failure_set(why, FAULT_REQUEST, "method must be a string of at most %d bytes",
                           MCP_METHOD_BYTES);
    out->kind = span_is_absent(out->id) ? MCP_NOTIFICATION : MCP_REQUEST;
    out->method = mcp_method_from(out->method_text);
    return read_params(doc, arena, out, why);
}
