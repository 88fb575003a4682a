// SPDX-License-Identifier: Apache-2.0
#include "workers/link/dispatch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/writer.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/mcp/envelope.h"
#include "workers/link/answer.h"
#include "workers/link/card.h"
#include "workers/link/service.h"

enum { RESPONSE_LIMIT = 33 << 20, PROGRESS_MS = 10000 };

// A tool call that runs, and who waits for it.
struct pending {
    struct loop *loop;     // borrowed
    struct answer *answer; // waits for us
    const struct tool *tool;
    char *id;    // owned; the raw JSON-RPC id
    char *token; // owned; the raw progress token, "" for none
    enum mcp_era era;
    struct timer timer;
    int64_t started_us;
};

static void pending_free(void *object)
{
    struct pending *p = object;
    free(p->id);
    free(p->token);
    free(p);
}

static void answer_result(struct answer *answer, struct span id, struct span result)
{
    struct buffer json;
    buffer_init(&json, RESPONSE_LIMIT);
    if (mcp_write_result(&json, id, result) == 0)
        answer_add(answer, buffer_span(&json));
    else
        answer_skip(answer);
    buffer_fini(&json);
}

static void answer_error(struct answer *answer, struct span id, int code, struct span text)
{
    struct buffer json;
    buffer_init(&json, RESPONSE_LIMIT);
    (void)mcp_write_error(&json, id, code, text, SPAN_NONE);
    answer_add(answer, buffer_span(&json));
    buffer_fini(&json);
}

// A modern result says that it is one, and no question.
static void answer_complete(struct answer *answer, struct span id, struct span result)
{
    struct buffer json;
    buffer_init(&json, RESPONSE_LIMIT);
    if (buffer_append_string(&json, "{\"resultType\":\"complete\",") == 0 &&
        buffer_append(&json, span_slice(result, 1, result.size)) == 0)
        answer_result(answer, id, buffer_span(&json));
    else
        answer_skip(answer);
    buffer_fini(&json);
}

// --- tools/call -----------------------------------------------------------------------------

static void on_ended(void *owner, struct span result)
{
    struct pending *p = owner;
    timer_cancel(&p->timer);
    if (span_is_absent(result))
        answer_skip(p->answer);
    else if (p->era == MCP_ERA_MODERN)
        answer_complete(p->answer, span_from_string(p->id), result);
    else
        answer_result(p->answer, span_from_string(p->id), result);
    loop_bury(p->loop, p, pending_free);
}

// Tells a client with a time-out of its own that the call still runs.
static void on_progress(struct timer *timer)
{
    struct pending *p = CONTAINER_OF(timer, struct pending, timer);
    int64_t seconds = (loop_now_us(p->loop) - p->started_us) / 1000000;
    struct buffer json;
    buffer_init(&json, 8192);
    buffer_printf(&json,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                  "\"progressToken\":%s,\"progress\":%" PRId64 ",\"message\":\"%s still runs, "
                  "%" PRId64 " s so far\"}}",
                  p->token, seconds, p->tool->name, seconds);
    answer_notify(p->answer, buffer_span(&json));
    buffer_fini(&json);
    timer_start(timer, PROGRESS_MS);
}

static const struct tool *find_tool(const struct json *doc, const struct mcp_message *m,
                                    struct failure *why)
{
    if (span_is_absent(m->name)) {
        failure_set(why, FAULT_INVALID, "params.name must be a string");
        return NULL;
    }
    if (m->arguments != JSON_NONE && json_type(doc, m->arguments) != JSON_OBJECT) {
        failure_set(why, FAULT_INVALID, "params.arguments must be an object");
        return NULL;
    }
    const struct tool *tool = tool_find(m->name);
    if (tool == NULL)
        failure_set(why, FAULT_INVALID, "unknown tool: %.*s",
                    (int)(m->name.size < 128 ? m->name.size : 128), m->name.data);
    return tool;
}

static void tools_call(struct service *s, const struct json *doc, const struct mcp_message *m,
                       const struct caller *caller, struct answer *answer)
{
    struct failure why;
    const struct tool *tool = find_tool(doc, m, &why);
    if (tool == NULL) {
        answer_error(answer, m->id, MCP_ERROR_PARAMS, span_from_string(why.text));
        return;
    }
    struct pending *p = memory_new(sizeof *p);
    *p = (struct pending){
        .loop = s->options.loop,
        .answer = answer,
        .tool = tool,
        .era = caller->era,
        .id = memory_copy_span(m->id),
        .token = memory_copy_span(m->progress_token != JSON_NONE ? json_raw(doc, m->progress_token)
                                                                 : SPAN_NONE),
        .started_us = loop_now_us(s->options.loop),
    };
    timer_init(&p->timer, s->options.loop, on_progress);
    if (p->token[0] != '\0' && strlen(p->token) <= MCP_ID_BYTES)
        timer_start(&p->timer, PROGRESS_MS);
    const struct call_request request = {
        .tool = tool,
        .doc = doc,
        .arguments = m->arguments,
        .reader = caller->reader,
        .session = caller->session,
        .id = m->id,
        .link_id = caller->link_id,
    };
    call_start(s->options.calls, &request, on_ended, p);
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
    (void)s;
    (void)caller;
    buffer_init(&result, 64 << 10);
    (void)card_write_initialize(initialize_revision(doc, m), &result);
    answer_result(answer, m->id, buffer_span(&result));
    buffer_fini(&result);
}

static void ping(struct service *s, const struct json *doc, const struct mcp_message *m,
                 const struct caller *caller, struct answer *answer)
{
    (void)s;
    (void)doc;
    (void)caller;
    answer_result(answer, m->id, SPAN_LITERAL("{}"));
}

static void tools_list(struct service *s, const struct json *doc, const struct mcp_message *m,
                       const struct caller *caller, struct answer *answer)
{
    struct buffer result;
    (void)s;
    (void)doc;
    (void)caller;
    buffer_init(&result, 1 << 20);
    (void)card_write_tools(&result);
    answer_result(answer, m->id, buffer_span(&result));
    buffer_fini(&result);
}

static void cancelled(struct service *s, const struct json *doc, const struct mcp_message *m,
                      const struct caller *caller)
{
    int id = json_get(doc, m->params, "requestId");
    if (id != JSON_NONE)
        calls_cancel_request(s->options.calls, caller->session, json_raw(doc, id));
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
    answer_error(answer, m->id, MCP_ERROR_METHOD, SPAN_LITERAL("unknown method"));
}
