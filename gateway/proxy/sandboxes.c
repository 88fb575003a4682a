// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/sandboxes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"
#include "gateway/pool/binder.h"
#include "gateway/proxy/grants.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/sealed.h"
#include "gateway/proxy/volumes.h"

enum {
    BODY_BYTES = 16 * 1024,
    LIST_MOST = 4096,
    ROW_BYTES = 2048,
};

int sandboxes_open_handle(struct visit *v, struct handle_name *out, struct failure *why)
{
    if (handle_name_open(v->proxy->keyring, principal_hash(v->principal), v->match.parameters[0],
                         out) != 0 ||
        !binder_serves_sandbox(v->proxy->binder, v->principal, span_from_string(out->sandbox)))
        return failure_set(why, FAULT_NOT_FOUND, "there is no such sandbox");
    memcpy(v->sandbox, out->sandbox, sizeof v->sandbox);
    memcpy(v->profile, out->profile, sizeof v->profile);
    return 0;
}

void sandboxes_answer_unknown(struct visit *v)
{
    struct failure why;
    failure_set(&why, FAULT_NOT_FOUND, "there is no such sandbox");
    visit_respond_failure(v, &why, 0);
}

// A row ---------------------------------------------------------------------------------------

void sandboxes_write_time(struct json_writer *w, const char *key, int64_t wall_ms)
{
    char text[CLOCK_TEXT_SIZE];
    clock_format_wall(wall_ms, text);
    json_write_member_string(w, key, text);
}

void sandboxes_write_handle(struct visit *v, const char *grantee, const struct handle_name *name,
                            struct json_writer *w)
{
    struct buffer handle, url;
    buffer_init(&handle, SEALED_TEXT_SIZE);
    buffer_init(&url, ROW_BYTES);
    if (handle_name_seal(v->proxy->keyring, grantee, name, &handle) != 0)
        buffer_clear(&handle);
    struct span base = visit_public_url(v), text = buffer_span(&handle);
    if (base.size > 0 && base.data[base.size - 1] == '/')
        base.size--;
    buffer_printf(&url, "%.*s/s/%.*s/mcp", SPAN_ARGS(base), SPAN_ARGS(text));
    json_write_member(w, "handle", text);
    json_write_member(w, "mcp_url", buffer_span(&url));
    buffer_fini(&handle);
    buffer_fini(&url);
}

static void write_row(struct visit *v, const struct sandbox_view *view, struct json_writer *w)
{
    struct handle_name name;
    memcpy(name.sandbox, view->id, sizeof name.sandbox);
    span_copy_string(span_from_string(view->profile), name.profile, sizeof name.profile);
    json_object_open(w);
    sandboxes_write_handle(v, "", &name, w);
    json_write_member_string(w, "profile", view->profile);
    json_write_member_string(w, "state", view->state);
    sandboxes_write_time(w, "created_at", view->created_ms);
    sandboxes_write_time(w, "expires_at", view->expires_ms);
    if (view->volume[0] != '\0')
        json_write_member_string(w, "volume", view->volume);
    json_write_member_i64(w, "idle", view->idle_ms / 1000);
    json_write_member_i64(w, "absolute", (view->expires_ms - view->created_ms) / 1000);
    json_object_close(w);
}

void sandboxes_respond_json(struct visit *v, int status, const struct json_writer *w)
{
    static const struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")},
        {SPAN_LITERAL("cache-control"), SPAN_LITERAL("no-store")},
    };
    struct failure why;
    if (json_writer_finish(w) == 0) {
        visit_respond(v, status, headers, ARRAY_COUNT(headers), buffer_span(w->out));
        return;
    }
    failure_set(&why, FAULT_TOO_LARGE, "the answer would be too long");
    visit_respond_failure(v, &why, 0);
}

static void respond_row(struct visit *v, int status, const struct sandbox_view *view)
{
    struct buffer body;
    struct json_writer w;
    buffer_init(&body, ROW_BYTES);
    json_writer_init(&w, &body);
    write_row(v, view, &w);
    sandboxes_respond_json(v, status, &w);
    buffer_fini(&body);
}

// Looking ---------------------------------------------------------------------------------------

static void list(struct visit *v)
{
    struct sandbox_view *views = memory_new_array(LIST_MOST, sizeof *views);
    size_t count = binder_list_sandboxes(v->proxy->binder, v->principal, views, LIST_MOST);
    struct buffer body;
    struct json_writer w;
    buffer_init(&body, LIST_MOST * ROW_BYTES);
    json_writer_init(&w, &body);
    json_object_open(&w);
    json_write_key(&w, "sandboxes");
    json_array_open(&w);
    for (size_t i = 0; i < count && i < LIST_MOST; i++)
        write_row(v, &views[i], &w);
    json_array_close(&w);
    json_object_close(&w);
    sandboxes_respond_json(v, 200, &w);
    buffer_fini(&body);
    free(views);
}

static void show(struct visit *v)
{
    struct handle_name name;
    struct sandbox_view view;
    if (sandboxes_open_handle(v, &name, NULL) != 0 ||
        !binder_show_sandbox(v->proxy->binder, v->principal, span_from_string(name.sandbox), &view))
        sandboxes_answer_unknown(v);
    else
        respond_row(v, 200, &view);
}

// Making and ending -------------------------------------------------------------------------------

struct order {
    struct visit *v;
    struct buffer body;
    struct bind_wait *wait; // NULL while none runs
};

static void order_closed(struct visit *v, const struct failure *why)
{
    struct order *o = v->state;
    (void)why;
    if (o->wait != NULL)
        bind_wait_cancel(o->wait);
    o->wait = NULL;
}

static void order_free(struct visit *v)
{
    struct order *o = v->state;
    buffer_fini(&o->body);
    free(o);
}

static void ended(void *owner, const struct failure *why)
{
    struct order *o = owner;
    o->wait = NULL;
    if (why == NULL)
        visit_respond(o->v, 204, NULL, 0, SPAN_LITERAL(""));
    else if (why->fault == FAULT_NOT_FOUND)
        sandboxes_answer_unknown(o->v);
    else
        visit_respond_failure(o->v, why, 1000);
}

static struct order *order_new(struct visit *v, const struct visit_ops *ops)
{
    struct order *o = memory_new(sizeof *o);
    o->v = v;
    buffer_init(&o->body, BODY_BYTES);
    v->state = o;
    v->ops = ops;
    v->is_audited = true;
    return o;
}

static void end(struct visit *v)
{
    static const struct visit_ops ops = {.closed = order_closed, .free = order_free};
    struct handle_name name;
    if (sandboxes_open_handle(v, &name, NULL) != 0) {
        sandboxes_answer_unknown(v);
        return;
    }
    struct order *o = order_new(v, &ops);
    o->wait = binder_end_sandbox(v->proxy->binder, v->principal, span_from_string(name.sandbox),
                                 ended, o);
}

struct wish {
    const struct profile *profile;
    int64_t idle_ms, absolute_ms; // 0: the profile's
    char volume[VOLUME_NAME_SIZE];
};

static int read_profile(struct visit *v, const struct json *j, int node, struct wish *out,
                        struct failure *why)
{
    char name[PROFILE_NAME_SIZE];
    struct span text;
    if (!json_string_plain(j, node, &text) || !span_copy_string(text, name, sizeof name))
        return failure_set(why, FAULT_INVALID, "profile: expected the name of a profile");
    out->profile = config_profile(v->config, name);
    if (out->profile == NULL)
        return failure_set(why, FAULT_INVALID, "profile: there is no profile \"%s\"", name);
    return 0;
}

static int read_seconds(const struct json *j, int node, const char *key, int64_t *out_ms,
                        struct failure *why)
{
    int64_t seconds;
    if (!json_i64(j, node, &seconds) || seconds <= 0 || seconds > INT64_C(1000000000))
        return failure_set(why, FAULT_INVALID, "%s: expected a whole number of seconds above 0",
                           key);
    *out_ms = seconds * 1000;
    return 0;
}

static int read_volume(const struct json *j, int node, struct wish *out, struct failure *why)
{
    struct span name;
    if (json_string_plain(j, node, &name) && volume_name_is_valid(name) &&
        span_copy_string(name, out->volume, sizeof out->volume))
        return 0;
    return failure_set(why, FAULT_INVALID,
                       "volume: expected a name of at most %d characters a-z, 0-9, '.', '_' and "
                       "'-', a letter or digit first",
                       VOLUME_NAME_SIZE - 1);
}

static int read_member(struct visit *v, const struct json *j, int node, struct wish *out,
                       struct failure *why)
{
    struct span key = json_key_raw(j, node);
    if (span_is(key, "profile"))
        return read_profile(v, j, node, out, why);
    if (span_is(key, "idle"))
        return read_seconds(j, node, "idle", &out->idle_ms, why);
    if (span_is(key, "absolute"))
        return read_seconds(j, node, "absolute", &out->absolute_ms, why);
    if (span_is(key, "volume"))
        return read_volume(j, node, out, why);
    return failure_set(why, FAULT_INVALID,
                       "\"%.*s\" is not known; expected profile, idle, absolute and volume",
                       SPAN_ARGS(span_slice(key, 0, 64)));
}

static int check_wish(struct visit *v, struct wish *wish, struct failure *why)
{
    if (wish->profile == NULL)
        wish->profile = config_profile(v->config, v->config->default_profile);
    const struct profile *p = wish->profile;
    if (p == NULL)
        return failure_set(why, FAULT_INVALID, "profile: expected, since there is no default one");
    if (!principal_may_use(v->principal, p->name))
        return failure_set(why, FAULT_DENIED, "this token may not use profile %s", p->name);
    if (wish->idle_ms > p->idle_ms)
        return failure_set(why, FAULT_INVALID,
                           "idle: profile %s allows at most %" PRId64 " seconds", p->name,
                           p->idle_ms / 1000);
    if (wish->absolute_ms > p->absolute_ms)
        return failure_set(why, FAULT_INVALID,
                           "absolute: profile %s allows at most %" PRId64 " seconds", p->name,
                           p->absolute_ms / 1000);
    if (wish->volume[0] != '\0' && p->volumes == 0)
        return failure_set(why, FAULT_INVALID, "volume: profile %s has no volumes", p->name);
    memcpy(v->profile, p->name, sizeof v->profile);
    return 0;
}

static int read_wish(struct visit *v, struct span body, struct wish *out, struct failure *why)
{
    static const struct json_limits limits = {.bytes = BODY_BYTES, .tokens = 64, .depth = 4};
    struct json *j;
    *out = (struct wish){0};
    if (span_trim(body).size == 0)
        return check_wish(v, out, why);
    int rc = json_parse(body, &limits, &j, why);
    if (rc != 0)
        return rc;
    if (json_type(j, JSON_ROOT) != JSON_OBJECT)
        rc = failure_set(why, FAULT_INVALID,
                         "expected an object with profile, idle, absolute and volume");
    if (rc == 0 && json_object_duplicate(j, JSON_ROOT) != JSON_NONE)
        rc = failure_set(why, FAULT_INVALID, "a key stands twice");
    for (int node = json_first(j, JSON_ROOT); rc == 0 && node != JSON_NONE;
         node = json_next(j, node))
        rc = read_member(v, j, node, out, why);
    json_free(j);
    return rc != 0 ? rc : check_wish(v, out, why);
}

static void made(void *owner, struct span sandbox, const struct failure *why, int64_t retry_ms)
{
    struct order *o = owner;
    struct visit *v = o->v;
    struct sandbox_view view;
    o->wait = NULL;
    if (why != NULL) {
        visit_respond_failure(v, why, retry_ms);
        return;
    }
    span_copy_string(sandbox, v->sandbox, sizeof v->sandbox);
    if (binder_show_sandbox(v->proxy->binder, v->principal, sandbox, &view))
        respond_row(v, 201, &view);
    else
        sandboxes_answer_unknown(v); // ended within this turn
}

static void wish_piece(struct visit *v, struct span bytes)
{
    struct order *o = v->state;
    buffer_append(&o->body, bytes); // within the limit given to exchange_read_body
}

static void wish_whole(struct visit *v)
{
    struct order *o = v->state;
    struct wish wish;
    struct failure why;
    if (read_wish(v, buffer_span(&o->body), &wish, &why) != 0)
        visit_respond_failure(v, &why, 0);
    else
        o->wait = binder_create_sandbox(v->proxy->binder, v->principal, wish.profile, wish.idle_ms,
                                        wish.absolute_ms, span_from_string(wish.volume), made, o);
}

static void create(struct visit *v)
{
    static const struct visit_ops ops = {
        .body = wish_piece, .body_ended = wish_whole, .closed = order_closed, .free = order_free};
    order_new(v, &ops);
    exchange_read_body(v->ex, BODY_BYTES);
}

static const struct route routes[] = {
    {"sandboxes", "/v1/sandboxes", {{"POST", create}, {"GET", list}}},
    {"sandbox", "/v1/sandboxes/{handle}", {{"GET", show}, {"DELETE", end}}},
    {"sandbox_grants", "/v1/sandboxes/{handle}/grants", {{"POST", grants_make}}},
    {"sandbox_grant", "/v1/sandboxes/{handle}/grants/{grant}", {{"DELETE", grants_take_back}}},
    {"sandbox_files",
     "/v1/sandboxes/{handle}/files",
     {{"PUT", sandboxes_upload}, {"GET", sandboxes_download}}},
    {"volumes", "/v1/volumes", {{"GET", volumes_list}}},
    {"volume", "/v1/volumes/{name}", {{"DELETE", volumes_delete}}},
};

const struct route *sandboxes_routes(size_t *count)
{
    *count = ARRAY_COUNT(routes);
    return routes;
}
