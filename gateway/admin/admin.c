// SPDX-License-Identifier: Apache-2.0
#include "gateway/admin/admin.h"

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/writer.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/pool/setup.h"

enum { METRICS_MOST = 8 * 1024 * 1024, POOLS_MOST = 256 * 1024 };

static void respond(struct exchange *ex, int status, const char *type, struct span body)
{
    struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), span_from_string(type)},
        {SPAN_LITERAL("cache-control"), SPAN_LITERAL("no-store")},
        {SPAN_LITERAL("allow"), SPAN_LITERAL("GET, HEAD, POST")},
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

static void store_checked(void *owner, const struct store_check *found, const struct failure *why)
{
    struct exchange *ex = owner;
    exchange_set_user(ex, NULL);
    if (why != NULL)
        respond_text(ex, fault_http_status(why->fault),
                     arena_printf(exchange_arena(ex), "%s\n", why->text));
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
    exchange_set_user(ex, a);
    if (binder_check_store(a->binder, store_checked, ex))
        return;
    exchange_set_user(ex, NULL);
    respond_text(ex, 409, "a check is under way\n");
}

static const struct {
    const char *path;
    const char *method;
    void (*answer)(struct admin *a, struct exchange *ex);
} routes[] = {
    {"/healthz", "GET", answer_healthz},
    {"/readyz", "GET", answer_readyz},
    {"/metrics", "GET", answer_metrics},
    {"/pools", "GET", answer_pools},
    {"/v1/store/check", "POST", answer_store_check},
};

static void on_request(void *service, struct exchange *ex)
{
    struct span method = exchange_method(ex);
    for (size_t i = 0; i < ARRAY_COUNT(routes); i++) {
        if (!span_is(exchange_path(ex), routes[i].path))
            continue;
        if (span_is(method, routes[i].method) ||
            (span_is(method, "HEAD") && routes[i].method[0] == 'G'))
            routes[i].answer(service, ex);
        else
            respond_text(ex, 405, routes[i].method[0] == 'G' ? "GET only\n" : "POST only\n");
        return;
    }
    respond_text(ex, 404, "there is /healthz, /readyz, /metrics and /pools\n");
}

static void on_closed(struct exchange *ex, const struct failure *why)
{
    struct admin *a = exchange_user(ex); // only while a check is under way for it
    (void)why;
    if (a != NULL)
        binder_check_cancel(a->binder);
}

const struct exchange_ops *admin_exchange_ops(void)
{
    static const struct exchange_ops ops = {.request = on_request, .closed = on_closed};
    return &ops;
}
