// SPDX-License-Identifier: Apache-2.0
// /v1/sandboxes/{handle}/files: PUT takes a tar stream into the sandbox, GET an export out of it.
// Both go through as they come: the worker judges what they hold, here they are bounded, and the
// slower end sets the pace.
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/client.h"
#include "gateway/pool/binder.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/sandboxes.h"
#include "gateway/proxy/sealed.h"

enum { ANSWER_BYTES = 64 * 1024, TARGET_BYTES = 16 * 1024 };

struct transfer {
    struct visit *v;
    struct bind_wait *wait; // NULL once it answered
    struct lease *lease;    // owned
    struct http_call *call; // NULL before it began and once it ended
    const char *method;
    const char *target; // the worker's
    int64_t length;     // of an upload; -1: chunked
    int64_t patience_ms;
    bool is_download;
    bool is_paused;  // the side that gives is held back
    bool is_relayed; // an export's head went to the client
    uint64_t relayed;
    int status;
    struct buffer answer; // of an upload, or a refusal
};

static void let_go(struct transfer *t)
{
    if (t->wait != NULL)
        bind_wait_cancel(t->wait);
    if (t->call != NULL)
        http_call_cancel(t->call);
    if (t->lease != NULL)
        lease_release(t->lease);
    t->wait = NULL;
    t->call = NULL;
    t->lease = NULL;
}

static void fail(struct transfer *t, const struct failure *why, int64_t retry_ms)
{
    let_go(t);
    if (t->is_relayed) {
        if (t->v->ex != NULL)
            exchange_abort(t->v->ex, why); // the client must not take it for whole
    } else if (why->fault == FAULT_NOT_FOUND) {
        sandboxes_answer_unknown(t->v);
    } else {
        visit_respond_failure(t->v, why, retry_ms);
    }
}

// The worker's side -----------------------------------------------------------------------------

// What a worker says about an export and a client may believe: plain characters, and never a page.
static struct span plain_header(const struct http_call *call, const char *name)
{
    struct span value = http_call_header(call, name);
    for (size_t i = 0; !span_is_absent(value) && i < value.size; i++)
        if (value.data[i] < ' ' || value.data[i] > '~')
            return SPAN_NONE;
    return value.size <= 1024 ? value : SPAN_NONE;
}

static void relay_head(struct transfer *t)
{
    static const char *const names[] = {"content-type", "content-disposition", "wrist-files",
                                        "wrist-bytes", "wrist-left-out"};
    struct http_header headers[VISIT_HEADERS] = {
        {SPAN_LITERAL("x-content-type-options"), SPAN_LITERAL("nosniff")},
        {SPAN_LITERAL("content-security-policy"), SPAN_LITERAL("sandbox; default-src 'none'")}};
    size_t count = 2;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct span value = plain_header(t->call, names[i]);
        if (!span_is_absent(value))
            headers[count++] = (struct http_header){span_from_string(names[i]), value};
    }
    t->is_relayed = true;
    visit_start(t->v, t->status, headers, count, -1);
}

static void on_head(struct http_call *call, int status)
{
    struct transfer *t = http_call_user(call);
    t->status = status;
    if (t->is_download && status == 200 && t->v->ex != NULL)
        relay_head(t);
}

static void relay(struct transfer *t, struct span bytes)
{
    struct failure why;
    t->relayed += bytes.size;
    if (t->relayed > (uint64_t)t->v->config->download_bytes) {
        failure_set(&why, FAULT_TOO_LARGE, "the export is longer than limits.download");
        fail(t, &why, 0);
        return;
    }
    exchange_write(t->v->ex, bytes);
    if (t->v->ex != NULL && exchange_is_choked(t->v->ex) && !t->is_paused) {
        t->is_paused = true;
        http_call_pause(t->call);
    }
}

static void on_answer(struct http_call *call, struct span bytes)
{
    struct transfer *t = http_call_user(call);
    struct failure why;
    if (t->is_relayed) {
        if (t->v->ex != NULL)
            relay(t, bytes);
        return;
    }
    if (buffer_append(&t->answer, bytes) == 0)
        return;
    failure_set(&why, FAULT_PEER, "the worker's answer is too long");
    fail(t, &why, 0);
}

static void on_drained(struct http_call *call)
{
    struct transfer *t = http_call_user(call);
    if (t->is_paused && t->v->ex != NULL && !t->is_download)
        exchange_resume_body(t->v->ex);
    t->is_paused = t->is_paused && t->is_download;
}

static void on_ended(struct http_call *call, const struct failure *why)
{
    static const struct http_header json[] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")}};
    struct transfer *t = http_call_user(call);
    t->call = NULL;
    if (why != NULL) {
        struct failure mine = *why;
        lease_report_lost(t->lease, why);
        failure_prefix(&mine, t->is_download
                                  ? "the sandbox broke off the export"
                                  : "the sandbox broke off the upload; some of it may be there");
        fail(t, &mine, 0);
        return;
    }
    let_go(t);
    t->v->outcome = t->status < 400 ? NULL : "REFUSED";
    if (!t->is_relayed)
        visit_respond(t->v, t->status, json, 1, buffer_span(&t->answer));
    else if (t->v->ex != NULL)
        exchange_end(t->v->ex);
}

static const struct http_call_ops call_ops = {
    .head = on_head, .body = on_answer, .drained = on_drained, .ended = on_ended};

static void bound(void *owner, struct lease *lease, const struct failure *why, int64_t retry_ms)
{
    struct transfer *t = owner;
    struct failure gone;
    t->wait = NULL;
    t->lease = lease;
    if (lease == NULL || lease_link(lease) == NULL) {
        failure_set(&gone, FAULT_NOT_FOUND, "there is no such sandbox");
        fail(t, why != NULL ? why : &gone, retry_ms);
        return;
    }
    const struct http_header headers[] = {
        {SPAN_LITERAL("authorization"), span_from_string(lease_authorization(lease))},
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/x-tar")},
    };
    const struct http_request request = {
        .method = span_from_string(t->method),
        .target = span_from_string(t->target),
        .headers = headers,
        .header_count = ARRAY_COUNT(headers) - t->is_download,
        .streams_body = !t->is_download,
        .content_length = t->length,
    };
    t->call = http_call_start(lease_link(lease), &request, &call_ops, t);
    if (!t->is_download)
        exchange_read_body(t->v->ex, (size_t)t->v->config->upload_bytes);
}

// The client's side -------------------------------------------------------------------------------

static void on_piece(struct visit *v, struct span bytes)
{
    struct transfer *t = v->state;
    if (t->call == NULL)
        return; // the worker refused it already
    http_call_write(t->call, bytes);
    if (http_call_is_choked(t->call) && !t->is_paused) {
        t->is_paused = true;
        exchange_pause_body(v->ex);
    }
}

static void on_whole(struct visit *v)
{
    struct transfer *t = v->state;
    if (t->call == NULL || t->is_download)
        return;
    http_call_write_end(t->call);
    exchange_set_deadline(v->ex, t->patience_ms);
}

static void on_room(struct visit *v)
{
    struct transfer *t = v->state;
    if (t->call != NULL && t->is_download && t->is_paused) {
        t->is_paused = false;
        http_call_resume(t->call);
    }
}

static void on_closed(struct visit *v, const struct failure *why)
{
    (void)why;
    let_go(v->state);
}

static void on_free(struct visit *v)
{
    struct transfer *t = v->state;
    buffer_fini(&t->answer);
    free(t);
}

static const struct visit_ops ops = {.body = on_piece,
                                     .body_ended = on_whole,
                                     .drained = on_room,
                                     .closed = on_closed,
                                     .free = on_free};

// NULL where the handle opens nothing; that is answered then.
static const struct profile *find_profile(struct visit *v, struct handle_name *name)
{
    const struct profile *profile = NULL;
    if (sandboxes_open_handle(v, name, NULL) == 0)
        profile = config_profile(v->config, name->profile);
    if (profile == NULL)
        sandboxes_answer_unknown(v);
    return profile;
}

static void begin(struct visit *v, const struct profile *profile, const struct handle_name *name,
                  struct transfer *t)
{
    t->v = v;
    t->patience_ms = profile->call_timeout_ms;
    buffer_init(&t->answer, ANSWER_BYTES);
    v->state = t;
    v->ops = &ops;
    v->is_audited = true;
    struct bind_request request = {
        .principal = v->principal, .profile = profile, .sandbox = span_from_string(name->sandbox)};
    t->wait = binder_start(v->proxy->binder, &request, bound, t);
}

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
    const struct profile *profile = find_profile(v, &name);
    if (profile == NULL)
        return;
    if (root == NULL)
        failure_set(&why, FAULT_INVALID, "root: expected workspace or inputs");
    if (root == NULL || read_length(v, &length, &why) != 0) {
        visit_respond_failure(v, &why, 0);
        return;
    }
    struct transfer *t = memory_new(sizeof *t);
    *t = (struct transfer){.method = "PUT", .target = root, .length = length};
    begin(v, profile, &name, t);
}

void sandboxes_download(struct visit *v)
{
    struct handle_name name;
    struct failure why;
    char target[TARGET_BYTES];
    struct span path = query_value(exchange_query(v->ex), "path");
    const struct profile *profile = find_profile(v, &name);
    if (profile == NULL)
        return;
    int size = snprintf(target, sizeof target, "/files?path=%.*s", SPAN_ARGS(path));
    if (span_is_absent(path) || size >= TARGET_BYTES) {
        failure_set(&why, FAULT_INVALID,
                    "path: expected what to export, percent-encoded: ?path=dist");
        visit_respond_failure(v, &why, 0);
        return;
    }
    struct transfer *t = memory_new(sizeof *t);
    *t = (struct transfer){.method = "GET", .is_download = true};
    t->target = arena_copy(exchange_arena(v->ex), span_of(target, (size_t)size + 1)).data;
    begin(v, profile, &name, t);
}
