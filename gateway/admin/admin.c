// SPDX-License-Identifier: Apache-2.0
#include "gateway/admin/admin.h"

#include <string.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/writer.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/setup.h"

enum {
    METRICS_MOST = 8 * 1024 * 1024,
    POOLS_MOST = 256 * 1024,
    VOLUMES_MOST = 64 * 1024 * 1024,
};
#define VOLUME_PATH "/v1/volumes/"

static void respond(struct exchange *ex, int status, const char *type, struct span body)
{
    struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), span_from_string(type)},
        {SPAN_LITERAL("cache-control"), SPAN_LITERAL("no-store")},
        {SPAN_LITERAL("allow"), SPAN_LITERAL("GET, HEAD, POST, DELETE")},
    };
    struct http_response head = {.status = status,
                                 .headers = headers,
                                 .header_count = status == 405 ? 3 : 2,
                                 .content_length = (int64_t)body.size};
    exchange_respond(ex, &head, body);
}

static void respond_text(struct exchange *ex, int status, const char *text)
{
    respond(ex, status, "text/plain; charset=utf-8", span_from_string(text));
}

static void answer_healthz(struct admin *a, struct exchange *ex)
{
    (void)a;
    respond_text(ex, 200, "ok\n");
}

static void answer_readyz(struct admin *a, struct exchange *ex)
{
    struct failure why = {0};
    if (a->is_draining)
        respond_text(ex, 503, "draining\n");
    else if (binder_check_ready(a->binder, &why) != 0)
        respond_text(ex, 503, arena_printf(exchange_arena(ex), "%s\n", why.text));
    else
        respond_text(ex, 200, "ready\n");
}

static void answer_metrics(struct admin *a, struct exchange *ex)
{
    struct buffer out;
    buffer_init(&out, METRICS_MOST);
    if (a->collect != NULL)
        a->collect(a->owner);
    if (metrics_write(a->metrics, &out) == 0)
        respond(ex, 200, "text/plain; version=0.0.4; charset=utf-8", buffer_span(&out));
    else
        respond_text(ex, 500, "the metrics do not fit\n");
    buffer_fini(&out);
}

static void answer_pools(struct admin *a, struct exchange *ex)
{
    struct buffer out;
    struct json_writer w;
    buffer_init(&out, POOLS_MOST);
    json_writer_init(&w, &out);
    binder_report(a->binder, &w);
    if (json_writer_finish(&w) == 0)
        respond(ex, 200, "application/json", buffer_span(&out));
    else
        respond_text(ex, 500, "the pools do not fit\n");
    buffer_fini(&out);
}

// What an exchange waits for, in its arena.
struct asked {
    struct admin *admin;
    struct exchange *ex;
    struct volume_question *question; // NULL: a check of the store
};

static struct asked *asked_new(struct admin *a, struct exchange *ex)
{
    struct asked *asked = arena_alloc(exchange_arena(ex), sizeof *asked);
    *asked = (struct asked){.admin = a, .ex = ex};
    exchange_set_user(ex, asked);
    return asked;
}

static struct exchange *asked_end(void *owner)
{
    struct asked *asked = owner;
    exchange_set_user(asked->ex, NULL);
    return asked->ex;
}

static void respond_failure(struct exchange *ex, const struct failure *why)
{
    respond_text(ex, fault_http_status(why->fault),
                 arena_printf(exchange_arena(ex), "%s\n", why->text));
}

static void store_checked(void *owner, const struct store_check *found, const struct failure *why)
{
    struct exchange *ex = asked_end(owner);
    if (why != NULL)
        respond_failure(ex, why);
    else
        respond(ex, 200, "application/json",
                span_from_string(
                    arena_printf(exchange_arena(ex),
                                 "{\"sandboxes\":%lld,\"taken_out\":%lld,\"put_back\":%lld}\n",
                                 (long long)found->sandboxes, (long long)found->taken_out,
                                 (long long)found->put_back)));
}

static void answer_store_check(struct admin *a, struct exchange *ex)
{
    struct asked *asked = asked_new(a, ex);
    if (binder_check_store(a->binder, store_checked, asked))
        return;
    asked_end(asked);
    respond_text(ex, 409, "a check is under way\n");
}

static void write_time(struct json_writer *w, const char *key, int64_t wall_ms)
{
    char text[CLOCK_TEXT_SIZE];
    clock_format_wall(wall_ms, text);
    json_write_member_string(w, key, text);
}

static void write_volume(const struct volume_view *v, struct json_writer *w)
{
    json_object_open(w);
    json_write_member_string(w, "id", v->id);
    json_write_member_string(w, "principal", v->owner);
    json_write_member_string(w, "name", v->name);
    json_write_member_string(w, "profile", v->profile);
    json_write_member_i64(w, "bytes", v->bytes);
    write_time(w, "created_at", v->created_ms);
    write_time(w, "used_at", v->used_ms);
    if (v->sandbox[0] == '\0')
        write_time(w, "expires_at", v->expires_ms);
    else
        json_write_member_string(w, "sandbox", v->sandbox);
    json_object_close(w);
}

static void volumes_told(void *owner, const struct volume_view *views, size_t count,
                         const struct failure *why)
{
    struct exchange *ex = asked_end(owner);
    struct buffer out;
    struct json_writer w;
    if (why != NULL) {
        respond_failure(ex, why);
        return;
    }
    buffer_init(&out, VOLUMES_MOST);
    json_writer_init(&w, &out);
    json_object_open(&w);
    json_write_key(&w, "volumes");
    json_array_open(&w);
    for (size_t i = 0; i < count; i++)
        write_volume(&views[i], &w);
    json_array_close(&w);
    json_object_close(&w);
    if (json_writer_finish(&w) == 0 && buffer_append_char(&out, '\n') == 0)
        respond(ex, 200, "application/json", buffer_span(&out));
    else
        respond_text(ex, 500, "the volumes do not fit\n");
    buffer_fini(&out);
}

static void answer_volumes(struct admin *a, struct exchange *ex)
{
    struct asked *asked = asked_new(a, ex);
    asked->question = binder_list_volumes(a->binder, NULL, volumes_told, asked);
}

static void volume_deleted(void *owner, const struct failure *why)
{
    struct exchange *ex = asked_end(owner);
    if (why != NULL)
        respond_failure(ex, why);
    else
        respond_text(ex, 200, "deleted\n");
}

static void answer_volume_delete(struct admin *a, struct exchange *ex)
{
    struct span path = exchange_path(ex);
    struct asked *asked = asked_new(a, ex);
    asked->question = binder_delete_volume(
        a->binder, NULL, span_slice(path, strlen(VOLUME_PATH), path.size), volume_deleted, asked);
}

static const struct {
    const char *path; // one that ends with a slash: what begins so
    const char *method;
    void (*answer)(struct admin *a, struct exchange *ex);
} routes[] = {
    {"/healthz", "GET", answer_healthz},
    {"/readyz", "GET", answer_readyz},
    {"/metrics", "GET", answer_metrics},
    {"/pools", "GET", answer_pools},
    {"/v1/volumes", "GET", answer_volumes},
    {VOLUME_PATH, "DELETE", answer_volume_delete},
    {"/v1/store/check", "POST", answer_store_check},
};

static bool fits(const char *route, struct span path)
{
    return span_is(path, route) ||
           (route[strlen(route) - 1] == '/' && span_starts_with(path, span_from_string(route)));
}

static void on_request(void *service, struct exchange *ex)
{
    struct span method = exchange_method(ex);
    for (size_t i = 0; i < ARRAY_COUNT(routes); i++) {
        const char *takes = routes[i].method;
        if (!fits(routes[i].path, exchange_path(ex)))
            continue;
        if (span_is(method, takes) || (span_is(method, "HEAD") && strcmp(takes, "GET") == 0))
            routes[i].answer(service, ex);
        else
            respond_text(ex, 405, arena_printf(exchange_arena(ex), "%s only\n", takes));
        return;
    }
    respond_text(ex, 404, "there is /healthz, /readyz, /metrics, /pools and /v1/volumes\n");
}

static void on_closed(struct exchange *ex, const struct failure *why)
{
    struct asked *asked = exchange_user(ex); // only while something is under way for it
    (void)why;
    if (asked != NULL && asked->question != NULL)
        volume_question_cancel(asked->question);
    else if (asked != NULL)
        binder_check_cancel(asked->admin->binder);
}

const struct exchange_ops *admin_exchange_ops(void)
{
    static const struct exchange_ops ops = {.request = on_request, .closed = on_closed};
    return &ops;
}
