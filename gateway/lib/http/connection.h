// SPDX-License-Identifier: Apache-2.0
//
// What the files of this folder share about a connection at the server's end. Nobody else includes
// it. A version (h1, h2) embeds `struct connection` and is driven by `struct connection_ops`.
#ifndef WRIST_GATEWAY_LIB_HTTP_CONNECTION_H
#define WRIST_GATEWAY_LIB_HTTP_CONNECTION_H

#include "gateway/lib/base/list.h"
#include "gateway/lib/http/server.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/net/stream.h"

struct connection;
struct peer_count;

struct connection_ops {
    const char *version;
    void (*drain)(struct connection *c); // no new requests
    // The connection ends now: its exchanges are closed with `why`, then the object is freed.
    void (*close)(struct connection *c, const struct failure *why);
};

struct connection {
    const struct connection_ops *ops;
    struct http_server *server; // borrowed
    struct stream *stream;      // owned
    struct list node;           // in the server
    struct peer_count *peer;    // counted
    size_t held;                // bytes of its exchanges that wait here, beside the stream
    uint32_t told;              // kinds of hostility, a bit each, that were counted for it
};

// What the server looks at once in a while to tell a slow reader from one that has nothing to read.
struct reading {
    uint64_t taken;   // by the peer, when it was looked at last
    uint64_t waiting; // for it, then
};
// Since the last look the peer took neither what waited then nor enough of it.
static inline bool reading_is_slow(struct reading *r, uint64_t taken, uint64_t waiting,
                                   uint64_t least)
{
    uint64_t due = r->waiting < least ? r->waiting : least;
    bool slow = waiting > 0 && taken - r->taken < due;
    *r = (struct reading){taken, waiting};
    return slow;
}
// The bytes that must pass within a time, at least one.
static inline uint64_t least_bytes(const struct http_server_limits *limits, int64_t ms)
{
    int64_t bytes = limits->least_rate * ms / 1000;
    return bytes > 0 ? (uint64_t)bytes : 1;
}

enum { SPARE_ARENAS = 128 };

struct http_server {
    struct loop *loop;
    struct http_server_limits limits;
    const struct exchange_ops *ops;
    void *service; // borrowed
    struct http_server_counters counters;
    struct list connections;
    struct table *peers; // struct peer_count by host, while that host has connections
    struct connection *(*open_h2)(struct http_server *s, struct connection *from);
    struct arena *spare[SPARE_ARENAS]; // owned
    size_t spare_count;
    bool draining, closed;
    void (*drained)(void *owner);
    void *drained_owner;
    struct task drain_check;
    void (*hostile)(void *owner, enum http_hostility kind, const struct address *peer,
                    const char *version); // NULL: nobody listens
    void *hostile_owner;
    struct buffer scratch; // for writing a response head
    int64_t date_second;   // of `date`
    char date[32];
};

// Moves a connection's place in the server and its stream from one object to another.
void connection_inherit(struct connection *to, struct connection *from);
// Takes it off the server. The version frees it after the turn.
void connection_remove(struct connection *c);
struct connection *h1_open(struct http_server *s, struct connection *from);

struct arena *server_take_arena(struct http_server *s);
void server_give_arena(struct http_server *s, struct arena *a);
// Counts and tells it, the first time for this connection.
void connection_is_hostile(struct connection *c, enum http_hostility kind);
struct span server_date(struct http_server *s); // "Mon, 30 Nov 2026 23:10:05 GMT"
void server_exchange_gone(struct http_server *s);

#endif
