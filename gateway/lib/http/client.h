// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1.1 client to one address, with a small pool of keep-alive connections: the link to a
// worker, and wrist-driver. Never retries, never follows redirects.
#ifndef WRIST_GATEWAY_LIB_HTTP_CLIENT_H
#define WRIST_GATEWAY_LIB_HTTP_CLIENT_H

#include "gateway/lib/http/exchange.h"

struct loop;
struct http_client; // one upstream address
struct http_call;

struct http_client_options {
    struct address address;
    size_t connections; // at once; further calls wait in line
    size_t waiting;     // calls that may wait; past it FAULT_UNAVAILABLE
    size_t head_bytes;  // of the response
    size_t header_count;
    size_t body_buffer_bytes;  // response bytes that wait for the owner
    size_t write_buffer_bytes; // request bytes that wait for the kernel; past it FAULT_TOO_LARGE
    int64_t connect_timeout_ms;
    int64_t idle_close_ms; // idle keep-alive connections are closed after this
};
void http_client_options_default(struct http_client_options *o);

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options);
void http_client_close(struct http_client *c); // calls in flight fail with FAULT_CANCELLED

struct http_request {
    struct span method, target; // "POST", "/mcp?x=y"
    struct span host;           // absent: "localhost"
    const struct http_header *headers;
    size_t header_count;
    struct span body;       // sent whole; borrowed for the call of http_call_start
    bool streams_body;      // more follows by http_call_write, chunked unless content_length ≥ 0
    int64_t content_length; // with streams_body
};

struct http_call_ops {
    void (*head)(struct http_call *call, int status);
    void (*body)(struct http_call *call, struct span bytes);
    // What was written by http_call_write fell below the low-water mark.
    void (*drained)(struct http_call *call);
    // Exactly once, last, unless the call is cancelled. `why` is NULL when the answer is whole.
    void (*ended)(struct http_call *call, const struct failure *why);
};

// Never fails at once: failures come by `ended`, from the loop.
struct http_call *http_call_start(struct http_client *c, const struct http_request *request,
                                  const struct http_call_ops *ops, void *user);
void *http_call_user(const struct http_call *call);
// Response headers, valid from `head` until `ended` returns. Lower-case names.
struct span http_call_header(const struct http_call *call, const char *name);
int64_t http_call_content_length(const struct http_call *call); // -1: not told
void http_call_write(struct http_call *call, struct span bytes);
void http_call_write_end(struct http_call *call);
bool http_call_is_choked(const struct http_call *call);
void http_call_pause(struct http_call *call); // hold back the response body
void http_call_resume(struct http_call *call);
// Whether a byte of the request reached the kernel: if not, the request surely did not run.
bool http_call_was_sent(const struct http_call *call);
void http_call_cancel(struct http_call *call); // closes its connection; no callback any more

size_t http_client_idle_connections(const struct http_client *c);
size_t http_client_connections(const struct http_client *c);
void http_client_close_idle(struct http_client *c); // the idle ones, now

#endif
