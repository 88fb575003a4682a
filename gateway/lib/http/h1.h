// SPDX-License-Identifier: Apache-2.0
//
// What the files of an HTTP/1.1 connection share; nobody else includes it.
//
//   h1_server.c   the connection: its timers, from one request to the next, what the stream tells
//   h1_request.c  bytes in: the head and its judgement, the body, what nobody wanted of it
//   h1_answer.c   the carrier of one exchange: the answer's head, framing, and body
#ifndef WRIST_GATEWAY_LIB_HTTP_H1_H
#define WRIST_GATEWAY_LIB_HTTP_H1_H

#include "gateway/lib/http/connection.h"
#include "gateway/lib/http/exchange_core.h"
#include "gateway/lib/http/h1_parser.h"

enum {
    H1_DISCARD_BYTES = 256 * 1024, // of a body nobody asked for, before the connection ends instead
};

enum h1_state {
    H1_READING_HEAD, // between requests, or within a head
    H1_IN_EXCHANGE,  // the handler has a request; its body may still come
    H1_DISCARDING,   // the answer is out, the rest of the body is thrown away
    H1_LINGERING,    // our side has ended; what comes is dropped, so that no RST eats the answer
    H1_GONE,         // buried
};

struct h1_connection {
    struct connection base;
    enum h1_state state;
    struct h1_limits limits;
    struct h1_parser parser;
    struct exchange *ex;   // owned while H1_IN_EXCHANGE
    bool request_complete; // every byte of the present request was read
    bool is_http10, expects_continue;
    bool close_after; // the present answer is the last
    bool chunked, processing, peer_ended;
    int64_t response_left; // of a declared length; -1: unknown
    size_t discarded;
    int64_t due_us;     // of `timer`; 0: nothing is due
    struct timer timer; // head, idle, linger
    struct timer write_timer;
    struct reading reading;
    struct task complete;
};

// h1_server.c
void h1_arm(struct h1_connection *c, int64_t ms); // the next timer: head, idle or linger
void h1_watch_writing(struct h1_connection *c);   // the client must take what is written
void h1_linger(struct h1_connection *c);          // our side ends, and the connection soon
void h1_close(struct h1_connection *c, const struct failure *why);
// An answer to what never became an exchange. The connection ends with it.
void h1_refuse(struct h1_connection *c, int status, const char *text);
void h1_next_request(struct h1_connection *c);

// h1_request.c
void h1_process(struct h1_connection *c, struct buffer *in);

// h1_answer.c
extern const struct carrier_ops h1_carrier;

#endif
