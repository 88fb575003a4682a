// SPDX-License-Identifier: Apache-2.0
#include "driver/api.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/api_request.h"
#include "driver/events.h"
#include "driver/sandboxes.h"
#include "gateway/lib/confine/user.h"
#include "gateway/lib/http/server.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/listener.h"
#include "gateway/lib/net/stream.h"
#include "gateway/lib/telemetry/log.h"

enum {
    API_PEERS_MAX = 17, // the configured ones and ourselves
    STREAM_BYTES = 1 << 20,
};

// Exchanges do not say whose they are, so each allowed user has a server of its own.
struct api_peer {
    struct api *api;
    uid_t uid;
    struct http_server *server; // owned
};

struct api {
    struct loop *loop;                  // borrowed
    const struct driver_config *config; // borrowed
    struct api_context context;
    struct events *events;     // owned
    struct listener *listener; // owned
    struct api_peer peer[API_PEERS_MAX];
    size_t peer_count;
};

static void on_request(void *service, struct exchange *ex)
{
    const struct api_peer *peer = service;
    api_request_begin(&peer->api->context, peer->uid, ex);
}

static const struct exchange_ops exchange_ops = {
    .request = on_request,
    .body = api_request_body,
    .body_ended = api_request_body_ended,
    .drained = api_request_drained,
    .closed = api_request_closed,
};

static const struct api_peer *api_find_peer(const struct api *api, uid_t uid)
{
    for (size_t i = 0; i < api->peer_count; i++)
        if (api->peer[i].uid == uid)
            return &api->peer[i];
    return NULL;
}

static void on_accepted(void *owner, int fd, const struct address *address)
{
    static const struct stream_limits limits = {
        .read_bytes = STREAM_BYTES,
        .write_bytes = 2 * STREAM_BYTES,
        .high_water = STREAM_BYTES,
        .low_water = STREAM_BYTES / 4,
    };
    const struct api *api = owner;
    struct peer_credentials who = {0};
    struct failure why = {0};
    const struct api_peer *peer =
        peer_credentials_read(fd, &who, &why) == 0 ? api_find_peer(api, who.uid) : NULL;
    if (peer == NULL) {
        LOG(LOG_WARN, "peer.refused", LOG_I64("uid", who.uid), LOG_I64("pid", who.pid));
        close(fd);
        return;
    }
    http_server_adopt(peer->server, stream_from_fd(api->loop, fd, address, &limits));
}

static void api_add_peer(struct api *api, uid_t uid)
{
    if (api_find_peer(api, uid) != NULL)
        return;
    struct http_server_limits limits;
    http_server_limits_default(&limits);
    limits.connections = limits.connections_per_peer = 1024;
    struct api_peer *peer = &api->peer[api->peer_count++];
    *peer = (struct api_peer){.api = api, .uid = uid};
    peer->server = http_server_new(api->loop, &limits, &exchange_ops, peer);
}

int api_new(struct loop *loop, const struct driver_config *config, const struct engine *engine,
            struct api **out, struct failure *why)
{
    struct api *api = memory_new(sizeof *api);
    api->loop = loop;
    api->config = config;
    api->events = events_new();
    api->context = (struct api_context){.config = config, .engine = engine, .events = api->events};
    api_add_peer(api, geteuid());
    for (size_t i = 0; i < config->allowed_user_count; i++) {
        struct user user;
        if (user_find(config->allowed_users[i], &user, why) != 0) {
            api_free(api);
            return failure_prefix(why, "allowed_users");
        }
        api_add_peer(api, user.uid);
    }
    *out = api;
    return 0;
}

void api_set_sandboxes(struct api *api, struct sandboxes *sandboxes, struct volumes *volumes)
{
    api->context.volumes = volumes;
    api->context.sandboxes = sandboxes;
}

int api_listen(struct api *api, struct failure *why)
{
    // Everybody may knock: who is heard is decided by credentials, not by the file's mode.
    struct listener_options options = {.unix_mode = 0666};
    int fault = address_parse(span_from_string(api->config->listen), &options.address, why);
    if (fault != 0)
        return fault;
    api->listener = listener_open(api->loop, &options, on_accepted, api, why);
    return api->listener != NULL ? 0 : why->fault;
}

void api_drain(struct api *api)
{
    if (api->listener != NULL)
        listener_close(api->listener);
    api->listener = NULL;
    events_end(api->events);
    for (size_t i = 0; i < api->peer_count; i++)
        http_server_drain(api->peer[i].server, NULL, NULL);
}

void api_free(struct api *api)
{
    if (api->listener != NULL)
        listener_close(api->listener);
    for (size_t i = 0; i < api->peer_count; i++)
        http_server_close(api->peer[i].server);
    loop_turn(api->loop, false); // closed exchanges take leave of the events
    events_free(api->events);
    free(api);
}

void api_exited(void *owner, const struct driver_record *record, const char *reason)
{
    struct api *api = owner;
    events_exited(api->events, record, reason);
}

void api_volume_expired(void *owner, const struct driver_volume *volume)
{
    struct api *api = owner;
    events_volume_expired(api->events, volume);
}

void api_profiles_changed(struct api *api)
{
    events_profiles(api->events);
}
