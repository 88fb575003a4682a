// SPDX-License-Identifier: Apache-2.0
// wrist-gateway: one process, or several of them, put together from its parts, in the order in
// which rights are given up.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/admin/admin.h"
#include "gateway/auth/auth.h"
#include "gateway/config/config.h"
#include "gateway/crew.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/config/command_line.h"
#include "gateway/lib/confine/limits.h"
#include "gateway/lib/confine/privileges.h"
#include "gateway/lib/confine/seccomp.h"
#include "gateway/lib/crypto/keyring.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/redis/redis.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/lib/telemetry/metrics.h"
#include "gateway/lib/tls/tls.h"
#include "gateway/listen/front.h"
#include "gateway/pool/setup.h"
#include "gateway/proxy/proxy.h"
#include "gateway/proxy/sandboxes.h"
#include "gateway/sandbox/driver.h"
#include "gateway/sandbox/worker.h"
#include "gateway/store/memory.h"
#include "gateway/store/redis.h"
#include "gateway/store/state_file.h"

struct gateway {
    struct config *config; // everything owned
    struct crew *crew;     // NULL: the only process
    const int *sockets;    // the crew's, of this one
    size_t process;
    struct loop *loop;
    struct front *front;
    int state; // fd of the state directory
    char fleet[ID_SIZE];
    struct keyring *keyring;
    struct auth *auth;
    struct metrics *metrics;
    struct redis_url redis; // of a shared store, and what it needs
    struct redis_place *places;
    size_t place_count;
    struct tls_context *redis_tls;
    struct store *store;
    struct driver *driver;
    struct binder *binder;
    struct proxy *proxy;
    struct admin admin;
    struct timer drain;
};

// The state directory belongs to whom the gateway becomes; root makes it for them.
static int hand_over_state(const char *path, const struct user *user, struct failure *why)
{
    struct stat st;
    if (mkdir(path, 0700) != 0 && stat(path, &st) != 0)
        return failure_errno(why, "state directory %s", path);
    if (stat(path, &st) == 0 && st.st_uid == 0 && chown(path, user->uid, user->gid) != 0)
        return failure_errno(why, "chown %s", path);
    return 0;
}

// Ports are bound before this and files are opened after it: what SIGHUP must be able to read again
// is read for the first time with the rights that are left.
static int give_up_rights(struct gateway *g, struct failure *why)
{
    struct user user;
    bool is_root = geteuid() == 0;
    if (is_root) {
        int rc = user_find(g->config->user, &user, why);
        if (rc == 0 && user.uid == 0)
            rc = failure_set(why, FAULT_INVALID, "the gateway does not run as root");
        if (rc == 0)
            rc = hand_over_state(g->config->state_dir, &user, why);
        if (rc != 0)
            return failure_prefix(why, "user: %s", g->config->user);
    }
    return privileges_drop(is_root ? &user : NULL, 0, why);
}

// The file that replicas share is made by a person: one that each made for itself would open
// nobody else's sessions.
static int open_keyring(struct gateway *g, struct failure *why)
{
    const struct config *c = g->config;
    char ring[sizeof c->state_dir + 16];
    bool is_own = c->keyring[0] == '\0';
    if (!is_own && access(c->keyring, R_OK) != 0)
        return failure_errno(why, "keyring %s (made by: wristctl keyring new FILE)", c->keyring);
    snprintf(ring, sizeof ring, is_own ? "%s/keyring" : "%s", is_own ? c->state_dir : c->keyring);
    return keyring_open(ring, clock_wall_ms(loop_clock(g->loop)), &g->keyring, why);
}

static int read_places(struct gateway *g, struct failure *why)
{
    const struct store_settings *s = &g->config->store;
    g->place_count = s->sentinel_count > 0 ? s->sentinel_count : 1;
    g->places = memory_new_array(g->place_count, sizeof *g->places);
    int rc = redis_url_parse(span_from_string(s->url), &g->redis, why);
    g->places[0] = g->redis.place;
    for (size_t i = 0; rc == 0 && i < s->sentinel_count; i++)
        rc = redis_place_parse(span_from_string(s->sentinels[i]), 26379, &g->places[i], why);
    return rc;
}

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static int open_redis(struct gateway *g, struct failure *why)
{
    enum { MEET_MS = 2000, QUEUE = 65536, REPLY_BYTES = 4 * 1024 * 1024 };
    const struct store_settings *s = &g->config->store;
    int rc = read_places(g, why);
    if (rc == 0 && g->redis.tls) {
        g->redis_tls = tls_client_new(or_null(s->ca), NULL, why);
        rc = g->redis_tls != NULL ? 0 : why->fault;
    }
    if (rc != 0)
        return failure_prefix(why, "store");
    const struct store_redis_options options = {
        .redis = {.mode = s->sentinel_count > 0 ? REDIS_SENTINEL
                          : s->cluster          ? REDIS_CLUSTER
                                                : REDIS_SINGLE,
                  .places = g->places,
                  .place_count = g->place_count,
                  .master = g->redis.place.host,
                  .user = g->redis.user[0] != '\0' ? g->redis.user : or_null(s->user),
                  .password = or_null(g->redis.password),
                  .password_file = or_null(s->password_file),
                  .database = g->redis.database,
                  .tls = g->redis_tls,
                  .connect_ms = s->connect_ms,
                  .command_ms = s->command_ms,
                  .queue = QUEUE,
                  .reply_bytes = REPLY_BYTES},
        .fleet = g->fleet,
    };
    g->store = store_redis_open(g->loop, &options);
    rc = store_redis_meet(g->store, MEET_MS, why);
    if (rc == FAULT_UNAVAILABLE) { // it heals without a restart, so it may also start so
        LOG(LOG_WARN, "store.away", LOG_FAILURE(why));
        rc = 0;
    }
    return rc;
}

static int open_state(struct gateway *g, struct failure *why)
{
    const struct config *c = g->config;
    int rc = state_directory_open(c->state_dir, &g->state, why);
    if (rc == 0 && c->fleet[0] != '\0')
        span_copy_string(span_from_string(c->fleet), g->fleet, sizeof g->fleet);
    else if (rc == 0)
        rc = fleet_id_load(g->state, g->fleet, why);
    if (rc == 0)
        rc = open_keyring(g, why);
    if (rc == 0)
        rc = config_store_is_shared(c) ? open_redis(g, why)
                                       : store_memory_open(g->loop, g->state, &g->store, why);
    if (rc != 0)
        return failure_prefix(why, "state %s", c->state_dir);
    g->auth = auth_new(c->tokens_file, loop_clock(g->loop), why);
    return g->auth != NULL ? 0 : why->fault;
}

static int open_pool(struct gateway *g, struct failure *why)
{
    const char *socket = g->config->driver_socket;
    int rc = driver_client_open(g->loop, strncmp(socket, "unix:", 5) == 0 ? socket + 5 : socket,
                                &g->driver, why);
    if (rc != 0)
        return failure_prefix(why, "driver %s", socket);
    struct binder_options options = {
        .loop = g->loop,
        .config = g->config,
        .store = g->store,
        .driver = g->driver,
        .workers = &worker_client_ops,
        .workers_user = g->loop,
        .ring = g->keyring,
        .metrics = g->metrics,
        .fleet_id = g->fleet,
        .directory = g->state,
        .grace_ms = BINDER_GRACE_MS,
    };
    g->binder = binder_open(&options);
    return 0;
}

static int authenticate(void *user, struct span authorization, struct principal **out,
                        struct failure *why)
{
    *out = auth_check(user, authorization, why);
    return *out != NULL ? 0 : FAULT_UNAUTHENTICATED;
}

static void open_proxy(struct gateway *g)
{
    struct proxy_options options = {
        .loop = g->loop,
        .config = g->config,
        .keyring = g->keyring,
        .binder = g->binder,
        .metrics = g->metrics,
        .auth = {authenticate, g->auth},
    };
    size_t count;
    const struct route *routes = sandboxes_routes(&count);
    g->proxy = proxy_new(&options);
    proxy_add_routes(g->proxy, routes, count);
}

static void set_gauge(struct gateway *g, const char *name, const char *help, size_t value)
{
    metric_set(metric_gauge(g->metrics, name, "", help), (int64_t)value);
}

static void collect(void *owner)
{
    struct gateway *g = owner;
    struct front_counters c;
    front_count(g->front, &c);
    set_gauge(g, "wrist_connections", "Open client connections.", c.connections);
    set_gauge(g, "wrist_exchanges", "Requests under way, held streams too.", c.exchanges);
    set_gauge(g, "wrist_buffered_bytes", "Bytes that wait for clients or handlers.",
              c.bytes_buffered);
    set_gauge(g, "wrist_connections_accepted", "Client connections since the start.", c.accepted);
    set_gauge(g, "wrist_connections_refused", "Client connections past a limit.", c.refused);
    for (int kind = 0; kind < HOSTILITY_COUNT; kind++) {
        char label[64];
        snprintf(label, sizeof label, "kind=\"%s\"",
                 http_hostility_name((enum http_hostility)kind));
        metric_set(metric_gauge(g->metrics, "wrist_hostile_peers", label,
                                "Peers that broke the protocol or a limit, since the start."),
                   (int64_t)c.hostile[kind]);
    }
}

static void *service_for(void *owner, bool loopback)
{
    struct gateway *g = owner;
    return proxy_listener(g->proxy, loopback);
}

static int open_doors(struct gateway *g, struct failure *why)
{
    struct front_services services = {
        .client_ops = proxy_exchange_ops(),
        .admin_ops = admin_exchange_ops(),
        .service_for = service_for,
        .owner = g,
        .admin_service = &g->admin,
    };
    g->admin =
        (struct admin){.metrics = g->metrics, .binder = g->binder, .collect = collect, .owner = g};
    return front_open(g->front, &services, why);
}

static void on_hangup(void *owner, int signal_number)
{
    struct gateway *g = owner;
    struct failure why;
    (void)signal_number;
    if (auth_reload(g->auth, &why) != 0)
        LOG(LOG_ERROR, "tokens.kept", LOG_FAILURE(&why));
    else
        LOG(LOG_INFO, "tokens.reloaded", LOG_I64("tokens", (int64_t)auth_token_count(g->auth)));
    if (front_reload(g->front, &why) != 0)
        LOG(LOG_ERROR, "certificates.kept", LOG_FAILURE(&why));
    else
        LOG(LOG_INFO, "certificates.reloaded", LOG_STRING("signal", "SIGHUP"));
}

static void on_drained(void *owner)
{
    struct gateway *g = owner;
    loop_stop(g->loop);
}

static void on_drain_over(struct timer *timer)
{
    struct gateway *g = CONTAINER_OF(timer, struct gateway, drain);
    struct front_counters c;
    front_count(g->front, &c);
    LOG(LOG_WARN, "drain.cut", LOG_I64("exchanges", (int64_t)c.exchanges));
    loop_stop(g->loop);
}

static void on_terminate(void *owner, int signal_number)
{
    struct gateway *g = owner;
    (void)signal_number;
    if (g->admin.is_draining) { // asked twice: at once; a crew's parent says so in another way
        if (g->crew == NULL)
            loop_stop(g->loop);
        return;
    }
    LOG(LOG_INFO, "drain.start", LOG_I64("grace_ms", g->config->drain_ms));
    g->admin.is_draining = true;
    timer_init(&g->drain, g->loop, on_drain_over);
    timer_start(&g->drain, g->config->drain_ms);
    proxy_end_streams(g->proxy);
    front_drain(g->front, on_drained, g);
}

static void on_stop_now(void *owner, int signal_number)
{
    struct gateway *g = owner;
    (void)signal_number;
    loop_stop(g->loop);
}

static int watch_signals(struct gateway *g, struct failure *why)
{
    int rc = loop_on_signal(g->loop, SIGHUP, on_hangup, g, why);
    if (rc == 0 && g->crew != NULL)
        rc = loop_on_signal(g->loop, CREW_STOP_NOW, on_stop_now, g, why);
    if (rc == 0)
        rc = loop_on_signal(g->loop, SIGTERM, on_terminate, g, why);
    if (rc == 0)
        rc = loop_on_signal(g->loop, SIGINT, on_terminate, g, why);
    return rc;
}

static int gateway_prepare(struct gateway *g, const char *config_file, struct failure *why)
{
    g->state = -1;
    int rc = config_load(config_file, &g->config, why);
    if (rc != 0)
        return rc;
    log_open("wrist-gateway", log_level_find(g->config->log_level), STDERR_FILENO);
    limits_raise_open_files();
    if (g->config->processes == 1)
        return 0;
    g->crew = crew_new(g->config, why);
    return g->crew != NULL ? give_up_rights(g, why) : why->fault;
}

static int gateway_open(struct gateway *g, struct failure *why)
{
    g->loop = loop_new(clock_system());
    g->metrics = metrics_new();
    g->front = front_new(g->loop, g->config);
    int rc = front_bind(g->front, g->sockets, why);
    if (rc == 0)
        rc = give_up_rights(g, why);
    if (rc == 0)
        rc = open_state(g, why);
    if (rc == 0)
        rc = open_pool(g, why);
    if (rc != 0)
        return rc;
    open_proxy(g);
    rc = open_doors(g, why);
    if (rc == 0)
        rc = watch_signals(g, why);
    if (rc == 0)
        rc = seccomp_confine(SECCOMP_PROFILE_GATEWAY, why);
    return rc;
}

// Sandboxes stay: the next start adopts them.
static void gateway_close(struct gateway *g)
{
    front_close(g->front);
    if (g->loop != NULL)
        loop_turn(g->loop, false);
    if (g->proxy != NULL)
        proxy_free(g->proxy);
    if (g->binder != NULL)
        binder_close(g->binder);
    if (g->driver != NULL)
        g->driver->ops->close(g->driver);
    if (g->store != NULL)
        loop_turn(g->loop, false); // what it gave up is sent
    if (g->store != NULL)
        store_close(g->store);
    if (g->loop != NULL)
        loop_turn(g->loop, false);
    auth_free(g->auth);
    keyring_free(g->keyring);
    tls_context_free(g->redis_tls);
    free(g->places);
    memory_wipe(&g->redis, sizeof g->redis);
    if (g->state >= 0)
        close(g->state);
    loop_free(g->loop);
    metrics_free(g->metrics);
    crew_free(g->crew);
    config_free(g->config);
}

int main(int argc, char **argv)
{
    struct gateway g = {0};
    struct failure why;
    const char *config_file;
    int status;
    const struct command_line line = {
        .table = &config_table,
        .version = WRIST_VERSION,
        .signals = "SIGHUP reads the tokens and certificates again; SIGTERM drains and stops, "
                   "sandboxes stay.",
    };
    if (command_line_take(&line, argc, argv, &config_file, &status))
        return status;
    log_open("wrist-gateway", LOG_INFO, STDERR_FILENO);
    int rc = gateway_prepare(&g, config_file, &why);
    if (rc == 0 && g.crew != NULL && !crew_run(g.crew, &g.sockets, &g.process, &status)) {
        gateway_close(&g);
        return status;
    }
    if (rc != 0 || gateway_open(&g, &why) != 0) {
        LOG(LOG_ERROR, "start.failed", LOG_FAILURE(&why));
        gateway_close(&g);
        return EXIT_FAILURE;
    }
    LOG(LOG_INFO, "start", LOG_STRING("fleet", g.fleet),
        LOG_I64("profiles", (int64_t)g.config->profile_count),
        LOG_I64("tokens", (int64_t)auth_token_count(g.auth)),
        LOG_I64("process", (int64_t)g.process));
    loop_run(g.loop);
    LOG(LOG_INFO, "stop", LOG_STRING("fleet", g.fleet));
    gateway_close(&g);
    return EXIT_SUCCESS;
}
