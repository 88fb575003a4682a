// SPDX-License-Identifier: Apache-2.0
// DELETE on an MCP URL ends the session: 204, and from then on 404.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/mcp/envelope.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/mcp_routes.h"
#include "gateway/proxy/place.h"

struct ending {
    struct visit *v;
    struct place place;
    struct session session;
    struct bind_wait *wait; // NULL while none runs
};

static void on_done(void *owner, const struct failure *why)
{
    struct ending *e = owner;
    struct visit *v = e->v;
    e->wait = NULL;
    v->outcome = why != NULL ? fault_name(why->fault) : NULL;
    if (why == NULL) {
        meters_session_ended(v->proxy->meters);
        visit_respond(v, 204, NULL, 0, SPAN_LITERAL(""));
    } else if (why->fault == FAULT_NOT_FOUND) {
        mcp_answer_error(v, 404, MCP_ERROR_SESSION, MCP_SESSION_NOT_FOUND);
    } else {
        visit_respond_failure(v, why, 1000);
    }
    if (why == NULL)
        sessions_end_streams(v->proxy->sessions, span_from_string(e->session.name.id));
}

// The order stands when the client leaves: the ending goes on without it.
static void on_closed(struct visit *v, const struct failure *why)
{
    struct ending *e = v->state;
    (void)why;
    if (e->wait != NULL)
        bind_wait_cancel(e->wait);
    e->wait = NULL;
}

static void on_free(struct visit *v)
{
    memory_free_at(&v->state);
}

static const struct visit_ops ops = {.closed = on_closed, .free = on_free};

void mcp_delete_enter(struct visit *v)
{
    struct ending *e = memory_new(sizeof *e);
    struct failure why;
    e->v = v;
    v->state = e;
    v->ops = &ops;
    v->method = "DELETE";
    v->is_audited = true;
    if (mcp_version_claims_modern(exchange_header(v->ex, "mcp-protocol-version"))) {
        mcp_answer_error(v, 405, MCP_ERROR_LEGACY, "this revision knows POST only");
        return;
    }
    if (place_find(v, &e->place, &why) != 0) {
        mcp_answer_error(v, fault_http_status(why.fault), MCP_ERROR_LEGACY, why.text);
        return;
    }
    session_read(v, &e->place, &e->session);
    if (e->session.state == SESSION_ABSENT) {
        mcp_answer_error(v, 400, MCP_ERROR_LEGACY, "Bad Request: Session ID required");
        return;
    }
    if (e->session.state == SESSION_UNKNOWN) {
        mcp_answer_error(v, 404, MCP_ERROR_SESSION, MCP_SESSION_NOT_FOUND);
        return;
    }
    struct bind_request ask = place_bind_request(v, &e->place, &e->session);
    e->wait = binder_end_session(v->proxy->binder, &ask, on_done, e);
}
