// SPDX-License-Identifier: Apache-2.0
#include "gateway/listen/front.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/confine/limits.h"
#include "gateway/lib/http/server.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/listener.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/lib/tls/tls.h"

enum { STREAM_READ = 64 * 1024, STREAM_WRITE = 4 * 1024 * 1024, STREAM_HIGH = 256 * 1024 };

struct door {
    struct front *front;         // borrowed
    const struct listen *config; // NULL: the admin's
    struct listener *listener;   // owned
    struct tls_context *tls;     // owned; NULL: cleartext
    struct http_server *server;  // owned
};

struct front {
    struct loop *loop;
    const struct config *config;
    struct door *doors; // owned; the admin's is the last
    size_t count;
    size_t connections; // the most that a door has
    size_t draining;    // doors that are not drained yet
    void (*drained)(void *owner);
    void *drained_owner;
    struct log_budget hostile_lines;
    uint64_t hostile[HOSTILITY_COUNT];
};

static const struct stream_limits stream_limits = {
    .read_bytes = STREAM_READ,
    .write_bytes = STREAM_WRITE,
    .high_water = STREAM_HIGH,
    .low_water = STREAM_HIGH / 4,
};

struct front *front_new(struct loop *loop, const struct config *config)
{
    struct front *f = memory_new(sizeof *f);
    f->loop = loop;
    f->config = config;
    f->count = config->listen_count + 1;
    f->doors = memory_new_array(f->count, sizeof *f->doors);
    for (size_t i = 0; i < f->count; i++) {
        f->doors[i].front = f;
        f->doors[i].config = i < config->listen_count ? &config->listen[i] : NULL;
    }
    return f;
}

static void on_accepted(void *owner, int fd, const struct address *peer)
{
    struct door *d = owner;
    struct stream *s = d->tls != NULL ? tls_accept(d->front->loop, d->tls, fd, peer, &stream_limits,
                                                   d->front->config->head_timeout_ms)
                                      : stream_from_fd(d->front->loop, fd, peer, &stream_limits);
    http_server_adopt(d->server, s);
}

static void on_starved(void *owner, int error)
{
    const struct door *d = owner;
    char text[ADDRESS_TEXT_SIZE];
    struct failure why;
    errno = error;
    failure_errno(&why, "accept");
    address_format(listener_address(d->listener), text);
    LOG(LOG_WARN, "listener.starved", LOG_STRING("address", text), LOG_FAILURE(&why));
}

// One line for each, but a flood of peers does not become a flood of lines: past a bound a second
// they are counted, and the count stands in the next line.
static void on_hostile(void *owner, enum http_hostility kind, const struct address *peer,
                       const char *version)
{
    enum { LINES_A_SECOND = 20 };
    struct front *f = owner;
    char host[ADDRESS_TEXT_SIZE];
    int64_t not_logged;
    f->hostile[kind]++;
    if (!log_budget_take(&f->hostile_lines, loop_now_ms(f->loop), LINES_A_SECOND, &not_logged))
        return;
    address_format_host(peer, host);
    LOG(LOG_WARN, "http.hostile", LOG_STRING("kind", http_hostility_name(kind)),
        LOG_STRING("peer", host), LOG_STRING("version", version),
        LOG_I64("not_logged", not_logged));
}

static const char *text_of(const struct config *c, size_t door)
{
    return door < c->listen_count ? c->listen[door].address : c->admin_address;
}

static int options_of(const struct config *c, size_t door, size_t process,
                      struct listener_options *out, struct failure *why)
{
    bool is_admin = door == c->listen_count;
    *out = (struct listener_options){.unix_mode = is_admin ? 0600 : 0666,
                                     .starved = on_starved,
                                     .reuse_port = c->processes > 1 && !is_admin};
    int rc = address_parse(span_from_string(text_of(c, door)), &out->address, why);
    if (rc == 0 && is_admin)
        rc = address_shift(&out->address, (unsigned)process, why);
    return rc;
}

// A socket of a gateway that did not end well; a living one would still answer on it.
static void remove_old(const struct address *a)
{
    if (address_is_unix(a))
        unlink(((const struct sockaddr_un *)&a->storage)->sun_path);
}

size_t front_doors(const struct config *c)
{
    return c->listen_count + 1;
}

int front_socket(const struct config *c, size_t door, size_t process, struct failure *why)
{
    struct listener_options options;
    int fd = options_of(c, door, process, &options, why);
    if (fd == 0 && options.address.inherited_fd >= 0)
        return options.address.inherited_fd;
    if (fd == 0) {
        remove_old(&options.address);
        fd = listener_socket(&options, why);
    }
    return fd < 0 ? failure_prefix(why, "listen on %s", text_of(c, door)) : fd;
}

bool front_is_shared(const struct config *c, size_t door)
{
    struct listener_options options;
    return door < c->listen_count && options_of(c, door, 0, &options, NULL) == 0 &&
           (address_is_unix(&options.address) || options.address.inherited_fd >= 0);
}

static int bind_door(struct door *d, const int *fd, struct failure *why)
{
    const struct config *c = d->front->config;
    size_t door = (size_t)(d - d->front->doors);
    struct listener_options options;
    int rc = options_of(c, door, 0, &options, why);
    if (rc == 0 && fd != NULL && options.address.inherited_fd < 0)
        options.fd = *fd;
    else if (rc == 0)
        remove_old(&options.address);
    if (rc == 0)
        d->listener = listener_open(d->front->loop, &options, on_accepted, d, why);
    if (d->listener == NULL)
        return failure_prefix(why, "listen on %s", text_of(c, door));
    listener_pause(d->listener);
    return 0;
}

int front_bind(struct front *f, const int *fds, struct failure *why)
{
    for (size_t i = 0; i < f->count; i++) {
        int rc = bind_door(&f->doors[i], fds != NULL ? &fds[i] : NULL, why);
        if (rc != 0)
            return rc;
    }
    return 0;
}

// Clients never get all descriptors: some are kept for links to sandboxes, the driver, the store.
static size_t connections_most(const struct front *f)
{
    enum { KEPT_LEAST = 64 };
    size_t wanted = (size_t)f->config->connections;
    uint64_t files = limits_open_files();
    uint64_t kept = files / 4 > KEPT_LEAST ? files / 4 : KEPT_LEAST;
    uint64_t room = (files > 2 * kept ? files - kept : files / 2) / f->count;
    if (files == 0 || room >= wanted)
        return wanted;
    LOG(LOG_WARN, "listener.limited", LOG_I64("open_files", (int64_t)files),
        LOG_I64("connections", (int64_t)room),
        LOG_STRING("reason", "the process may not open files enough for limits.connections"));
    return (size_t)room;
}

static void fill_limits(const struct front *f, struct http_server_limits *limits)
{
    const struct config *c = f->config;
    http_server_limits_default(limits);
    limits->head_bytes = (size_t)c->head_bytes;
    limits->head_timeout_ms = c->head_timeout_ms;
    limits->body_timeout_ms = c->body_timeout_ms;
    limits->idle_timeout_ms = c->idle_timeout_ms;
    limits->write_timeout_ms = c->write_timeout_ms;
    limits->least_rate = c->least_rate;
    limits->streams = (uint32_t)c->streams_per_connection;
    limits->connections = f->connections;
    limits->connections_per_peer = (size_t)c->connections_per_address;
}

static void open_server(struct door *d, const struct exchange_ops *ops, void *service)
{
    struct http_server_limits limits;
    char text[ADDRESS_TEXT_SIZE];
    fill_limits(d->front, &limits);
    d->server = http_server_new(d->front->loop, &limits, ops, service);
    http_server_enable_h2(d->server);
    http_server_on_hostile(d->server, on_hostile, d->front);
    listener_resume(d->listener);
    address_format(listener_address(d->listener), text);
    LOG(LOG_INFO, "listener.open", LOG_STRING("address", text), LOG_BOOL("tls", d->tls != NULL),
        LOG_BOOL("admin", d->config == NULL));
}

int front_open(struct front *f, const struct front_services *services, struct failure *why)
{
    f->connections = connections_most(f);
    for (size_t i = 0; i < f->count; i++) {
        struct door *d = &f->doors[i];
        if (d->config == NULL || !d->config->tls)
            continue;
        d->tls = tls_server_new(d->config->certificate, d->config->key, why);
        if (d->tls == NULL)
            return failure_prefix(why, "TLS on %s", d->config->address);
    }
    for (size_t i = 0; i < f->count; i++) {
        struct door *d = &f->doors[i];
        bool loopback = address_is_loopback(listener_address(d->listener));
        if (d->config == NULL)
            open_server(d, services->admin_ops, services->admin_service);
        else
            open_server(d, services->client_ops, services->service_for(services->owner, loopback));
    }
    return 0;
}

int front_reload(struct front *f, struct failure *why)
{
    int first = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct failure ours;
        if (f->doors[i].tls == NULL || tls_server_reload(f->doors[i].tls, &ours) == 0 || first != 0)
            continue;
        first = failure_set(why, (enum fault)ours.fault, "TLS on %s: %s",
                            f->doors[i].config->address, ours.text);
    }
    return first;
}

static void on_door_drained(void *owner)
{
    struct front *f = owner;
    if (--f->draining == 0)
        f->drained(f->drained_owner);
}

void front_drain(struct front *f, void (*drained)(void *owner), void *owner)
{
    f->drained = drained;
    f->drained_owner = owner;
    f->draining = f->count - 1;
    for (size_t i = 0; i < f->count; i++) {
        if (f->doors[i].config == NULL)
            continue;
        listener_take_rest(f->doors[i].listener);
        listener_close(f->doors[i].listener);
        f->doors[i].listener = NULL;
        http_server_drain(f->doors[i].server, on_door_drained, f);
    }
}

static void front_free(void *object)
{
    struct front *f = object;
    free(f->doors);
    free(f);
}

void front_close(struct front *f)
{
    if (f == NULL)
        return;
    for (size_t i = 0; i < f->count; i++) {
        struct door *d = &f->doors[i];
        if (d->listener != NULL)
            listener_close(d->listener);
        if (d->server != NULL)
            http_server_close(d->server);
        tls_context_free(d->tls);
    }
    loop_bury(f->loop, f, front_free);
}

void front_count(const struct front *f, struct front_counters *out)
{
    *out = (struct front_counters){0};
    memcpy(out->hostile, f->hostile, sizeof out->hostile);
    for (size_t i = 0; i < f->count; i++) {
        if (f->doors[i].config == NULL || f->doors[i].server == NULL)
            continue;
        const struct http_server_counters *c = http_server_counters(f->doors[i].server);
        out->accepted += c->connections_accepted;
        out->refused += c->connections_refused;
        out->connections += c->connections_open;
        out->exchanges += c->exchanges_open;
        out->bytes_buffered += c->bytes_buffered;
    }
}
