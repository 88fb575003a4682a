// SPDX-License-Identifier: Apache-2.0
#include "gateway/upstream/link_call.h"

#include <stdio.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/control/link.h"
#include "gateway/lib/http/client.h"
#include "gateway/pool/binder.h"

enum { ERROR_BYTES = 8192, HEADERS = 13 };

struct link_call {
    struct link_request request;
    const struct link_call_ops *ops;
    void *owner;
    struct http_call *http; // owned; NULL while none runs
    char id[ID_SIZE];
    bool sent_again; // the one time that is allowed
    bool is_rebinding;
    bool is_refusal; // the answer is no answer of MCP; its body goes to `error`
    int status;
    struct buffer error;
};

static struct id_series call_ids; // of this process

static struct span accepted(const struct link_request *r)
{
    if (!r->accepts_events)
        return SPAN_LITERAL("application/json");
    return r->accepts_json ? SPAN_LITERAL("application/json, text/event-stream")
                           : SPAN_LITERAL("text/event-stream");
}

static struct http_call *send_message(const struct link_request *r, const char *id,
                                      const struct http_call_ops *ops, void *owner)
{
    bool is_stream = !span_is_absent(r->last_event);
    const struct http_header optional[] = {
        {SPAN_LITERAL(LINK_HEADER_SESSION), r->session},
        {SPAN_LITERAL("mcp-method"), r->method},
        {SPAN_LITERAL("mcp-name"), r->name},
        {SPAN_LITERAL("traceparent"), r->trace[0]},
        {SPAN_LITERAL("tracestate"), r->trace[1]},
        {SPAN_LITERAL("baggage"), r->trace[2]},
        {SPAN_LITERAL("content-type"), is_stream ? SPAN_NONE : SPAN_LITERAL("application/json")},
        {SPAN_LITERAL("last-event-id"), r->last_event},
    };
    struct http_header headers[HEADERS] = {
        {SPAN_LITERAL("authorization"), span_from_string(lease_authorization(r->lease))},
        {SPAN_LITERAL("accept"), accepted(r)},
        {SPAN_LITERAL("mcp-protocol-version"), span_from_string(r->version)},
        {SPAN_LITERAL(LINK_HEADER_CALL), span_from_string(id)},
        {SPAN_LITERAL(LINK_HEADER_READER), r->reader},
    };
    size_t count = 5;
    for (size_t i = 0; i < ARRAY_COUNT(optional); i++) {
        if (!span_is_absent(optional[i].value))
            headers[count++] = optional[i];
    }
    struct http_request request = {
        .method = is_stream ? SPAN_LITERAL("GET") : SPAN_LITERAL("POST"),
        .target = SPAN_LITERAL("/mcp"),
        .headers = headers,
        .header_count = count,
        .body = r->body,
    };
    return http_call_start(lease_link(r->lease), &request, ops, owner);
}

static void call_free(struct link_call *c)
{
    buffer_fini(&c->error);
    memory_free_at(&c);
}

static void finish(struct link_call *c, const struct failure *why, bool may_have_run)
{
    c->ops->ended(c->owner, why, may_have_run);
    call_free(c);
}

// --- the answer ----------------------------------------------------------------------------------

static void on_head(struct http_call *http, int status)
{
    struct link_call *c = http_call_user(http);
    struct span type = http_call_header(http, "content-type");
    struct span media = span_trim(span_split(&type, ';'));
    c->status = status;
    if (status == 202 || status == 204)
        c->ops->head(c->owner, LINK_ACCEPTED, 0);
    else if (status == 200 && span_equals_nocase(media, SPAN_LITERAL("application/json")))
        c->ops->head(c->owner, LINK_JSON, http_call_content_length(http));
    else if (status == 200 && c->request.accepts_events &&
             span_equals_nocase(media, SPAN_LITERAL("text/event-stream")))
        c->ops->head(c->owner, LINK_EVENTS, -1);
    else
        c->is_refusal = true;
}

static void on_body(struct http_call *http, struct span bytes)
{
    struct link_call *c = http_call_user(http);
    if (!c->is_refusal)
        c->ops->body(c->owner, bytes);
    else if (buffer_size(&c->error) + bytes.size <= ERROR_BYTES)
        buffer_append(&c->error, bytes);
}

static const struct http_call_ops call_ops;

static void send_again(void *owner, const struct failure *why)
{
    struct link_call *c = owner;
    c->is_rebinding = false;
    if (why != NULL || lease_link(c->request.lease) == NULL) {
        struct failure lost = {0};
        if (why == NULL)
            failure_set(&lost, FAULT_LOST, "the sandbox is gone");
        finish(c, why != NULL ? why : &lost, false);
        return;
    }
    c->is_refusal = false;
    buffer_clear(&c->error);
    c->http = send_message(&c->request, c->id, &call_ops, c);
}

// The worker refused the message: by its own words nothing of it ran.
static void refused(struct link_call *c)
{
    struct failure why = {0};
    failure_parse(buffer_span(&c->error), &why);
    if (c->status == 404 && why.fault == FAULT_NOT_FOUND && !c->sent_again) {
        c->sent_again = c->is_rebinding = true;
        lease_rebind(c->request.lease, send_again, c);
        return;
    }
    if (c->status == 200)
        failure_set(&why, FAULT_PEER, "the sandbox answered with another content type");
    finish(c, &why, c->status == 200 || c->status >= 500);
}

static void on_ended(struct http_call *http, const struct failure *why)
{
    struct link_call *c = http_call_user(http);
    bool sent = http_call_was_sent(http);
    c->http = NULL;
    if (why != NULL) {
        lease_report_lost(c->request.lease, why);
        finish(c, why, sent);
    } else if (c->is_refusal) {
        refused(c);
    } else {
        finish(c, NULL, true);
    }
}

static const struct http_call_ops call_ops = {
    .head = on_head, .body = on_body, .drained = NULL, .ended = on_ended};

struct link_call *link_call_start(const struct link_request *request,
                                  const struct link_call_ops *ops, void *owner)
{
    if (lease_link(request->lease) == NULL)
        return NULL;
    struct link_call *c = memory_new(sizeof *c);
    c->request = *request;
    c->ops = ops;
    c->owner = owner;
    buffer_init(&c->error, ERROR_BYTES);
    id_next(&call_ids, c->id);
    c->http = send_message(&c->request, c->id, &call_ops, c);
    return c;
}

void link_call_pause(struct link_call *c)
{
    if (c->http != NULL)
        http_call_pause(c->http);
}

void link_call_resume(struct link_call *c)
{
    if (c->http != NULL)
        http_call_resume(c->http);
}

// --- without an answer ---------------------------------------------------------------------------

static void ignore_head(struct http_call *http, int status)
{
    (void)http;
    (void)status;
}

static void ignore_body(struct http_call *http, struct span bytes)
{
    (void)http;
    (void)bytes;
}

static void ignore_end(struct http_call *http, const struct failure *why)
{
    (void)http;
    (void)why;
}

static const struct http_call_ops ignoring = {
    .head = ignore_head, .body = ignore_body, .drained = NULL, .ended = ignore_end};

static void order_cancel(const struct link_call *c)
{
    char body[64];
    int size = snprintf(body, sizeof body, "{\"call\":\"%s\"}", c->id);
    struct http_header headers[] = {
        {SPAN_LITERAL("authorization"), span_from_string(lease_authorization(c->request.lease))},
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")},
    };
    struct http_request request = {
        .method = SPAN_LITERAL("POST"),
        .target = SPAN_LITERAL("/cancel"),
        .headers = headers,
        .header_count = ARRAY_COUNT(headers),
        .body = span_of(body, (size_t)size),
    };
    http_call_start(lease_link(c->request.lease), &request, &ignoring, NULL);
}

void link_call_stop(struct link_call *c, bool cancel)
{
    if (cancel && c->http != NULL && lease_link(c->request.lease) != NULL)
        order_cancel(c);
    if (c->http != NULL)
        http_call_cancel(c->http);
    call_free(c);
}

void link_notify(const struct link_request *request)
{
    char id[ID_SIZE];
    id_next(&call_ids, id);
    if (lease_link(request->lease) != NULL)
        send_message(request, id, &ignoring, NULL);
}
