// SPDX-License-Identifier: Apache-2.0
//
// Server ends of HTTP connections. The server owns connections; each connection its exchanges.
#ifndef WRIST_GATEWAY_LIB_HTTP_SERVER_H
#define WRIST_GATEWAY_LIB_HTTP_SERVER_H

#include "gateway/lib/http/exchange.h"
#include "gateway/lib/http/hostility.h"

struct address;
struct loop;
struct stream;
struct http_server;

struct http_server_limits {
    size_t head_bytes; // request line and headers, ≥ 32 KiB
    size_t header_count;
    size_t body_buffer_bytes;  // request bytes of one exchange that wait for the handler
    size_t write_buffer_bytes; // response bytes of one exchange that wait for the client
    size_t high_water, low_water;
    int64_t head_timeout_ms;  // from the first byte, or from accept, to the complete head
    int64_t body_timeout_ms;  // without enough of the body while the handler wants some
    int64_t idle_timeout_ms;  // keep-alive between requests
    int64_t write_timeout_ms; // without the client taking enough of what waits
    int64_t least_rate;       // bytes a second that are enough in these two; 0: a single one
    uint32_t streams;         // concurrent, per h2 connection
    size_t connections;       // in all
    size_t connections_per_peer;
    size_t arena_bytes; // of one exchange: its head, and what the handler keeps there
};
void http_server_limits_default(struct http_server_limits *limits);

struct http_server_counters {
    uint64_t connections_accepted, connections_refused;
    size_t connections_open, exchanges_open;
    size_t bytes_buffered;
    uint64_t hostile[HOSTILITY_COUNT]; // peers: once for each connection and kind
};

struct http_server *http_server_new(struct loop *loop, const struct http_server_limits *limits,
                                    const struct exchange_ops *ops, void *service);
// HTTP/2 too, by ALPN or prior knowledge. Without it (as in the worker) nothing of it is linked.
void http_server_enable_h2(struct http_server *s);
// A new connection; the version by ALPN, else by its first bytes (h2 prior knowledge). The server
// owns the stream. Past the connection limits it is closed at once.
void http_server_adopt(struct http_server *s, struct stream *stream);
// No new connections, and soon no requests: two-step GOAWAY on h2, `Connection: close` on the next
// answer on h1, idle connections closed after a second, in which a request that was on its way
// comes. `drained` comes once when no exchange is left and the connections have
// ended, which takes a moment longer, so that the goodbyes are read.
void http_server_drain(struct http_server *s, void (*drained)(void *owner), void *owner);
void http_server_close(struct http_server *s); // everything, now; freed after the turn
// A peer of `kind`: told once for each connection and kind, and when one is refused. `version` is
// "h1", "h2", or "none" where none was chosen yet. For the log.
void http_server_on_hostile(struct http_server *s,
                            void (*told)(void *owner, enum http_hostility kind,
                                         const struct address *peer, const char *version),
                            void *owner);
const struct http_server_counters *http_server_counters(const struct http_server *s);

#endif
