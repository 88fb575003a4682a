// SPDX-License-Identifier: Apache-2.0
//
// GET on an MCP URL: a stream that is really held, for what a server may have to say on its own. A
// second GET of a session takes over and ends the first cleanly: the client that comes again is the
// one that is alive, and a refused reconnect would lock it out until the dead one is noticed.
//
// With Last-Event-ID it is a stream of the past, which the worker keeps: what came on it since, and
// what comes, until its end. Where nothing can come any more it is held all the same, and empty:
// some clients ask again for a stream whose answer they have, and would do so again and again.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/mcp/envelope.h"
#include "gateway/lib/mcp/sse.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/mcp_routes.h"
#include "gateway/proxy/place.h"
#include "gateway/proxy/reply.h"
#include "gateway/proxy/translate.h"
#include "gateway/upstream/link_call.h"
#include "schemas/provider.h"

enum { EVENT_ID_BYTES = 256 }; // what is longer is none of ours

struct held_stream {
    struct visit *v;
    struct place place;
    struct session session;
    struct bind_wait *check; // NULL while none runs
    struct session_stream stream;
    struct timer keepalive;
    bool is_open;
    // One that is read again; its event's id is the exchange's.
    bool is_resumed;
    struct lease *lease;    // owned
    struct link_call *call; // NULL while none runs
    enum link_answer answer;
    struct reply reply; // while events are relayed
    const struct provider *provider;
    struct translation translation;
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

// The worker goes on keeping what comes.
static void let_go(struct held_stream *h)
{
    if (h->call != NULL)
        link_call_stop(h->call, false);
    h->call = NULL;
    if (h->lease != NULL)
        lease_release(h->lease);
    h->lease = NULL;
}

static void close_stream(struct held_stream *h)
{
    let_go(h);
    reply_fini(&h->reply);
    timer_cancel(&h->keepalive);
    sessions_remove_stream(h->v->proxy->sessions, &h->stream);
    if (h->is_open)
        meters_stream(h->v->proxy->meters, -1);
    h->is_open = false;
}

// Where a gateway ends, its clients come again, but not all at once.
static void tell_when_to_come(struct held_stream *h)
{
    enum { SOONEST_MS = 500, SPREAD_MS = 2500 };
    uint16_t some;
    struct buffer retry;
    if (!h->v->proxy->is_ending || h->session.name.revision < MCP_REVISION_2025_11_25)
        return;
    random_bytes(&some, sizeof some);
    buffer_init(&retry, 64);
    if (sse_write_retry(&retry, SOONEST_MS + (some % SPREAD_MS)) == 0)
        exchange_write(h->v->ex, buffer_span(&retry));
    buffer_fini(&retry);
}

static void on_ended(struct session_stream *s)
{
    struct held_stream *h = CONTAINER_OF(s, struct held_stream, stream);
    struct exchange *ex = h->v->ex;
    struct failure why;
    bool is_cut = !reply_is_between_messages(&h->reply);
    close_stream(h);
    if (ex != NULL && is_cut) {
        failure_set(&why, FAULT_CLOSED, "the stream ends inside an event");
        exchange_abort(ex, &why);
    } else if (ex != NULL) {
        tell_when_to_come(h);
        exchange_end(ex);
    }
}

static bool is_refused(struct held_stream *h, const struct failure *why)
{
    // A lost sandbox does not end the session: the next call will be told.
    if (why == NULL || why->fault == FAULT_LOST)
        return false;
    if (why->fault == FAULT_NOT_FOUND)
        mcp_answer_error(h->v, 404, MCP_ERROR_SESSION, MCP_SESSION_NOT_FOUND);
    else
        visit_respond_failure(h->v, why, 1000);
    return true;
}

static bool put_stream(struct held_stream *h)
{
    struct sessions *sessions = h->v->proxy->sessions;
    struct span session = span_from_string(h->session.name.id);
    if (!h->is_resumed) {
        sessions_put_stream(sessions, session, &h->stream);
        return true;
    }
    if (sessions_put_resumed(sessions, session, &h->stream))
        return true;
    mcp_answer_error(h->v, 429, MCP_ERROR_LIMIT, "this session reads too many streams again");
    return false;
}

static void hold(struct held_stream *h)
{
    h->is_open = true;
    meters_stream(h->v->proxy->meters, 1);
    exchange_set_deadline(h->v->ex, 0);
    reply_start_stream(h->v, SPAN_NONE);
    timer_start(&h->keepalive, h->v->config->keepalive_ms);
}

static void on_checked(void *owner, const struct failure *why)
{
    struct held_stream *h = owner;
    h->check = NULL;
    if (h->v->ex != NULL && !is_refused(h, why) && put_stream(h))
        hold(h);
}

// --- a stream that is read again -----------------------------------------------------------------

static void on_head(void *owner, enum link_answer kind, int64_t length)
{
    struct held_stream *h = owner;
    (void)length;
    h->answer = kind;
    if (kind != LINK_EVENTS)
        return;
    exchange_set_deadline(h->v->ex, 0);
    if (h->provider != NULL && h->provider->plain_results)
        translation_begin(&h->translation, h->place.profile->rewrite_texts, &h->reply);
    reply_events(&h->reply, SPAN_LITERAL("")); // its head is sent at once
}

static void on_body(void *owner, struct span bytes)
{
    struct held_stream *h = owner;
    if (h->answer != LINK_EVENTS)
        return;
    if (h->translation.events != NULL)
        translation_feed(&h->translation, bytes);
    else
        reply_events(&h->reply, bytes);
    if (reply_is_choked(&h->reply))
        link_call_pause(h->call);
}

// The stream's end is the client's; one that was cut is asked for again.
static void end_events(struct held_stream *h, const struct failure *why)
{
    struct failure trouble = {0};
    if (why == NULL && h->translation.events != NULL &&
        translation_end_events(&h->translation, &trouble) != 0)
        why = &trouble;
    if (why == NULL && !reply_is_between_messages(&h->reply)) {
        failure_set(&trouble, FAULT_PEER, "the sandbox's event stream ended inside an event");
        why = &trouble;
    }
    if (why != NULL)
        reply_abort(&h->reply, why);
    else
        reply_end(&h->reply);
    close_stream(h);
}

static void on_ended_link(void *owner, const struct failure *why, bool may_have_run)
{
    struct held_stream *h = owner;
    (void)may_have_run;
    h->call = NULL;
    if (h->answer == LINK_EVENTS) {
        end_events(h, why);
        return;
    }
    let_go(h);
    // An answer that says nothing is no reason to be asked again and again either.
    hold(h);
}

static const struct link_call_ops link_ops = {on_head, on_body, on_ended_link};

static void on_reached(void *owner, struct lease *lease, const struct failure *why,
                       int64_t retry_after_ms)
{
    struct held_stream *h = owner;
    (void)retry_after_ms;
    h->check = NULL;
    h->lease = lease;
    if (h->v->ex == NULL || is_refused(h, why) || !put_stream(h)) {
        let_go(h);
        return;
    }
    struct link_request request = {
        .lease = lease,
        .session = span_from_string(h->session.name.id),
        .reader = span_from_string(h->session.name.id),
        .version = mcp_revision_text(h->session.name.revision),
        .accepts_events = true,
        .body = SPAN_LITERAL(""),
        .last_event = exchange_header(h->v->ex, "last-event-id"),
    };
    h->call = lease != NULL ? link_call_start(&request, &link_ops, h) : NULL;
    if (h->call == NULL)
        hold(h);
}

static bool choose_provider(struct held_stream *h)
{
    struct failure why;
    struct span client =
        h->v->config->by_client_name ? span_from_string(h->session.name.provider) : SPAN_NONE;
    if (translation_find(h->v, h->place.profile, client, &h->provider, &why) == 0)
        return true;
    mcp_answer_error(h->v, 400, MCP_ERROR_LEGACY, why.text);
    return false;
}

static void on_drained(struct visit *v)
{
    struct held_stream *h = v->state;
    if (h->call != NULL)
        link_call_resume(h->call);
}

// -------------------------------------------------------------------------------------------------

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
    struct held_stream *h = v->state;
    translation_fini(&h->translation);
    memory_free_at(&v->state);
}

static const struct visit_ops ops = {.drained = on_drained, .closed = on_closed, .free = on_free};

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
    translation_init(&h->translation);
    reply_init(&h->reply, v, (struct accept){.events = true}, false);
    if (refuse(h))
        return;
    if (v->proxy->is_ending) { // on a connection that ends with this answer
        reply_start_stream(v, SPAN_NONE);
        tell_when_to_come(h);
        exchange_end(v->ex);
        return;
    }
    struct bind_request ask = place_bind_request(v, &h->place, &h->session);
    struct span last = exchange_header(v->ex, "last-event-id");
    h->is_resumed = last.size > 0 && last.size <= EVENT_ID_BYTES;
    if (!h->is_resumed)
        h->check = binder_check_session(v->proxy->binder, &ask, on_checked, h);
    else if (choose_provider(h))
        h->check = binder_reach(v->proxy->binder, &ask, on_reached, h);
}
