// SPDX-License-Identifier: Apache-2.0
//
// POST on an MCP URL, from the head to the bound sandbox; the steps stand in the table at the end.
#include "gateway/proxy/post.h"

#include <stdio.h>

#include "gateway/lib/loop/loop.h"
#include "gateway/proxy/dispatch.h"
#include "gateway/proxy/parameters.h"

enum {
    ARENA_BYTES = 1 << 20,
    OUT_BYTES = 16 << 20,
    JSON_TOKENS = 1 << 18,
    JSON_DEPTH = 128,
};

static void end(struct post *p)
{
    if (p->is_ended)
        return;
    p->is_ended = true;
    list_remove(&p->node);
    serve_release(p);
    listen_release(p);
    if (p->wait != NULL)
        bind_wait_cancel(p->wait);
    p->wait = NULL;
    timer_cancel(&p->timer);
    reply_fini(&p->reply);
    visit_drop(p->v);
}

enum step post_refuse(struct post *p, int status, int code, struct span id, const char *text)
{
    buffer_clear(&p->out);
    mcp_write_error(&p->out, id, code, span_from_string(text), SPAN_NONE);
    p->reply.is_batch = p->reply.is_batch && p->reply.form != REPLY_OPEN;
    reply_message(&p->reply, status, buffer_span(&p->out));
    reply_end(&p->reply);
    return STEP_DONE;
}

static struct span request_id(const struct post *p)
{
    return p->mcp.count == 1 && !p->mcp.is_batch ? p->mcp.messages->id : SPAN_NONE;
}

// --- the head ------------------------------------------------------------------------------------

static enum step check_head(struct post *p)
{
    struct visit *v = p->v;
    struct failure why;
    struct accept accept = accept_parse(exchange_header(v->ex, "accept"));
    reply_init(&p->reply, v, accept, false);
    if (!accept.json && !accept.events) {
        p->reply.accept.json = true; // the refusal has to be something
        return post_refuse(p, 406, MCP_ERROR_LEGACY, SPAN_NONE,
                           "answers are application/json or text/event-stream");
    }
    if (!media_type_is_json(exchange_header(v->ex, "content-type")))
        return post_refuse(p, 415, MCP_ERROR_LEGACY, SPAN_NONE,
                           "Content-Type must be application/json");
    if (place_find(v, &p->place, &why) != 0) {
        v->is_audited = true;
        v->outcome = fault_name(why.fault);
        return post_refuse(p, fault_http_status(why.fault), MCP_ERROR_LEGACY, SPAN_NONE, why.text);
    }
    session_read(v, &p->place, &p->session);
    return STEP_NEXT;
}

static enum step read_body(struct post *p)
{
    if (!exchange_has_body(p->v->ex))
        return STEP_NEXT;
    exchange_read_body(p->v->ex, (size_t)p->v->config->body_bytes);
    p->step++; // the end of the body goes on with the next one
    return STEP_WAIT;
}

// --- the body ------------------------------------------------------------------------------------

static enum step parse_body(struct post *p)
{
    struct failure why;
    struct json_limits limits = {
        .bytes = (size_t)p->v->config->body_bytes, .tokens = JSON_TOKENS, .depth = JSON_DEPTH};
    int fault = json_parse(buffer_span(&p->body), &limits, &p->doc, &why);
    if (fault == FAULT_TOO_LARGE)
        return post_refuse(p, 413, MCP_ERROR_REQUEST, SPAN_NONE, why.text);
    if (fault != 0)
        return post_refuse(p, 400, MCP_ERROR_PARSE, SPAN_NONE, why.text);
    return STEP_NEXT;
}

static enum step classify(struct post *p)
{
    struct exchange *ex = p->v->ex;
    struct mcp_headers headers = {
        .version = exchange_header(ex, "mcp-protocol-version"),
        .method = exchange_header(ex, "mcp-method"),
        .name = exchange_header(ex, "mcp-name"),
    };
    struct mcp_context context = {.eras = dispatch_eras};
    if (p->session.state == SESSION_KNOWN) {
        context.session_known = true;
        context.session_revision = p->session.name.revision;
    }
    struct mcp_refusal refusal;
    if (mcp_classify(p->doc, &headers, &context, p->arena, &p->mcp, &refusal) != 0) {
        buffer_clear(&p->out);
        mcp_refusal_write(&refusal, &p->out);
        reply_message(&p->reply, refusal.status, buffer_span(&p->out));
        reply_end(&p->reply);
        return STEP_DONE;
    }
    p->reply.is_batch = p->mcp.is_batch;
    p->v->method = p->mcp.is_batch ? "batch" : mcp_method_text(p->mcp.messages->method);
    return STEP_NEXT;
}

// --- session -------------------------------------------------------------------------------------

// A handle that names no sandbox of this principal: a call is told in a way that its model sees.
static enum step refuse_dead_handle(struct post *p)
{
    const struct mcp_message *m = p->mcp.messages;
    p->v->outcome = "NOT_FOUND";
    // A legacy client knows what an ended session is.
    if (p->mcp.era == MCP_ERA_LEGACY && p->session.state != SESSION_ABSENT)
        return post_refuse(p, 404, MCP_ERROR_SESSION, request_id(p), MCP_SESSION_NOT_FOUND);
    if (p->mcp.is_batch || m->method != MCP_METHOD_TOOLS_CALL || m->kind != MCP_REQUEST)
        return post_refuse(p, 404, MCP_ERROR_SANDBOX, request_id(p), MCP_SANDBOX_GONE);
    buffer_clear(&p->out);
    mcp_write_tool_error(&p->out, m->id, p->mcp.era, SPAN_LITERAL(MCP_SANDBOX_GONE));
    reply_message(&p->reply, 200, buffer_span(&p->out));
    reply_end(&p->reply);
    return STEP_DONE;
}

static bool is_sandbox_gone(struct post *p)
{
    if (!p->place.is_handle)
        return false;
    return p->place.is_dead || !binder_serves_sandbox(p->v->proxy->binder, p->v->principal,
                                                      span_from_string(p->place.sandbox));
}

static enum step check_volume(struct post *p)
{
    struct failure why;
    if (place_check_volume(&p->place, &why) == 0)
        return STEP_NEXT;
    return post_refuse(p, 400, MCP_ERROR_PARAMS, request_id(p), why.text);
}

static enum step find_session(struct post *p)
{
    // Modern requests know no session; what was sent is ignored.
    if (p->mcp.era == MCP_ERA_MODERN) {
        p->session.state = SESSION_ABSENT;
        return is_sandbox_gone(p) ? refuse_dead_handle(p) : STEP_NEXT;
    }
    bool initializes = !p->mcp.is_batch && p->mcp.messages->method == MCP_METHOD_INITIALIZE;
    if (initializes)
        p->session.state = SESSION_ABSENT; // a stale id on initialize says nothing
    if (is_sandbox_gone(p))
        return refuse_dead_handle(p);
    if (initializes)
        return check_volume(p);
    // Some clients never send the id back; where a sandbox is named without it, they are served.
    bool named = p->place.is_handle || p->place.profile->bind == BIND_MODE_PRINCIPAL;
    if (p->session.state == SESSION_ABSENT && !named)
        return post_refuse(p, 400, MCP_ERROR_LEGACY, request_id(p),
                           "Bad Request: Session ID required");
    if (p->session.state == SESSION_UNKNOWN)
        return post_refuse(p, 404, MCP_ERROR_SESSION, request_id(p), MCP_SESSION_NOT_FOUND);
    return STEP_NEXT;
}

// Most posts have none; it is too large to stand in each.
static void note_bind_failure(struct post *p, const struct failure *why)
{
    memory_free_at(&p->bind_failure);
    p->bind_failure = NULL;
    if (why == NULL)
        return;
    p->bind_failure = memory_new(sizeof *why);
    *p->bind_failure = *why;
}

static void on_checked(void *owner, const struct failure *why)
{
    struct post *p = owner;
    p->wait = NULL;
    note_bind_failure(p, why);
    p->step++;
    post_run(p);
}

// Binding asks the same question, so only what needs no sandbox is asked here.
static enum step check_session(struct post *p)
{
    if (p->session.state != SESSION_KNOWN || serve_needs_sandbox(p))
        return STEP_NEXT;
    struct bind_request ask = place_bind_request(p->v, &p->place, &p->session);
    p->wait = binder_check_session(p->v->proxy->binder, &ask, on_checked, p);
    return STEP_WAIT;
}

static enum step judge_session(struct post *p)
{
    if (p->bind_failure != NULL && p->bind_failure->fault == FAULT_NOT_FOUND)
        return post_refuse(p, 404, MCP_ERROR_SESSION, request_id(p), MCP_SESSION_NOT_FOUND);
    return STEP_NEXT;
}

// What the client was told to mirror stands in the list it got, in its provider's dialect.
static enum step check_parameters(struct post *p)
{
    const struct mcp_message *m = p->mcp.messages;
    struct failure why;
    if (p->mcp.era != MCP_ERA_MODERN || m->method != MCP_METHOD_TOOLS_CALL || p->v->ex == NULL ||
        p->place.profile == NULL)
        return STEP_NEXT;
    const struct card *card = binder_card(p->v->proxy->binder, p->place.profile, &why);
    if (card == NULL)
        return STEP_NEXT;
    const struct tool_list *list = tool_lists_get(p->v->proxy->tools, card, p->provider);
    if (parameters_check(list->parameters, p->v->ex, p->doc, m->name, m->arguments, p->arena,
                         &why) != 0)
        return post_refuse(p, 400, MCP_ERROR_HEADERS, m->id, why.text);
    return STEP_NEXT;
}

// --- what wants no answer ------------------------------------------------------------------------

static void forward_notice(struct post *p, const struct mcp_message *m)
{
    bool forwarded = m->kind == MCP_RESPONSE || m->method == MCP_METHOD_CANCELLED ||
                     m->method == MCP_METHOD_PROGRESS;
    if (!forwarded || p->session.state != SESSION_KNOWN)
        return;
    struct bind_request ask = place_bind_request(p->v, &p->place, &p->session);
    notice_send(p->v->proxy->notices, &ask, mcp_revision_text(p->mcp.revision),
                json_raw(p->doc, m->node));
}

static enum step take_notices(struct post *p)
{
    for (size_t i = 0; i < p->mcp.count; i++) {
        if (p->mcp.messages[i].kind != MCP_REQUEST)
            forward_notice(p, &p->mcp.messages[i]);
    }
    if (p->mcp.requests > 0)
        return STEP_NEXT;
    reply_status(&p->reply, 202);
    return STEP_DONE;
}

// --- the sandbox ---------------------------------------------------------------------------------

static void on_bound(void *owner, struct lease *lease, const struct failure *why,
                     int64_t retry_after_ms)
{
    struct post *p = owner;
    p->wait = NULL;
    p->lease = lease;
    note_bind_failure(p, why);
    p->retry_after_ms = retry_after_ms;
    p->step++;
    post_run(p);
}

static enum step bind_sandbox(struct post *p)
{
    if (!serve_needs_sandbox(p))
        return STEP_NEXT;
    if (p->session.state == SESSION_ABSENT && check_volume(p) == STEP_DONE)
        return STEP_DONE;
    struct bind_request ask = place_bind_request(p->v, &p->place, &p->session);
    note_bind_failure(p, NULL);
    reply_commit_later(&p->reply);
    p->wait = binder_start(p->v->proxy->binder, &ask, on_bound, p);
    return STEP_WAIT;
}

static enum step judge_binding(struct post *p)
{
    if (p->lease != NULL) {
        snprintf(p->v->sandbox, sizeof p->v->sandbox, "%s", lease_sandbox(p->lease));
        return STEP_NEXT;
    }
    // A lost workspace is told message by message; what needs no hands is still answered.
    if (p->bind_failure == NULL || p->bind_failure->fault == FAULT_LOST || !serve_needs_sandbox(p))
        return STEP_NEXT;
    p->v->is_audited = true;
    return post_fail(p, p->mcp.is_batch ? NULL : p->mcp.messages, p->bind_failure);
}

// Somebody else's use of it, or another profile's volume: the model can do something about either,
// and a tool's result reaches it.
static enum step refuse_volume(struct post *p, const struct mcp_message *m,
                               const struct failure *why)
{
    if (why->fault == FAULT_CONFLICT)
        reply_set_retry(&p->reply, p->retry_after_ms);
    if (m == NULL || m->method != MCP_METHOD_TOOLS_CALL)
        return post_refuse(p, fault_http_status(why->fault),
                           why->fault == FAULT_CONFLICT ? MCP_ERROR_CONFLICT : MCP_ERROR_PARAMS,
                           m != NULL ? m->id : SPAN_NONE, why->text);
    buffer_clear(&p->out);
    mcp_write_tool_error(&p->out, m->id, p->mcp.era, span_from_string(why->text));
    reply_message(&p->reply, 200, buffer_span(&p->out));
    reply_end(&p->reply);
    return STEP_DONE;
}

enum step post_fail(struct post *p, const struct mcp_message *m, const struct failure *why)
{
    struct span id = m != NULL ? m->id : SPAN_NONE;
    p->v->outcome = fault_name(why->fault);
    switch (why->fault) {
    case FAULT_NOT_FOUND:
        if (p->place.is_handle)
            return refuse_dead_handle(p);
        return post_refuse(p, 404, MCP_ERROR_SESSION, id, MCP_SESSION_NOT_FOUND);
    case FAULT_QUOTA:
        reply_set_retry(&p->reply, p->retry_after_ms);
        return post_refuse(p, 429, MCP_ERROR_LIMIT, id, why->text);
    case FAULT_CONFLICT:
    case FAULT_INVALID:
        return refuse_volume(p, m, why);
    case FAULT_UNAVAILABLE:
    case FAULT_TIMEOUT:
        reply_set_retry(&p->reply, p->retry_after_ms);
        return post_refuse(p, 503, MCP_ERROR_UNAVAILABLE, id, why->text);
    default:
        return post_refuse(p, 200, MCP_ERROR_INTERNAL, id, why->text);
    }
}

// --- the table -----------------------------------------------------------------------------------

static const struct {
    const char *name;
    enum step (*run)(struct post *p);
} steps[] = {
    {"check head", check_head},
    {"read body", read_body},
    {"parse body", parse_body},
    {"classify", classify},
    {"find session", find_session},
    {"check session", check_session},
    {"judge session", judge_session},
    {"choose provider", translate_choose},
    {"check parameters", check_parameters},
    {"take notices", take_notices},
    {"bind sandbox", bind_sandbox},
    {"judge binding", judge_binding},
    {"serve messages", serve_messages},
};

// The end may free the post: nothing of it is touched afterwards.
void post_run(struct post *p)
{
    for (;;) {
        enum step step = p->step < ARRAY_COUNT(steps) ? steps[p->step].run(p) : STEP_DONE;
        if (step == STEP_DONE)
            end(p);
        if (step != STEP_NEXT)
            return;
        p->step++;
    }
}

// --- adapters ------------------------------------------------------------------------------------

static void on_body(struct visit *v, struct span bytes)
{
    struct post *p = v->state;
    buffer_append(&p->body, bytes); // the server holds the limit
}

static void on_body_ended(struct visit *v)
{
    struct post *p = v->state;
    if (!p->is_ended)
        post_run(p);
}

static void on_drained(struct visit *v)
{
    serve_drained(v->state);
}

// A legacy client that leaves has not cancelled: what runs goes on and its result is dropped. For a
// modern one, leaving is cancelling, but not where it was this gateway that ended. What has not
// reached the sandbox yet is not sent.
static void on_closed(struct visit *v, const struct failure *why)
{
    struct post *p = v->state;
    bool is_our_end = v->proxy->is_ending && why != NULL && why->fault == FAULT_CLOSED;
    reply_fini(&p->reply);
    if (p->call != NULL && p->mcp.era == MCP_ERA_MODERN && !is_our_end)
        serve_cancel(p);
    if (p->call != NULL)
        serve_drained(p);
    else
        end(p);
}

static void on_free(struct visit *v)
{
    struct post *p = v->state;
    json_free(p->doc);
    buffer_fini(&p->body);
    buffer_fini(&p->out);
    translation_fini(&p->translation);
    arena_free(p->arena);
    memory_free_at(&p->bind_failure);
    memory_free_at(&p->session_text);
    memory_free_at(&p);
}

static const struct visit_ops ops = {
    .body = on_body,
    .body_ended = on_body_ended,
    .drained = on_drained,
    .closed = on_closed,
    .free = on_free,
};

void mcp_post_enter(struct visit *v)
{
    struct post *p = memory_new(sizeof *p);
    p->v = visit_hold(v);
    p->arena = arena_new(ARENA_BYTES);
    buffer_init(&p->body, (size_t)v->config->body_bytes);
    buffer_init(&p->out, OUT_BYTES);
    translation_init(&p->translation);
    timer_init(&p->timer, v->proxy->loop, NULL);
    list_append(&v->proxy->posts, &p->node);
    v->state = p;
    v->ops = &ops;
    v->method = "POST";
    post_run(p);
}

void mcp_post_end_all(struct proxy *proxy)
{
    while (!list_is_empty(&proxy->posts))
        end(LIST_ENTRY(proxy->posts.next, struct post, node));
}
