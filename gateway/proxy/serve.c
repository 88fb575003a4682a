// SPDX-License-Identifier: Apache-2.0
// The messages of a POST, one after the other: from the card, or by the sandbox and relayed as the
// answer comes.
#include <stdio.h>

#include "gateway/lib/loop/loop.h"
#include "gateway/lib/mcp/header_value.h"
#include "gateway/proxy/dispatch.h"
#include "gateway/proxy/post.h"

enum { TRACE_BYTES = 8192 };

#define WORKSPACE_GONE                                                                             \
    "The workspace is gone (its sandbox was lost or its idle time was over); nothing of this "     \
    "call ran. The next call runs in a new, empty workspace."

#define VOLUME_KEPT                                                                                \
    "The sandbox is gone (it was lost or its idle time was over); nothing of this call ran. The "  \
    "next call runs in a new one with the same volume as its workspace: what was written there "   \
    "is kept, what ran and what was in /tmp is not."

static const struct mcp_message *current(const struct post *p)
{
    return &p->mcp.messages[p->message];
}

static const struct dispatch *dispatch_of(const struct post *p, const struct mcp_message *m)
{
    return dispatch_find(p->mcp.era, m->method);
}

bool serve_needs_sandbox(struct post *p)
{
    for (size_t i = 0; i < p->mcp.count; i++) {
        const struct mcp_message *m = &p->mcp.messages[i];
        const struct dispatch *d = dispatch_of(p, m);
        if (m->kind == MCP_REQUEST && d->handling == HANDLE_SANDBOX &&
            (d->capability == NULL || card_has_capability(p, d->capability)))
            return true;
    }
    return false;
}

void serve_release(struct post *p)
{
    if (p->call != NULL)
        link_call_stop(p->call, false);
    p->call = NULL;
    if (p->lease != NULL)
        lease_release(p->lease);
    p->lease = NULL;
}

void serve_cancel(struct post *p)
{
    if (p->call != NULL)
        link_call_stop(p->call, true);
    p->call = NULL;
    p->v->outcome = fault_name(FAULT_CANCELLED);
}

void serve_drained(struct post *p)
{
    if (p->call != NULL && !reply_is_choked(&p->reply))
        link_call_resume(p->call);
}

// --- errors of one message -----------------------------------------------------------------------

static enum step answer_error(struct post *p, const struct mcp_message *m, int code,
                              const char *text)
{
    buffer_clear(&p->out);
    mcp_write_error(&p->out, m->id, code, span_from_string(text), SPAN_NONE);
    reply_message(&p->reply, mcp_error_status(code, p->mcp.era), buffer_span(&p->out));
    return STEP_NEXT;
}

// The model must learn that its files are gone: a tool's result reaches it, an error may not.
static enum step answer_lost(struct post *p, const struct mcp_message *m)
{
    const char *text =
        place_volume(&p->place, &p->session)[0] != '\0' ? VOLUME_KEPT : WORKSPACE_GONE;
    if (m->method != MCP_METHOD_TOOLS_CALL)
        return answer_error(p, m, MCP_ERROR_LOST, text);
    buffer_clear(&p->out);
    mcp_write_tool_error(&p->out, m->id, p->mcp.era, span_from_string(text));
    reply_message(&p->reply, 200, buffer_span(&p->out));
    return STEP_NEXT;
}

static enum step answer_failure(struct post *p, const struct mcp_message *m,
                                const struct failure *why, bool may_have_run)
{
    char text[sizeof why->text + 128];
    p->v->outcome = fault_name(why->fault);
    if (may_have_run) {
        snprintf(text, sizeof text,
                 "The sandbox did not finish its answer (%s); the call may have run.", why->text);
        return answer_error(p, m, MCP_ERROR_LOST, text);
    }
    switch (why->fault) {
    case FAULT_LOST:
        return answer_lost(p, m);
    case FAULT_NOT_FOUND:
    case FAULT_QUOTA:
    case FAULT_UNAVAILABLE:
        if (!p->mcp.is_batch)
            return post_fail(p, m, why);
        break;
    default:
        break;
    }
    snprintf(text, sizeof text, "The sandbox could not be reached (%s); nothing ran.", why->text);
    return answer_error(p, m, MCP_ERROR_LOST, text);
}

// --- the call on the link ------------------------------------------------------------------------

// The answer of the present message is whole, or has failed: on with the next one.
static void next_message(struct post *p, enum step step)
{
    timer_cancel(&p->timer);
    p->call = NULL;
    if (step == STEP_DONE)
        p->message = p->mcp.count;
    else
        p->message++;
    post_run(p);
}

static void on_head(void *owner, enum link_answer kind, int64_t length)
{
    struct post *p = owner;
    p->answer = kind;
    p->has_answer = kind != LINK_ACCEPTED;
    if (p->translation.is_on)
        translate_head(p);
    else if (kind == LINK_JSON)
        reply_begin(&p->reply, length);
}

static void on_body(void *owner, struct span bytes)
{
    struct post *p = owner;
    if (p->translation.is_on)
        translate_piece(p, bytes);
    else if (p->answer == LINK_JSON)
        reply_piece(&p->reply, bytes);
    else if (p->answer == LINK_EVENTS)
        reply_events(&p->reply, bytes);
    if (reply_is_choked(&p->reply))
        link_call_pause(p->call);
}

static void finish_well(struct post *p)
{
    struct failure why = {0};
    bool is_cut = p->translation.is_on && p->has_answer && translate_end(p, &why) != 0;
    if (p->answer == LINK_JSON && p->has_answer && !p->translation.is_on)
        reply_complete(&p->reply);
    if (!p->has_answer)
        answer_error(p, current(p), MCP_ERROR_INTERNAL, "the sandbox gave no answer");
    else if (is_cut)
        answer_error(p, current(p), MCP_ERROR_INTERNAL, why.text);
    else if (!reply_is_between_messages(&p->reply)) {
        failure_set(&why, FAULT_PEER, "the sandbox's event stream ended inside an event");
        reply_abort(&p->reply, &why);
    }
}

static void on_ended(void *owner, const struct failure *why, bool may_have_run)
{
    struct post *p = owner;
    enum step step = STEP_NEXT;
    if (current(p)->method == MCP_METHOD_TOOLS_CALL)
        meters_call(p->v->proxy->meters, why != NULL ? fault_name(why->fault) : NULL);
    if (why == NULL) {
        finish_well(p);
    } else if (reply_is_between_messages(&p->reply)) {
        step = answer_failure(p, current(p), why, may_have_run);
    } else {
        p->v->outcome = fault_name(why->fault);
        reply_abort(&p->reply, why);
    }
    next_message(p, step);
}

static const struct link_call_ops call_ops = {on_head, on_body, on_ended};

static void on_call_timeout(struct timer *t)
{
    struct post *p = CONTAINER_OF(t, struct post, timer);
    struct failure why = {0};
    failure_set(&why, FAULT_TIMEOUT, "the call took longer than %lld s and was stopped",
                (long long)(p->place.profile->call_timeout_ms / 1000));
    link_call_stop(p->call, true);
    p->call = NULL;
    p->v->outcome = fault_name(why.fault);
    if (!reply_is_between_messages(&p->reply))
        reply_abort(&p->reply, &why);
    // What stands behind it in a batch is not begun: the lease ends with the call.
    for (; p->message < p->mcp.count; p->message++) {
        if (current(p)->kind == MCP_REQUEST)
            answer_error(p, current(p), MCP_ERROR_INTERNAL, why.text);
    }
    post_run(p);
}

static void note_tool(struct post *p, const struct mcp_message *m)
{
    struct visit *v = p->v;
    struct span name = translate_name(p, m);
    size_t size = name.size < sizeof v->tool - 1 ? name.size : sizeof v->tool - 1;
    v->is_audited = true;
    for (size_t i = 0; i < size; i++)
        v->tool[i] = name.data[i] >= ' ' && name.data[i] <= '~' ? name.data[i] : '?';
    v->tool[size] = '\0';
}

// Copied, since the call may outlive its client, and the head of the exchange with it.
static void collect_headers(struct post *p, const struct mcp_message *m, struct link_request *r)
{
    static const char *const trace[] = {"traceparent", "tracestate", "baggage"};
    for (size_t i = 0; i < ARRAY_COUNT(trace) && p->v->ex != NULL; i++) {
        struct span value = exchange_header(p->v->ex, trace[i]);
        if (value.size <= TRACE_BYTES) // what is longer is no trace and may not fit on the link
            r->trace[i] = arena_copy(p->arena, value);
    }
    if (p->mcp.era != MCP_ERA_MODERN)
        return;
    struct buffer name;
    buffer_init(&name, 2 * MCP_NAME_BYTES);
    r->method = m->method_text;
    if (!span_is_absent(m->name) && mcp_header_encode(translate_name(p, m), &name) == 0)
        r->name = arena_copy(p->arena, buffer_span(&name));
    buffer_fini(&name);
}

static enum step forward(struct post *p, const struct mcp_message *m)
{
    struct visit *v = p->v;
    bool known = p->session.state == SESSION_KNOWN;
    struct span body = p->mcp.is_batch ? json_raw(p->doc, m->node) : buffer_span(&p->body);
    struct link_request request = {
        .lease = p->lease,
        .session = known ? span_from_string(p->session.name.id) : SPAN_NONE,
        .reader = span_from_string(known ? p->session.name.id : principal_hash(v->principal)),
        .version = mcp_revision_text(p->mcp.revision),
        .accepts_json = p->reply.form != REPLY_EVENTS || p->mcp.is_batch,
        .accepts_events = p->reply.accept.events && !p->mcp.is_batch,
        .body = translate_call(p, m, body),
    };
    collect_headers(p, m, &request);
    note_tool(p, m);
    p->has_answer = false;
    p->call = link_call_start(&request, &call_ops, p);
    if (p->call == NULL) {
        struct failure why = {0};
        failure_set(&why, FAULT_LOST, "the sandbox is gone");
        return answer_failure(p, m, &why, false);
    }
    reply_commit_later(&p->reply);
    timer_init(&p->timer, v->proxy->loop, on_call_timeout);
    if (p->place.profile->call_timeout_ms > 0)
        timer_start(&p->timer, p->place.profile->call_timeout_ms);
    return STEP_WAIT;
}

// --- one message after the other -----------------------------------------------------------------

static enum step serve_one(struct post *p, const struct mcp_message *m)
{
    const struct dispatch *d = dispatch_of(p, m);
    if (d->handling == HANDLE_UNKNOWN ||
        (d->capability != NULL && !card_has_capability(p, d->capability)))
        return answer_error(p, m, MCP_ERROR_METHOD, "Method not found");
    if (d->handling == HANDLE_LISTEN)
        return listen_start(p, m);
    if (d->handling != HANDLE_SANDBOX)
        return card_answer(p, m);
    if (p->lease == NULL)
        return answer_lost(p, m);
    return forward(p, m);
}

enum step serve_messages(struct post *p)
{
    while (p->message < p->mcp.count) {
        const struct mcp_message *m = current(p);
        enum step step = m->kind == MCP_REQUEST ? serve_one(p, m) : STEP_NEXT;
        if (step == STEP_WAIT)
            return STEP_WAIT;
        if (step == STEP_DONE)
            return STEP_DONE;
        p->message++;
    }
    reply_end(&p->reply);
    return STEP_DONE;
}
