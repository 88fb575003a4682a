// SPDX-License-Identifier: Apache-2.0
// POST, GET and DELETE on the MCP URL: what a body is, whose it is, and which messages it has.
#include "gateway/lib/json/json.h"
#include "gateway/lib/mcp/classify.h"
#include "workers/hands/reads.h"
#include "workers/link/accept.h"
#include "workers/link/answer.h"
#include "workers/link/dispatch.h"
#include "workers/link/pending.h"
#include "workers/link/replay.h"
#include "workers/link/service.h"
#include "workers/link/sessions.h"

enum { BODY_MAX = 4 << 20, DEPTH_MAX = 128, TOKENS_MAX = 256 << 10 };

static void respond_refusal(struct exchange *ex, const struct mcp_refusal *refusal)
{
    struct buffer json;
    buffer_init(&json, 16 << 10);
    (void)mcp_refusal_write(refusal, &json);
    respond_json(ex, refusal->status, buffer_span(&json));
    buffer_fini(&json);
}

static void refuse(struct exchange *ex, int status, int code, const char *text)
{
    struct mcp_refusal refusal = {0};
    mcp_refusal_set(&refusal, status, code, SPAN_NONE, "%s", text);
    respond_refusal(ex, &refusal);
}

static bool is_json(struct span type)
{
    struct span wanted = SPAN_LITERAL("application/json");
    struct span media = span_trim(span_split(&type, ';'));
    return span_equals_nocase(media, wanted);
}

// --- whose request it is --------------------------------------------------------------------

// Linked: the gateway has looked after sessions, and names one that was bound here.
static bool linked_caller(struct service *s, struct exchange *ex, struct caller *out)
{
    struct failure why;
    struct span reader = exchange_header(ex, LINK_HEADER_READER);
    *out = (struct caller){
        .session = exchange_header(ex, LINK_HEADER_SESSION),
        .link_id = exchange_header(ex, LINK_HEADER_CALL),
    };
    out->reader = !span_is_absent(reader)         ? reader
                  : !span_is_absent(out->session) ? out->session
                                                  : span_from_string(hold_principal(s->hold));
    bool bound = hold_principal(s->hold)[0] != '\0';
    bool known = span_is_absent(out->session) ? hold_serves(s->hold, out->reader)
                                              : hold_has_session(s->hold, out->session);
    if (bound && known)
        return true;
    failure_set(&why, FAULT_NOT_FOUND, "this session is not bound here; nothing ran");
    respond_failure(ex, &why);
    return false;
}

static void find_own_session(struct service *s, struct exchange *ex, struct caller *out,
                             struct mcp_context *context)
{
    *out = (struct caller){.session = exchange_header(ex, "mcp-session-id")};
    out->reader = out->session;
    context->session_known = !span_is_absent(out->session) &&
                             sessions_find(s->sessions, out->session, &context->session_revision);
}

// Stand-alone: only initialize comes without a session.
static bool own_session_allows(struct exchange *ex, const struct caller *caller,
                               const struct mcp_context *context, const struct mcp_request *request)
{
    struct mcp_refusal refusal = {0};
    bool opens = request->messages[0].method == MCP_METHOD_INITIALIZE;
    struct span id = request->is_batch ? SPAN_NONE : request->messages[0].id;
    if (opens || context->session_known)
        return true;
    if (span_is_absent(caller->session))
        mcp_refusal_set(&refusal, 400, MCP_ERROR_LEGACY, id, "Mcp-Session-Id is missing");
    else
        mcp_refusal_set(&refusal, 404, MCP_ERROR_SESSION, id, "no such session");
    respond_refusal(ex, &refusal);
    return false;
}

// --- what it asks ---------------------------------------------------------------------------

static void forget_session(struct service *s, struct span session)
{
    pendings_cancel_session(s->pendings, session);
    replay_forget(s->replay, session);
    reads_forget(s->options.reads, session);
}

static void open_session(struct service *s, const struct json *doc, const struct mcp_message *m,
                         char session[ID_SIZE])
{
    char evicted[ID_SIZE];
    sessions_open(s->sessions, initialize_revision(doc, m), session, evicted);
    if (evicted[0] == '\0')
        return;
    forget_session(s, span_from_string(evicted));
}

// Streams of the revisions that can resume one; initialize has no session to be found by.
static bool is_kept(const struct mcp_request *request, const struct caller *caller)
{
    return request->era == MCP_ERA_LEGACY && request->revision >= MCP_REVISION_2025_03_26 &&
           caller->session.size > 0 && request->messages[0].method != MCP_METHOD_INITIALIZE;
}

static void answer_all(struct service *s, struct exchange *ex, const struct json *doc,
                       const struct mcp_request *request, const struct caller *caller)
{
    char session[ID_SIZE] = "";
    struct accepted accepted;
    if (!accept_read(exchange_header(ex, "accept"), &accepted)) {
        refuse(ex, 406, MCP_ERROR_LEGACY,
               "Accept has neither application/json nor text/event-stream");
        return;
    }
    if (s->sessions != NULL && request->messages[0].method == MCP_METHOD_INITIALIZE)
        open_session(s, doc, &request->messages[0], session);
    struct answer *answer = NULL;
    if (request->requests > 0) {
        const struct answer_options options = {
            .expected = request->requests,
            .is_batch = request->is_batch,
            .accepts_json = accepted.json,
            .accepts_events = accepted.events,
            .session = session[0] != '\0' ? span_from_string(session) : SPAN_NONE,
            .replay = is_kept(request, caller) ? s->replay : NULL,
            .ring = caller->session,
            .primes = request->revision >= MCP_REVISION_2025_11_25,
        };
        answer = answer_new(s->options.loop, ex, &options);
    }
    for (size_t i = 0; i < request->count; i++)
        dispatch_message(s, doc, &request->messages[i], caller, answer);
    if (request->requests == 0)
        respond_status(ex, 202);
}

static void handle(struct service *s, struct exchange *ex, const struct json *doc)
{
    struct caller caller;
    struct mcp_context context = {.eras = MCP_ERA_LEGACY};
    if (s->sessions != NULL)
        find_own_session(s, ex, &caller, &context);
    else if (!linked_caller(s, ex, &caller))
        return;
    else {
        context.eras |= MCP_ERA_MODERN; // its sessions, discover and lists are the gateway's
        context.session_known = true;
    }
    const struct mcp_headers headers = {
        .version = exchange_header(ex, "mcp-protocol-version"),
        .method = exchange_header(ex, "mcp-method"),
        .name = exchange_header(ex, "mcp-name"),
    };
    struct mcp_request request;
    struct mcp_refusal refusal = {0};
    if (mcp_classify(doc, &headers, &context, exchange_arena(ex), &request, &refusal) != 0)
        respond_refusal(ex, &refusal);
    else if (s->sessions == NULL || own_session_allows(ex, &caller, &context, &request)) {
        caller.era = request.era;
        answer_all(s, ex, doc, &request, &caller);
    }
}

static void post_body(struct service *s, struct exchange *ex, struct span body)
{
    static const struct json_limits limits = {BODY_MAX, TOKENS_MAX, DEPTH_MAX};
    struct failure why;
    struct json *doc;
    if (s->ending) {
        failure_set(&why, FAULT_UNAVAILABLE, "the sandbox is ending; nothing ran");
        respond_failure(ex, &why);
        return;
    }
    if (json_parse(body, &limits, &doc, &why) != 0) {
        refuse(ex, 400, MCP_ERROR_PARSE, why.text);
        return;
    }
    handle(s, ex, doc);
    json_free(doc);
}

void mcp_post(struct service *s, struct exchange *ex)
{
    if (is_json(exchange_header(ex, "content-type")))
        body_collect(s, ex, BODY_MAX, post_body);
    else
        refuse(ex, 415, MCP_ERROR_LEGACY, "Content-Type must be application/json");
}

// --- a stream that is read again ------------------------------------------------------------

// False where nothing more can come after the event that the client saw last.
static bool resume(struct service *s, struct exchange *ex, struct span session)
{
    struct span last = exchange_header(ex, "last-event-id");
    struct replay_stream *stream = replay_find(s->replay, session, last);
    if (stream == NULL)
        return false;
    respond_events(ex, "");
    replay_resume(stream, last, ex);
    return true;
}

// 204: there is nothing to wait for here.
void mcp_resume(struct service *s, struct exchange *ex)
{
    struct caller caller;
    if (linked_caller(s, ex, &caller) && !resume(s, ex, caller.session))
        respond_status(ex, 204);
}

// --- stand-alone: the stream and the end of a session ---------------------------------------

static bool named_session(struct service *s, struct exchange *ex, struct span *id)
{
    enum mcp_revision revision;
    *id = exchange_header(ex, "mcp-session-id");
    if (span_is_absent(*id))
        refuse(ex, 400, MCP_ERROR_LEGACY, "Mcp-Session-Id is missing");
    else if (!sessions_find(s->sessions, *id, &revision))
        refuse(ex, 404, MCP_ERROR_SESSION, "no such session");
    else
        return true;
    return false;
}

void mcp_get(struct service *s, struct exchange *ex)
{
    struct span id;
    struct accepted accepted;
    if (!accept_read(exchange_header(ex, "accept"), &accepted) || !accepted.events)
        refuse(ex, 406, MCP_ERROR_LEGACY, "Accept lacks text/event-stream");
    else if (named_session(s, ex, &id) && !resume(s, ex, id) &&
             !sessions_hold_stream(s->sessions, id, ex))
        refuse(ex, 409, MCP_ERROR_LEGACY, "this session has a stream already");
}

void mcp_delete(struct service *s, struct exchange *ex)
{
    struct span id;
    if (!named_session(s, ex, &id))
        return;
    forget_session(s, id);
    sessions_end(s->sessions, id);
    respond_status(ex, 204);
}
