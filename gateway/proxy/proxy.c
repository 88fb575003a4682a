// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/proxy.h"

#include <stdio.h>

#include "gateway/lib/loop/loop.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/proxy/guard.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/mcp_routes.h"

struct proxy *proxy_new(const struct proxy_options *options)
{
    struct proxy *p = memory_new(sizeof *p);
    p->loop = options->loop;
    p->config = options->config;
    p->keyring = options->keyring;
    p->binder = options->binder;
    p->auth = options->auth;
    p->meters = meters_new(options->metrics);
    p->opened = opened_new(options->keyring);
    p->sessions = sessions_new();
    p->tools = tool_lists_new();
    p->notices = notices_new(p->binder);
    list_init(&p->posts);
    list_init(&p->listeners);
    proxy_add_routes(p, mcp_routes, mcp_route_count);
    return p;
}

void proxy_free(struct proxy *p)
{
    mcp_post_end_all(p);
    LIST_EACH(node, &p->listeners)
    {
        struct proxy_listener *l = LIST_ENTRY(node, struct proxy_listener, node);
        list_remove(node);
        memory_free_at(&l);
    }
    notices_free(p->notices);
    sessions_free(p->sessions);
    tool_lists_free(p->tools);
    meters_free(p->meters);
    opened_free(p->opened);
    memory_free_at(&p);
}

void proxy_add_routes(struct proxy *p, const struct route *routes, size_t count)
{
    if (p->route_tables == ROUTE_TABLES)
        return;
    p->routes[p->route_tables].rows = routes;
    p->routes[p->route_tables].count = count;
    p->route_tables++;
}

void proxy_end_streams(struct proxy *p)
{
    p->is_ending = true;
    sessions_end_all_streams(p->sessions);
}

struct proxy_listener *proxy_listener(struct proxy *p, bool loopback)
{
    struct proxy_listener *l = memory_new(sizeof *l);
    l->proxy = p;
    l->loopback = loopback;
    list_append(&p->listeners, &l->node);
    return l;
}

// --- what every request passes, in this order; false: answered
// ------------------------------------

static bool pass_guard(struct visit *v, const struct proxy_listener *l)
{
    struct failure why;
    if (guard_check(v->config, l->loopback, v->ex, &why) == 0 &&
        guard_check_repeats(v->ex, &why) == 0)
        return true;
    v->is_audited = true;
    visit_respond_failure(v, &why, 0);
    return false;
}

static bool pass_path(struct visit *v, const struct proxy_listener *l)
{
    (void)l;
    struct proxy *p = v->proxy;
    for (size_t i = 0; i < p->route_tables && v->match.route == NULL; i++)
        v->match = route_find(p->routes[i].rows, p->routes[i].count, exchange_path(v->ex));
    if (v->match.route != NULL)
        return true;
    // Also the well-knowns: clients start OAuth when these answer anything but a clean 404.
    visit_respond(v, 404, NULL, 0, SPAN_LITERAL(""));
    return false;
}

static bool pass_preflight(struct visit *v, const struct proxy_listener *l)
{
    (void)l;
    if (!span_is(exchange_method(v->ex), "OPTIONS"))
        return true;
    char allow[128];
    route_allow(v->match.route, allow, sizeof allow);
    struct span asked = guard_requested_headers(v->ex);
    struct http_header headers[] = {
        {SPAN_LITERAL("allow"), span_from_string(allow)},
        {SPAN_LITERAL("access-control-allow-methods"), span_from_string(allow)},
        {SPAN_LITERAL("access-control-max-age"), SPAN_LITERAL("600")},
        {SPAN_LITERAL("access-control-allow-headers"), asked},
    };
    visit_respond(v, 204, headers, asked.size > 0 ? 4 : 3, SPAN_LITERAL(""));
    return false;
}

// With static tokens there is no authorization server, so the challenge names none.
static bool pass_authentication(struct visit *v, const struct proxy_listener *l)
{
    (void)l;
    struct failure why;
    struct span sent = exchange_header(v->ex, "authorization");
    struct authenticator *auth = &v->proxy->auth;
    if (auth->authenticate(auth->user, sent, &v->principal, &why) == 0)
        return true;
    struct http_header headers[] = {
        {SPAN_LITERAL("www-authenticate"), span_is_absent(sent)
                                               ? SPAN_LITERAL("Bearer")
                                               : SPAN_LITERAL("Bearer error=\"invalid_token\"")},
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")},
    };
    v->is_audited = true;
    v->outcome = fault_name(why.fault);
    visit_respond(v, 401, headers, 2,
                  SPAN_LITERAL("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,"
                               "\"message\":\"a valid bearer token is needed\"}}"));
    return false;
}

static bool enter_route(struct visit *v, const struct proxy_listener *l)
{
    (void)l;
    const struct route *route = v->match.route;
    for (size_t i = 0; i < ROUTE_METHODS && route->methods[i].method != NULL; i++) {
        if (!span_is(exchange_method(v->ex), route->methods[i].method))
            continue;
        route->methods[i].enter(v);
        return true;
    }
    char allow[128];
    route_allow(route, allow, sizeof allow);
    struct http_header header = {SPAN_LITERAL("allow"), span_from_string(allow)};
    visit_respond(v, 405, &header, 1, SPAN_LITERAL(""));
    return false;
}

static bool (*const passes[])(struct visit *v, const struct proxy_listener *l) = {
    pass_guard, pass_path, pass_preflight, pass_authentication, enter_route,
};

// --- adapters ------------------------------------------------------------------------------------

static void on_request(void *service, struct exchange *ex)
{
    const struct proxy_listener *l = service;
    struct visit *v = memory_new(sizeof *v);
    v->proxy = l->proxy;
    v->config = l->proxy->config;
    v->ex = ex;
    v->references = 1;
    v->started_us = exchange_started_us(ex);
    exchange_set_user(ex, v);
    meters_exchange_opened(v->proxy->meters);
    for (size_t i = 0; i < ARRAY_COUNT(passes); i++) {
        if (!passes[i](v, l))
            break;
    }
}

static void on_body(struct exchange *ex, struct span bytes)
{
    struct visit *v = exchange_user(ex);
    if (v->ops != NULL && v->ops->body != NULL)
        v->ops->body(v, bytes);
}

static void on_body_ended(struct exchange *ex)
{
    struct visit *v = exchange_user(ex);
    if (v->ops != NULL && v->ops->body_ended != NULL)
        v->ops->body_ended(v);
}

static void on_drained(struct exchange *ex)
{
    struct visit *v = exchange_user(ex);
    if (v->ops != NULL && v->ops->drained != NULL)
        v->ops->drained(v);
}

// A flood from strangers must not be one of lines. The metrics have them all.
static void write_audit(struct visit *v, int64_t us)
{
    enum { STRANGERS_A_SECOND = 20 };
    struct proxy *p = v->proxy;
    int64_t not_logged = 0;
    if (v->principal == NULL &&
        !log_budget_take(&p->strangers, loop_now_ms(p->loop), STRANGERS_A_SECOND, &not_logged))
        return;
    const char *hash = v->principal != NULL ? principal_hash(v->principal) : "";
    LOG(LOG_INFO, "audit",
        LOG_STRING("route", v->match.route != NULL ? v->match.route->name : "none"),
        LOG_STRING("method", v->method != NULL ? v->method : ""), LOG_STRING("tool", v->tool),
        LOG_STRING("subject", v->principal != NULL ? principal_subject(v->principal) : ""),
        LOG_STRING("tenant", v->principal != NULL ? principal_tenant(v->principal) : ""),
        LOG_SPAN("principal", span_slice(span_from_string(hash), 0, 12)),
        LOG_STRING("profile", v->profile), LOG_STRING("sandbox", v->sandbox),
        LOG_STRING("session", v->session), LOG_I64("status", v->status),
        LOG_STRING("outcome", v->outcome != NULL ? v->outcome : "NONE"), LOG_I64("us", us),
        LOG_I64("not_logged", not_logged));
}

static void on_closed(struct exchange *ex, const struct failure *why)
{
    struct visit *v = exchange_user(ex);
    if (v == NULL) // refused before its head was whole
        return;
    int64_t us = loop_now_us(v->proxy->loop) - v->started_us;
    v->ex = NULL;
    if (v->status == 0 && why != NULL) {
        v->outcome = fault_name(why->fault);
        // The server has answered these itself.
        if (why->fault == FAULT_TOO_LARGE || why->fault == FAULT_SLOW)
            v->status = fault_http_status(why->fault);
    }
    if (v->ops != NULL && v->ops->closed != NULL)
        v->ops->closed(v, why);
    meters_exchange_closed(v->proxy->meters, v->match.route != NULL ? v->match.route->name : NULL,
                           v->status, us);
    if (v->is_audited)
        write_audit(v, us);
    visit_drop(v);
}

const struct exchange_ops *proxy_exchange_ops(void)
{
    static const struct exchange_ops ops = {
        .request = on_request,
        .body = on_body,
        .body_ended = on_body_ended,
        .drained = on_drained,
        .closed = on_closed,
    };
    return &ops;
}
