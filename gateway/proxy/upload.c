// SPDX-License-Identifier: Apache-2.0
// PUT /v1/sandboxes/{handle}/files: a tar stream that goes through to the worker as it comes. The
// worker judges its members; here it is bounded, and a slow worker slows the client.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/client.h"
#include "gateway/pool/binder.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/sandboxes.h"
#include "gateway/proxy/sealed.h"

enum { ANSWER_BYTES = 64 * 1024 };

struct upload {
    struct visit *v;
    struct bind_wait *wait; // NULL once it answered
    struct lease *lease;    // owned
    struct http_call *call; // NULL before it began and once it ended
    const char *root;
    int64_t length; // -1: chunked
    int64_t patience_ms;
    bool is_paused; // the client's body is held back
    int status;
    struct buffer answer;
};

static void let_go(struct upload *u)
{
    if (u->wait != NULL)
        bind_wait_cancel(u->wait);
    if (u->call != NULL)
        http_call_cancel(u->call);
    if (u->lease != NULL)
        lease_release(u->lease);
    u->wait = NULL;
    u->call = NULL;
    u->lease = NULL;
}

static void fail(struct upload *u, const struct failure *why, int64_t retry_ms)
{
    let_go(u);
    if (why->fault == FAULT_NOT_FOUND)
        sandboxes_answer_unknown(u->v);
    else
        visit_respond_failure(u->v, why, retry_ms);
}

// The worker's side -----------------------------------------------------------------------------

static void on_head(struct http_call *call, int status)
{
    struct upload *u = http_call_user(call);
    u->status = status;
}

static void on_answer(struct http_call *call, struct span bytes)
{
    struct upload *u = http_call_user(call);
    struct failure why;
    if (buffer_append(&u->answer, bytes) == 0)
        return;
    failure_set(&why, FAULT_PEER, "the worker's answer is too long");
    fail(u, &why, 0);
}

static void on_drained(struct http_call *call)
{
    struct upload *u = http_call_user(call);
    if (u->is_paused && u->v->ex != NULL)
        exchange_resume_body(u->v->ex);
    u->is_paused = false;
}

static void on_ended(struct http_call *call, const struct failure *why)
{
    static const struct http_header json[] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")}};
    struct upload *u = http_call_user(call);
    u->call = NULL;
    if (why != NULL) {
        struct failure mine = *why;
        lease_report_lost(u->lease, why);
        failure_prefix(&mine, "the sandbox broke off the upload; some of it may be there");
        fail(u, &mine, 0);
        return;
    }
    let_go(u);
    u->v->outcome = u->status < 400 ? NULL : "REFUSED";
    visit_respond(u->v, u->status, json, 1, buffer_span(&u->answer));
}

static const struct http_call_ops call_ops = {
    .head = on_head, .body = on_answer, .drained = on_drained, .ended = on_ended};

static void bound(void *owner, struct lease *lease, const struct failure *why, int64_t retry_ms)
{
    struct upload *u = owner;
    struct failure gone;
    u->wait = NULL;
    u->lease = lease;
    if (lease == NULL || lease_link(lease) == NULL) {
        failure_set(&gone, FAULT_NOT_FOUND, "there is no such sandbox");
        fail(u, why != NULL ? why : &gone, retry_ms);
        return;
    }
    const struct http_header headers[] = {
        {SPAN_LITERAL("authorization"), span_from_string(lease_authorization(lease))},
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/x-tar")},
    };
    const struct http_request request = {
        .method = SPAN_LITERAL("PUT"),
        .target = span_from_string(u->root),
        .headers = headers,
        .header_count = ARRAY_COUNT(headers),
        .streams_body = true,
        .content_length = u->length,
    };
    u->call = http_call_start(lease_link(lease), &request, &call_ops, u);
    exchange_read_body(u->v->ex, (size_t)u->v->config->upload_bytes);
}

// The client's side -------------------------------------------------------------------------------

static void on_piece(struct visit *v, struct span bytes)
{
    struct upload *u = v->state;
    if (u->call == NULL)
        return; // the worker refused it already
    http_call_write(u->call, bytes);
    if (http_call_is_choked(u->call) && !u->is_paused) {
        u->is_paused = true;
        exchange_pause_body(v->ex);
    }
}

static void on_whole(struct visit *v)
{
    struct upload *u = v->state;
    if (u->call == NULL)
        return;
    http_call_write_end(u->call);
    exchange_set_deadline(v->ex, u->patience_ms);
}

static void on_closed(struct visit *v, const struct failure *why)
{
    (void)why;
    let_go(v->state);
}

static void on_free(struct visit *v)
{
    struct upload *u = v->state;
    buffer_fini(&u->answer);
    free(u);
}

static const struct visit_ops ops = {
    .body = on_piece, .body_ended = on_whole, .closed = on_closed, .free = on_free};

// The worker's target, or NULL where the query is another.
static const char *root_of(struct span query)
{
    if (span_is_absent(query) || query.size == 0 || span_is(query, "root=workspace"))
        return "/files?root=workspace";
    return span_is(query, "root=inputs") ? "/files?root=inputs" : NULL;
}

// -1 where it is not told.
static int read_length(struct visit *v, int64_t *out, struct failure *why)
{
    uint64_t length = 0;
    struct span text = exchange_header(v->ex, "content-length");
    *out = -1;
    if (span_is_absent(text))
        return 0;
    if (!span_to_u64(text, &length))
        return failure_set(why, FAULT_REQUEST, "content-length is not a number");
    if (length > (uint64_t)v->config->upload_bytes)
        return failure_set(why, FAULT_TOO_LARGE, "an upload may have at most %lld bytes",
                           (long long)v->config->upload_bytes);
    *out = (int64_t)length;
    return 0;
}

void sandboxes_upload(struct visit *v)
{
    struct handle_name name;
    struct failure why;
    int64_t length;
    const char *root = root_of(exchange_query(v->ex));
    if (sandboxes_open_handle(v, &name, NULL) != 0) {
        sandboxes_answer_unknown(v);
        return;
    }
    const struct profile *profile = config_profile(v->config, name.profile);
    if (profile == NULL) {
        sandboxes_answer_unknown(v);
        return;
    }
    if (root == NULL)
        failure_set(&why, FAULT_INVALID, "root: expected workspace or inputs");
    if (root == NULL || read_length(v, &length, &why) != 0) {
        visit_respond_failure(v, &why, 0);
        return;
    }
    struct upload *u = memory_new(sizeof *u);
    *u = (struct upload){
        .v = v, .root = root, .length = length, .patience_ms = profile->call_timeout_ms};
    buffer_init(&u->answer, ANSWER_BYTES);
    v->state = u;
    v->ops = &ops;
    v->is_audited = true;
    struct bind_request request = {
        .principal = v->principal, .profile = profile, .sandbox = span_from_string(name.sandbox)};
    u->wait = binder_start(v->proxy->binder, &request, bound, u);
}
