// SPDX-License-Identifier: Apache-2.0
#include "workers/link/dispatch.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/mcp/envelope.h"
#include "workers/link/card.h"
#include "workers/link/pending.h"
#include "workers/link/respond.h"
#include "workers/link/service.h"

// --- tools/call -----------------------------------------------------------------------------

static const struct tool *find_tool(const struct service *s, const struct json *doc,
                                    const struct mcp_message *m, struct failure *why)
{
    if (span_is_absent(m->name)) {
        failure_set(why, FAULT_INVALID, "params.name must be a string");
        return NULL;
    }
    if (m->arguments != JSON_NONE && json_type(doc, m->arguments) != JSON_OBJECT) {
        failure_set(why, FAULT_INVALID, "params.arguments must be an object");
        return NULL;
    }
    const struct tool *tool = tool_find(m->name, s->options.start->read_only);
    if (tool == NULL)
        failure_set(why, FAULT_INVALID, "unknown tool: %.*s",
                    (int)(m->name.size < 128 ? m->name.size : 128), m->name.data);
    return tool;
}

static void tools_call(struct service *s, const struct json *doc, const struct mcp_message *m,
                       const struct caller *caller, struct answer *answer)
{
    struct failure why;
    const struct tool *tool = find_tool(s, doc, m, &why);
    if (tool == NULL) {
        respond_error(answer, m->id, MCP_ERROR_PARAMS, span_from_string(why.text));
        return;
    }
    pending_call(s->pendings, tool, doc, m, caller, answer);
}

// --- what is answered at once ---------------------------------------------------------------

enum mcp_revision initialize_revision(const struct json *doc, const struct mcp_message *m)
{
    struct span version = SPAN_NONE;
    (void)json_string_plain(doc, json_get(doc, m->params, "protocolVersion"), &version);
    return mcp_revision_negotiate(version);
}

static void initialize(struct service *s, const struct json *doc, const struct mcp_message *m,
                       const struct caller *caller, struct answer *answer)
{
    struct buffer result;
    (void)caller;
    buffer_init(&result, 64 << 10);
    (void)card_write_initialize(s->options.start->read_only, initialize_revision(doc, m), &result);
    respond_result(answer, m->id, buffer_span(&result));
    buffer_fini(&result);
}

static void ping(struct service *s, const struct json *doc, const struct mcp_message *m,
                 const struct caller *caller, struct answer *answer)
{
    (void)s;
    (void)doc;
    (void)caller;
    respond_result(answer, m->id, SPAN_LITERAL("{}"));
}

static void tools_list(struct service *s, const struct json *doc, const struct mcp_message *m,
                       const struct caller *caller, struct answer *answer)
{
    struct buffer result;
    (void)doc;
    (void)caller;
    buffer_init(&result, 1 << 20);
    (void)card_write_tools(s->options.start->read_only, &result);
    respond_result(answer, m->id, buffer_span(&result));
    buffer_fini(&result);
}

static void cancelled(struct service *s, const struct json *doc, const struct mcp_message *m,
                      const struct caller *caller)
{
    int id = json_get(doc, m->params, "requestId");
    if (id != JSON_NONE)
        pendings_cancel_request(s->pendings, caller_whose(caller), json_raw(doc, id));
}

static const struct {
    enum mcp_method method;
    void (*run)(struct service *s, const struct json *doc, const struct mcp_message *m,
                const struct caller *caller, struct answer *answer);
} methods[] = {
    {MCP_METHOD_INITIALIZE, initialize},
    {MCP_METHOD_PING, ping},
    {MCP_METHOD_TOOLS_LIST, tools_list},
    {MCP_METHOD_TOOLS_CALL, tools_call},
};

void dispatch_message(struct service *s, const struct json *doc, const struct mcp_message *m,
                      const struct caller *caller, struct answer *answer)
{
    if (m->kind == MCP_NOTIFICATION && m->method == MCP_METHOD_CANCELLED)
        cancelled(s, doc, m, caller);
    if (m->kind != MCP_REQUEST)
        return;
    for (size_t i = 0; i < ARRAY_COUNT(methods); i++) {
        if (methods[i].method != m->method)
            continue;
        methods[i].run(s, doc, m, caller, answer);
        return;
    }
    respond_error(answer, m->id, MCP_ERROR_METHOD, SPAN_LITERAL("unknown method"));
}
