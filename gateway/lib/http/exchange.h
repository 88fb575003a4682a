// SPDX-License-Identifier: Apache-2.0
//
// One HTTP request and its response at the server's end, whichever version carries it. HTTP/2 and
// HTTP/1.1 stand below and call through `struct exchange_ops`; the handler never sees a version.
//
// Lifetime: from the complete request head until `closed` returns. Its arena holds the head and
// whatever the handler puts there. Callbacks come from the loop, never from inside a call of the
// handler's and never from inside a protocol library.
#ifndef WRIST_GATEWAY_LIB_HTTP_EXCHANGE_H
#define WRIST_GATEWAY_LIB_HTTP_EXCHANGE_H

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"
#include "gateway/lib/net/address.h"

struct exchange;

struct http_header {
    struct span name; // lower case
    struct span value;
};

struct exchange_ops {
    // The head is complete. The handler sets its own state with exchange_set_user, and then reads
    // the body or answers. It may answer at once.
    void (*request)(void *service, struct exchange *ex);
    // Only after exchange_read_body: the next bytes; they are gone after the call. Pausing holds
    // back further ones (and, by flow control, the client).
    void (*body)(struct exchange *ex, struct span bytes);
    void (*body_ended)(struct exchange *ex);
    // What was written fell below the low-water mark after exchange_is_choked.
    void (*drained)(struct exchange *ex);
    // Exactly once, last. `why` is NULL when the response went out whole. Otherwise the client
    // reset the stream, vanished, was too slow, or the server closed. Nothing may be sent now.
    void (*closed)(struct exchange *ex, const struct failure *why);
};

// The request. Spans live as long as the exchange.
struct span exchange_method(const struct exchange *ex);
struct span exchange_path(const struct exchange *ex);      // before '?', as sent
struct span exchange_query(const struct exchange *ex);     // after '?'; absent where there is none
struct span exchange_authority(const struct exchange *ex); // :authority or Host
bool exchange_is_encrypted(const struct exchange *ex);
size_t exchange_header_count(const struct exchange *ex);
const struct http_header *exchange_header_at(const struct exchange *ex, size_t index);
// The first header of that (lower-case) name, or absent.
struct span exchange_header(const struct exchange *ex, const char *name);
size_t exchange_header_repeats(const struct exchange *ex, const char *name); // how often it stands
bool exchange_has_body(const struct exchange *ex); // false where the head says there is none
struct arena *exchange_arena(struct exchange *ex);
int64_t exchange_started_us(const struct exchange *ex); // monotonic, when its first byte was parsed

void exchange_set_user(struct exchange *ex, void *user);
void *exchange_user(const struct exchange *ex);

// The request body. A body that is never asked for is thrown away after the response, within a
// bound, else the connection (h1) or stream (h2) ends. Expect: 100-continue is answered when the
// body is asked for. FAULT_TOO_LARGE in `closed`'s place is not used for bodies: past limit_bytes
// the server answers 413 itself and then calls `closed`.
void exchange_read_body(struct exchange *ex, size_t limit_bytes);
void exchange_pause_body(struct exchange *ex);
void exchange_resume_body(struct exchange *ex);

// The response. Header names in lower case; hop-by-hop headers, content-length and date are the
// server's business. Calling after the response ended or after the exchange closed changes nothing.
struct http_response {
    int status;
    const struct http_header *headers; // borrowed for the call
    size_t header_count;
    int64_t content_length; // -1: unknown (chunked on h1)
};
void exchange_respond(struct exchange *ex, const struct http_response *head, struct span body);
void exchange_start(struct exchange *ex, const struct http_response *head);
// Copies. Bounded by the server's limits: past them the exchange is aborted as too slow, so a
// producer stops once exchange_is_choked and goes on at `drained`.
void exchange_write(struct exchange *ex, struct span bytes);
void exchange_end(struct exchange *ex);
bool exchange_is_choked(const struct exchange *ex);
size_t exchange_unsent(const struct exchange *ex); // response bytes that wait here
// Ends it now: RST_STREAM on h2, the connection on h1. `closed` comes, from the loop.
void exchange_abort(struct exchange *ex, const struct failure *why);
// The whole deadline of the exchange, from now; 0 takes it off. Past it: 408 or 504, else abort.
void exchange_set_deadline(struct exchange *ex, int64_t ms);

#endif
