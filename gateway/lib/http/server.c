// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/http/server.h"

#include <stdlib.h>
#include <time.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/http/connection.h"
#include "gateway/lib/http/exchange_core.h"

enum { FIRST_ARENA_BLOCK = 3 * 1024 };

// Connections of one host. Lives while there are any.
struct peer_count {
    size_t connections;
    char host[ADDRESS_TEXT_SIZE];
};

// ---- sniffing: the first bytes of a connection say which version it speaks

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum { PREFACE_SIZE = sizeof preface - 1 };

struct sniffer {
    struct connection base;
    struct timer timer;
    struct failure *why;
};

static void sniffer_free(void *object)
{
    free(object);
}

static void sniffer_close(struct connection *c, const struct failure *why)
{
    struct sniffer *sniffer = CONTAINER_OF(c, struct sniffer, base);
    (void)why;
    timer_cancel(&sniffer->timer);
    connection_remove(c);
    loop_bury(c->server->loop, sniffer, sniffer_free);
}

enum { FIRST_BYTES_MS = 1000 }; // while the server drains

// Its client is on the way with a request: a handshake, or the first bytes.
static void sniffer_drain(struct connection *c)
{
    timer_start(&CONTAINER_OF(c, struct sniffer, base)->timer, FIRST_BYTES_MS);
}

static const struct connection_ops sniffer_ops = {
    .version = "none", .drain = sniffer_drain, .close = sniffer_close};

static void become(struct sniffer *sniffer, bool h2)
{
    struct http_server *s = sniffer->base.server;
    timer_cancel(&sniffer->timer);
    loop_bury(s->loop, sniffer, sniffer_free);
    struct connection *c = h2 ? s->open_h2(s, &sniffer->base) : h1_open(s, &sniffer->base);
    if (s->draining)
        c->ops->drain(c);
}

static void on_first_bytes(void *owner, struct buffer *in)
{
    struct sniffer *sniffer = owner;
    struct stream *stream = sniffer->base.stream;
    bool can_h2 = sniffer->base.server->open_h2 != NULL;
    struct span bytes = buffer_span(in), protocol = stream_protocol(stream);
    if (span_is(protocol, "h2") && can_h2) {
        become(sniffer, true);
    } else {
        size_t known = bytes.size < PREFACE_SIZE ? bytes.size : PREFACE_SIZE;
        bool may_be_h2 =
            can_h2 && span_is_absent(protocol) && memcmp(bytes.data, preface, known) == 0;
        if (may_be_h2 && known < PREFACE_SIZE)
            return;
        become(sniffer, may_be_h2);
    }
    stream_resume(stream); // the new owner looks at what is there
}

static void on_sniffer_closed(void *owner, const struct failure *why)
{
    struct sniffer *sniffer = owner;
    // A peer that just leaves is no news; one whose handshake fails or stops is.
    if (why != NULL && stream_is_encrypted(sniffer->base.stream) &&
        (why->fault == FAULT_PEER || why->fault == FAULT_TIMEOUT))
        connection_is_hostile(&sniffer->base, HOSTILITY_BROKEN_TLS);
    sniffer_close(&sniffer->base, why);
}

static void on_sniffer_end(void *owner)
{
    on_sniffer_closed(owner, NULL);
}

static void on_sniffer_timer(struct timer *timer)
{
    struct sniffer *sniffer = CONTAINER_OF(timer, struct sniffer, timer);
    if (!sniffer->base.server->draining)
        connection_is_hostile(&sniffer->base, stream_is_shaking_hands(sniffer->base.stream)
                                                  ? HOSTILITY_BROKEN_TLS
                                                  : HOSTILITY_SLOW_HEAD);
    sniffer_close(&sniffer->base, NULL);
}

static const struct stream_ops sniffer_stream_ops = {
    .readable = on_first_bytes,
    .read_ended = on_sniffer_end,
    .closed = on_sniffer_closed,
};

// ---- connections

static struct peer_count *count_peer(struct http_server *s, const struct address *address)
{
    char host[ADDRESS_TEXT_SIZE];
    if (address_is_unix(address))
        return NULL; // one user of this machine is not the crowd behind one address
    address_format_host(address, host);
    struct peer_count *peer = table_get(s->peers, span_from_string(host));
    if (peer == NULL) {
        peer = memory_new(sizeof *peer);
        memcpy(peer->host, host, sizeof host);
        table_put(s->peers, span_from_string(host), peer);
    }
    peer->connections++;
    return peer;
}

static void uncount_peer(struct http_server *s, struct peer_count *peer)
{
    if (peer == NULL || --peer->connections > 0)
        return;
    table_remove(s->peers, span_from_string(peer->host));
    free(peer);
}

void connection_inherit(struct connection *to, struct connection *from)
{
    to->server = from->server;
    to->stream = from->stream;
    to->peer = from->peer;
    to->told = from->told;
    list_init(&to->node);
    list_append(&from->node, &to->node);
    list_remove(&from->node);
    from->stream = NULL;
    from->peer = NULL;
}

void connection_remove(struct connection *c)
{
    if (c->stream == NULL)
        return;
    stream_close(c->stream);
    c->stream = NULL;
    list_remove(&c->node);
    uncount_peer(c->server, c->peer);
    c->server->counters.connections_open--;
    if (c->server->draining)
        loop_defer(c->server->loop, &c->server->drain_check);
}

static void tell(struct http_server *s, enum http_hostility kind, const struct address *peer,
                 const char *version)
{
    s->counters.hostile[kind]++;
    if (s->hostile != NULL)
        s->hostile(s->hostile_owner, kind, peer, version);
}

void connection_is_hostile(struct connection *c, enum http_hostility kind)
{
    if ((c->told & 1U << kind) != 0 || c->stream == NULL)
        return;
    c->told |= 1U << kind;
    tell(c->server, kind, stream_peer(c->stream), c->ops->version);
}

void http_server_on_hostile(struct http_server *s,
                            void (*told)(void *owner, enum http_hostility kind,
                                         const struct address *peer, const char *version),
                            void *owner)
{
    s->hostile = told;
    s->hostile_owner = owner;
}

static bool is_over_limits(const struct http_server *s, const struct peer_count *peer)
{
    return s->counters.connections_open >= s->limits.connections ||
           (peer != NULL && peer->connections > s->limits.connections_per_peer);
}

void http_server_adopt(struct http_server *s, struct stream *stream)
{
    struct peer_count *peer = count_peer(s, stream_peer(stream));
    if (s->closed || s->draining || is_over_limits(s, peer)) {
        uncount_peer(s, peer);
        s->counters.connections_refused++;
        if (!s->closed && !s->draining)
            tell(s, HOSTILITY_TOO_MANY_CONNECTIONS, stream_peer(stream), "none");
        stream_close(stream);
        return;
    }
    s->counters.connections_accepted++;
    s->counters.connections_open++;
    struct stream_limits limits = {
        .read_bytes = s->limits.body_buffer_bytes,
        .write_bytes = s->limits.write_buffer_bytes,
        .high_water = s->limits.high_water,
        .low_water = s->limits.low_water,
    };
    stream_set_limits(stream, &limits);
    struct sniffer *sniffer = memory_new(sizeof *sniffer);
    sniffer->base = (struct connection){.ops = &sniffer_ops, .server = s, .stream = stream};
    sniffer->base.peer = peer;
    list_append(&s->connections, &sniffer->base.node);
    timer_init(&sniffer->timer, s->loop, on_sniffer_timer);
    timer_start(&sniffer->timer, s->limits.head_timeout_ms);
    stream_set_owner(stream, &sniffer_stream_ops, sniffer);
}

// ---- the server

void http_server_limits_default(struct http_server_limits *limits)
{
    *limits = (struct http_server_limits){
        .head_bytes = 64 * 1024,
        .header_count = 128,
        .body_buffer_bytes = 64 * 1024,
        .write_buffer_bytes = 4 * 1024 * 1024,
        .high_water = 256 * 1024,
        .low_water = 64 * 1024,
        .head_timeout_ms = 15 * 1000,
        .body_timeout_ms = 30 * 1000,
        .idle_timeout_ms = 120 * 1000,
        .write_timeout_ms = 60 * 1000,
        .streams = 128,
        .connections = 20000,
        .connections_per_peer = 2000,
        .arena_bytes = 16 * 1024 * 1024,
    };
}

static void check_drained(struct task *task)
{
    struct http_server *s = CONTAINER_OF(task, struct http_server, drain_check);
    if (s->counters.exchanges_open > 0 || s->counters.connections_open > 0 || s->drained == NULL)
        return;
    void (*drained)(void *owner) = s->drained;
    s->drained = NULL;
    drained(s->drained_owner);
}

struct http_server *http_server_new(struct loop *loop, const struct http_server_limits *limits,
                                    const struct exchange_ops *ops, void *service)
{
    struct http_server *s = memory_new(sizeof *s);
    *s = (struct http_server){.loop = loop, .limits = *limits, .ops = ops, .service = service};
    list_init(&s->connections);
    s->peers = table_new();
    task_init(&s->drain_check, check_drained);
    buffer_init(&s->scratch, limits->head_bytes + 64 * 1024);
    s->date_second = -1;
    return s;
}

void http_server_drain(struct http_server *s, void (*drained)(void *owner), void *owner)
{
    if (s->closed || s->draining)
        return;
    s->draining = true;
    s->drained = drained;
    s->drained_owner = owner;
    LIST_EACH(node, &s->connections)
    {
        struct connection *c = LIST_ENTRY(node, struct connection, node);
        c->ops->drain(c);
    }
    loop_defer(s->loop, &s->drain_check);
}

static void server_free(void *object)
{
    struct http_server *s = object;
    while (s->spare_count > 0)
        arena_free(s->spare[--s->spare_count]);
    table_free(s->peers);
    buffer_fini(&s->scratch);
    free(s);
}

void http_server_close(struct http_server *s)
{
    struct failure why;
    if (s == NULL || s->closed)
        return;
    s->closed = true;
    s->drained = NULL;
    failure_set(&why, FAULT_CLOSED, "the server closes");
    while (!list_is_empty(&s->connections)) {
        struct connection *c = LIST_ENTRY(s->connections.next, struct connection, node);
        c->ops->close(c, &why);
    }
    task_cancel(&s->drain_check);
    loop_bury(s->loop, s, server_free);
}

const struct http_server_counters *http_server_counters(const struct http_server *s)
{
    struct http_server *counted = (struct http_server *)(uintptr_t)s;
    size_t bytes = 0;
    LIST_EACH(node, &counted->connections)
    {
        const struct connection *c = LIST_ENTRY(node, struct connection, node);
        bytes += c->held + stream_pending(c->stream);
    }
    counted->counters.bytes_buffered = bytes;
    return &s->counters;
}

void server_exchange_gone(struct http_server *s)
{
    if (s->draining && !s->closed)
        loop_defer(s->loop, &s->drain_check);
}

struct arena *server_take_arena(struct http_server *s)
{
    if (s->spare_count > 0)
        return s->spare[--s->spare_count];
    struct arena *a = arena_new(s->limits.arena_bytes);
    // The first block is the one that stays, so it is made large enough for a common request.
    arena_alloc(a, FIRST_ARENA_BLOCK);
    arena_reset(a);
    return a;
}

void server_give_arena(struct http_server *s, struct arena *a)
{
    if (s->spare_count < SPARE_ARENAS) {
        arena_reset(a);
        s->spare[s->spare_count++] = a;
    } else {
        arena_free(a);
    }
}

const char *http_hostility_name(enum http_hostility kind)
{
    static const char *const names[] = {
#define X(name, text) [HOSTILITY_##name] = (text),
        HOSTILITY_TABLE(X)
#undef X
    };
    return kind < HOSTILITY_COUNT ? names[kind] : "unknown";
}

struct span server_date(struct http_server *s)
{
    int64_t second = clock_wall_ms(loop_clock(s->loop)) / 1000;
    if (second != s->date_second) {
        struct tm tm;
        time_t t = (time_t)second;
        gmtime_r(&t, &tm);
        strftime(s->date, sizeof s->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        s->date_second = second;
    }
    return span_from_string(s->date);
}
