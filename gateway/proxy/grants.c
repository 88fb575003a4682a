// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/grants.h"

#include <stdlib.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"
#include "gateway/pool/binder.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/sandboxes.h"
#include "gateway/proxy/sealed.h"

enum { BODY_BYTES = 4096, ANSWER_BYTES = 4096, WHO_BYTES = 512 };

struct grant_order {
    struct visit *v;
    struct handle_name name;
    struct buffer body;
    char grantee[PRINCIPAL_HASH_SIZE];
    bool is_granted;
    struct bind_wait *wait; // NULL while none runs
};

static void on_closed(struct visit *v, const struct failure *why)
{
    struct grant_order *o = v->state;
    (void)why;
    if (o->wait != NULL)
        bind_wait_cancel(o->wait);
    o->wait = NULL;
}

static void on_free(struct visit *v)
{
    struct grant_order *o = v->state;
    buffer_fini(&o->body);
    free(o);
}

static void respond_grant(struct grant_order *o)
{
    struct buffer body;
    struct json_writer w;
    buffer_init(&body, ANSWER_BYTES);
    json_writer_init(&w, &body);
    json_object_open(&w);
    json_write_member_string(&w, "grant", o->grantee);
    sandboxes_write_handle(o->v, o->grantee, &o->name, &w);
    json_object_close(&w);
    sandboxes_respond_json(o->v, 201, &w);
    buffer_fini(&body);
}

static void done(void *owner, const struct failure *why)
{
    struct grant_order *o = owner;
    o->wait = NULL;
    if (why != NULL && why->fault == FAULT_NOT_FOUND)
        sandboxes_answer_unknown(o->v);
    else if (why != NULL)
        visit_respond_failure(o->v, why, why->fault == FAULT_UNAVAILABLE ? 1000 : 0);
    else if (o->is_granted)
        respond_grant(o);
    else
        visit_respond(o->v, 204, NULL, 0, SPAN_LITERAL(""));
}

static void start(struct grant_order *o)
{
    o->wait =
        binder_grant_sandbox(o->v->proxy->binder, o->v->principal,
                             span_from_string(o->name.sandbox), o->grantee, o->is_granted, done, o);
}

static int read_member(const struct json *j, int node, char subject[WHO_BYTES],
                       char tenant[WHO_BYTES], struct failure *why)
{
    struct span key = json_key_raw(j, node), text;
    char *into = span_is(key, "subject") ? subject : span_is(key, "tenant") ? tenant : NULL;
    if (into == NULL)
        return failure_set(why, FAULT_INVALID, "\"%.*s\" is not known; expected subject and tenant",
                           SPAN_ARGS(span_slice(key, 0, 64)));
    if (!json_string_plain(j, node, &text) || !span_copy_string(text, into, WHO_BYTES))
        return failure_set(why, FAULT_INVALID, "%.*s: expected a string of less than %d bytes",
                           SPAN_ARGS(key), WHO_BYTES);
    return 0;
}

// The owner's tenant where none is named.
static int read_grantee(struct grant_order *o, const struct json *j, struct failure *why)
{
    const struct principal *owner = o->v->principal;
    char subject[WHO_BYTES] = "", tenant[WHO_BYTES] = "";
    int fault = 0;
    span_copy_string(span_from_string(principal_tenant(owner)), tenant, sizeof tenant);
    if (json_type(j, JSON_ROOT) != JSON_OBJECT || json_object_duplicate(j, JSON_ROOT) != JSON_NONE)
        return failure_set(why, FAULT_INVALID, "expected an object with subject and tenant");
    for (int node = json_first(j, JSON_ROOT); fault == 0 && node != JSON_NONE;
         node = json_next(j, node))
        fault = read_member(j, node, subject, tenant, why);
    if (fault != 0)
        return fault;
    if (subject[0] == '\0')
        return failure_set(why, FAULT_INVALID, "subject: expected who is granted the sandbox");
    principal_hash_beside(owner, subject, tenant, o->grantee);
    if (strcmp(o->grantee, principal_hash(owner)) == 0)
        return failure_set(why, FAULT_INVALID, "subject: this is its owner");
    return 0;
}

static void on_piece(struct visit *v, struct span bytes)
{
    struct grant_order *o = v->state;
    buffer_append(&o->body, bytes); // within the limit given to exchange_read_body
}

static void on_whole(struct visit *v)
{
    static const struct json_limits limits = {.bytes = BODY_BYTES, .tokens = 16, .depth = 2};
    struct grant_order *o = v->state;
    struct failure why;
    struct json *j = NULL;
    int fault = json_parse(buffer_span(&o->body), &limits, &j, &why);
    if (fault == 0)
        fault = read_grantee(o, j, &why);
    json_free(j);
    if (fault != 0)
        visit_respond_failure(v, &why, 0);
    else
        start(o);
}

static const struct visit_ops ops = {
    .body = on_piece, .body_ended = on_whole, .closed = on_closed, .free = on_free};

// NULL where it was answered: the handle opens for nobody who asks.
static struct grant_order *order_new(struct visit *v, bool is_granted)
{
    struct handle_name name;
    if (sandboxes_open_handle(v, &name, NULL) != 0) {
        sandboxes_answer_unknown(v);
        return NULL;
    }
    struct grant_order *o = memory_new(sizeof *o);
    *o = (struct grant_order){.v = v, .name = name, .is_granted = is_granted};
    buffer_init(&o->body, BODY_BYTES);
    v->state = o;
    v->ops = &ops;
    v->is_audited = true;
    return o;
}

void grants_make(struct visit *v)
{
    if (order_new(v, true) != NULL)
        exchange_read_body(v->ex, BODY_BYTES);
}

void grants_take_back(struct visit *v)
{
    unsigned char hash[(PRINCIPAL_HASH_SIZE - 1) / 2];
    struct grant_order *o = order_new(v, false);
    if (o == NULL)
        return;
    if (!hex_decode(v->match.parameters[1], hash, sizeof hash)) {
        sandboxes_answer_unknown(v);
        return;
    }
    hex_encode(span_of(hash, sizeof hash), o->grantee);
    start(o);
}
