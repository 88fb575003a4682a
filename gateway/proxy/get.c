// SPDX-License-Identifier: Apache-2.0
//
// GET on an MCP URL: a stream that is really held, for what a server may have to say on its own. A
// second GET of a session takes over and ends the first cleanly: the client that comes again is the
// one that is alive, and a refused reconnect would lock it out until the dead one is noticed.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/mcp/envelope.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/mcp_routes.h"
#include "gateway/proxy/place.h"
#include "gateway/proxy/reply.h"

struct held_stream {
    struct visit *v;
    struct place place;
    struct session session;
    struct bind_wait *check; // NULL while none runs
    struct session_stream stream;
    struct timer keepalive;
    bool is_open;
};

static void on_keepalive(struct timer *t)
{
    struct held_stream *h = CONTAINER_OF(t, struct held_stream, keepalive);
    if (h->v->ex == NULL)
        return;
    if (!exchange_is_choked(h->v->ex))
        exchange_write(h->v->ex, SPAN_LITERAL(": wait\n\n"));
    timer_start(t, h->v->config->keepalive_ms);
}

static void close_stream(struct held_stream *h)
{
    timer_cancel(&h->keepalive);
    sessions_remove_stream(h->v->proxy->sessions, &h->stream);
    if (h->is_open)
        meters_stream(h->v->proxy->meters, -1);
    h->is_open = false;
}

static void on_ended(struct session_stream *s)
{
    struct held_stream *h = CONTAINER_OF(s, struct held_stream, stream);
    close_stream(h);
    if (h->v->ex != NULL)
        exchange_end(h->v->ex);
}

static void on_checked(void *owner, const struct failure *why)
{
    struct held_stream *h = owner;
    h->check = NULL;
    if (h->v->ex == NULL)
        return;
    // A lost sandbox does not end the session: the next call will be told.
    if (why != NULL && why->fault == FAULT_NOT_FOUND) {
        mcp_answer_error(h->v, 404, MCP_ERROR_SESSION, MCP_SESSION_NOT_FOUND);
        return;
    }
    if (why != NULL && why->fault != FAULT_LOST) {
        visit_respond_failure(h->v, why, 1000);
        return;
    }
    h->is_open = true;
    meters_stream(h->v->proxy->meters, 1);
    exchange_set_deadline(h->v->ex, 0);
    reply_start_stream(h->v, SPAN_NONE);
    timer_start(&h->keepalive, h->v->config->keepalive_ms);
    sessions_put_stream(h->v->proxy->sessions, span_from_string(h->session.name.id), &h->stream);
}

static void on_closed(struct visit *v, const struct failure *why)
{
    struct held_stream *h = v->state;
    (void)why;
    if (h->check != NULL)
        bind_wait_cancel(h->check);
    h->check = NULL;
    close_stream(h);
}

static void on_free(struct visit *v)
{
    memory_free_at(&v->state);
}

static const struct visit_ops ops = {.closed = on_closed, .free = on_free};

// The answer where no stream can be had, or 0.
static bool refuse(struct held_stream *h)
{
    struct visit *v = h->v;
    struct failure why;
    struct span version = exchange_header(v->ex, "mcp-protocol-version");
    if (mcp_version_claims_modern(version)) {
        mcp_answer_error(v, 405, MCP_ERROR_LEGACY, "this revision knows POST only");
        return true;
    }
    if (place_find(v, &h->place, &why) != 0) {
        mcp_answer_error(v, fault_http_status(why.fault), MCP_ERROR_LEGACY, why.text);
        return true;
    }
    session_read(v, &h->place, &h->session);
    if (h->session.state == SESSION_ABSENT)
        mcp_answer_error(v, 405, MCP_ERROR_LEGACY, "without a session there is no stream to open");
    else if (h->session.state == SESSION_UNKNOWN)
        mcp_answer_error(v, 404, MCP_ERROR_SESSION, MCP_SESSION_NOT_FOUND);
    else if (!span_is_absent(version) && mcp_revision_from(version) == MCP_REVISION_UNKNOWN)
        mcp_answer_error(v, 400, MCP_ERROR_LEGACY, "MCP-Protocol-Version is not supported");
    else if (!accept_parse(exchange_header(v->ex, "accept")).events)
        mcp_answer_error(v, 406, MCP_ERROR_LEGACY, "the stream is text/event-stream");
    else
        return false;
    return true;
}

void mcp_get_enter(struct visit *v)
{
    struct held_stream *h = memory_new(sizeof *h);
    h->v = v;
    h->stream.ended = on_ended;
    timer_init(&h->keepalive, v->proxy->loop, on_keepalive);
    v->state = h;
    v->ops = &ops;
    v->method = "GET";
    if (refuse(h))
        return;
    struct bind_request ask = place_bind_request(v, &h->place, &h->session);
    h->check = binder_check_session(v->proxy->binder, &ask, on_checked, h);
}
