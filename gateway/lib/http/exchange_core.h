// SPDX-License-Identifier: Apache-2.0
//
// The inside of an exchange, for this folder only. The core keeps what the handler sees and the
// rules (limits, deadlines, one `closed`); the carrier below (h1, h2) moves bytes.
//
// The carrier makes it with exchange_new, fills the head, and says exchange_dispatch; from then on
// it calls exchange_deliver_body, exchange_deliver_end, exchange_drained and at last
// exchange_finish, always from the loop. A handler that was told `closed` early (413, time-outs) is
// detached: the core then hears nothing from it, and the carrier finishes the canned answer.
#ifndef WRIST_GATEWAY_LIB_HTTP_EXCHANGE_CORE_H
#define WRIST_GATEWAY_LIB_HTTP_EXCHANGE_CORE_H

#include "gateway/lib/http/connection.h"
#include "gateway/lib/http/exchange.h"

struct carrier_ops {
    const char *version;
    void (*body_wanted)(struct exchange *ex); // asked for, or resumed
    // The head; with `ends`, `body` is all there is.
    void (*start)(struct exchange *ex, const struct http_response *head, struct span body,
                  bool ends);
    int (*write)(struct exchange *ex, struct span bytes); // FAULT_TOO_LARGE past the bound
    void (*end)(struct exchange *ex);
    bool (*is_choked)(const struct exchange *ex);
    size_t (*unsent)(const struct exchange *ex);
    // Ends it without a whole answer, from the loop. The carrier calls exchange_finish.
    void (*abort)(struct exchange *ex, const struct failure *why);
};

enum body_state {
    BODY_UNASKED, // the handler has not said whether it wants it
    BODY_WANTED,
    BODY_PAUSED,
    BODY_OVER, // all handed out, or none
};

struct exchange {
    const struct carrier_ops *carrier;
    void *carrier_state; // borrowed
    struct http_server *server;
    struct connection *connection; // borrowed; outlives it
    struct stream *stream;         // borrowed; of its connection
    struct arena *arena;           // owned; this struct lies in it
    struct span method, path, query, authority;
    struct http_header *headers;
    size_t header_count;
    int64_t started_us;
    void *user;
    int64_t content_length; // of the request; -1: unknown
    uint64_t body_seen, body_mark;
    size_t body_limit;
    enum body_state body;
    bool has_body, is_head, started, ended, detached, finished;
    int status;                // of the response
    struct failure *abort_why; // in the arena
    struct task abort;
    struct timer deadline, body_timer;
};

struct exchange *exchange_new(struct connection *c, const struct carrier_ops *carrier,
                              void *carrier_state);
// Splits a request target. False where it is none that a server takes.
bool exchange_set_target(struct exchange *ex, struct span target);
bool exchange_authority_is_valid(struct span authority);
void exchange_dispatch(struct exchange *ex); // calls the handler
// The next body bytes; only in BODY_WANTED. May end in a canned 413.
void exchange_deliver_body(struct exchange *ex, struct span bytes);
void exchange_deliver_end(struct exchange *ex);
void exchange_drained(struct exchange *ex);
void exchange_finish(struct exchange *ex, const struct failure *why); // NULL: went out whole
// The server's own answer, and `closed` for the handler.
void exchange_refuse(struct exchange *ex, int status, const struct failure *why);

#endif
