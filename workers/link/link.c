// SPDX-License-Identifier: Apache-2.0
#include "workers/link/link.h"

#include <stdlib.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/digest.h"
#include "gateway/lib/http/server.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/listener.h"
#include "gateway/lib/net/stream.h"
#include "gateway/lib/telemetry/log.h"
#include "workers/init/life.h"
#include "workers/link/card.h"
#include "workers/link/origin.h"
#include "workers/link/pending.h"
#include "workers/link/replay.h"
#include "workers/link/service.h"
#include "workers/link/sessions.h"

enum {
    CONNECTIONS_MAX = 256,
    WRITE_BYTES_MAX = 64 << 20, // the largest answer, which is whole in memory anyway
    CARD_LIMIT = 1 << 20,
};

enum route_use { ROUTE_SEEN, ROUTE_USED }; // whether it counts as use of the sandbox
enum route_mode { LINKED = 1, STAND_ALONE = 2 };

struct route {
    const char *method, *path; // a path ending with '/' has a last component of any kind
    unsigned modes;
    enum route_use use;
    void (*run)(struct service *s, struct exchange *ex);
};

static const struct route routes[] = {
    {"POST", "/mcp", LINKED | STAND_ALONE, ROUTE_USED, mcp_post},
    {"GET", "/mcp", STAND_ALONE, ROUTE_SEEN, mcp_get},
    {"GET", "/mcp", LINKED, ROUTE_SEEN, mcp_resume},
    {"DELETE", "/mcp", STAND_ALONE, ROUTE_SEEN, mcp_delete},
    {"GET", "/card", LINKED, ROUTE_SEEN, card_get},
    {"POST", "/bind", LINKED, ROUTE_USED, bind_post},
    {"POST", "/grant", LINKED, ROUTE_SEEN, grant_post},
    {"GET", "/status", LINKED, ROUTE_SEEN, status_get},
    {"POST", "/cancel", LINKED, ROUTE_SEEN, cancel_post},
    {"DELETE", "/sessions/", LINKED, ROUTE_SEEN, session_delete},
    {"PUT", "/files", LINKED | STAND_ALONE, ROUTE_USED, files_put},
    {"GET", "/files", LINKED | STAND_ALONE, ROUTE_USED, files_get},
    {"POST", "/end", LINKED, ROUTE_SEEN, end_post},
};

static bool path_matches(const char *path, struct span asked)
{
    struct span known = span_from_string(path);
    if (known.data[known.size - 1] == '/')
        return span_starts_with(asked, known) && asked.size > known.size;
    return span_equals(asked, known);
}

// NULL with *path_known telling 405 from 404.
static const struct route *route_find(const struct service *s, const struct exchange *ex,
                                      bool *path_known)
{
    unsigned mode = s->options.stand_alone ? STAND_ALONE : LINKED;
    *path_known = false;
    for (size_t i = 0; i < ARRAY_COUNT(routes); i++) {
        if ((routes[i].modes & mode) == 0 || !path_matches(routes[i].path, exchange_path(ex)))
            continue;
        if (span_is(exchange_method(ex), routes[i].method))
            return &routes[i];
        *path_known = true;
    }
    return NULL;
}

static bool is_authorized(const struct service *s, const struct exchange *ex)
{
    struct span sent = exchange_header(ex, "authorization");
    return exchange_header_repeats(ex, "authorization") == 1 &&
           equals_in_constant_time(sent, span_from_string(s->options.authorization));
}

static void refuse_unauthorized(struct exchange *ex)
{
    const struct http_header header = {SPAN_LITERAL("www-authenticate"),
                                       SPAN_LITERAL("Bearer error=\"invalid_token\"")};
    const struct http_response head = {401, &header, 1, 0};
    exchange_respond(ex, &head, SPAN_LITERAL(""));
}

static void on_request(void *service, struct exchange *ex)
{
    struct service *s = service;
    bool path_known;
    if (s->options.stand_alone && !origin_is_local(ex)) {
        respond_status(ex, 403);
        return;
    }
    if (!is_authorized(s, ex)) {
        refuse_unauthorized(ex);
        return;
    }
    const struct route *route = route_find(s, ex, &path_known);
    if (route == NULL) {
        respond_status(ex, path_known ? 405 : 404);
        return;
    }
    if (route->use == ROUTE_USED)
        life_used(s->options.life);
    else
        life_seen(s->options.life);
    route->run(s, ex);
}

static void on_body(struct exchange *ex, struct span bytes)
{
    struct handler *h = exchange_user(ex);
    if (h != NULL && h->ops->body != NULL)
        h->ops->body(h, bytes);
}

static void on_body_ended(struct exchange *ex)
{
    struct handler *h = exchange_user(ex);
    if (h != NULL && h->ops->body_ended != NULL)
        h->ops->body_ended(h);
}

static void on_drained(struct exchange *ex)
{
    struct handler *h = exchange_user(ex);
    if (h != NULL && h->ops->drained != NULL)
        h->ops->drained(h);
}

static void on_closed(struct exchange *ex, const struct failure *why)
{
    struct handler *h = exchange_user(ex);
    (void)why;
    if (h != NULL && h->ops->closed != NULL)
        h->ops->closed(h);
}

static const struct exchange_ops exchange_ops = {
    .request = on_request,
    .body = on_body,
    .body_ended = on_body_ended,
    .drained = on_drained,
    .closed = on_closed,
};

// A gateway is outside of our pid namespace and has no pid here; a command would have one.
static bool peer_is_inside(int fd, const struct address *peer)
{
    struct peer_credentials who;
    struct failure why;
    if (getpid() != 1 || !address_is_unix(peer))
        return false;
    return peer_credentials_read(fd, &who, &why) != 0 || who.pid != 0;
}

static void on_accepted(void *owner, int fd, const struct address *peer)
{
    static const struct stream_limits limits = {
        .read_bytes = 256 << 10,
        .write_bytes = WRITE_BYTES_MAX + (1 << 20),
        .high_water = 256 << 10,
        .low_water = 64 << 10,
    };
    struct service *s = owner;
    if (peer_is_inside(fd, peer)) {
        LOG(LOG_WARN, "link.peer_refused", LOG_STRING("reason", "from inside the sandbox"));
        close(fd);
        return;
    }
    http_server_adopt(s->server, stream_from_fd(s->options.loop, fd, peer, &limits));
}

struct service *link_new(const struct link_options *options, struct failure *why)
{
    struct http_server_limits limits;
    struct service *s = memory_new(sizeof *s);
    s->options = *options;
    s->hold = hold_new(options->start->generation, options->start->principal);
    s->sessions = options->stand_alone ? sessions_new(options->loop) : NULL;
    s->pendings = pendings_new(options->loop, options->calls, !options->stand_alone);
    s->replay = replay_new(options->loop);
    buffer_init(&s->card, CARD_LIMIT);
    http_server_limits_default(&limits);
    limits.write_buffer_bytes = WRITE_BYTES_MAX;
    limits.connections = limits.connections_per_peer = CONNECTIONS_MAX;
    s->server = http_server_new(options->loop, &limits, &exchange_ops, s);
    const struct listener_options listen = {.address = options->address};
    s->listener = listener_open(options->loop, &listen, on_accepted, s, why);
    if (s->listener == NULL || card_write(options->start->read_only, &s->card, why) != 0) {
        link_free(s);
        return NULL;
    }
    return s;
}

const struct address *link_address(const struct service *s)
{
    return listener_address(s->listener);
}

void link_drain(struct service *s, void (*drained)(void *owner), void *owner)
{
    s->ending = true;
    listener_pause(s->listener);
    calls_cancel_all(s->options.calls);
    if (s->sessions != NULL)
        sessions_close_streams(s->sessions);
    http_server_drain(s->server, drained, owner);
}

void link_free(struct service *s)
{
    if (s == NULL)
        return;
    if (s->listener != NULL)
        listener_close(s->listener);
    http_server_close(s->server);
    sessions_free(s->sessions);
    replay_free(s->replay);
    pendings_free(s->pendings);
    hold_free(s->hold);
    buffer_fini(&s->card);
    loop_bury(s->options.loop, s, free);
}
