// SPDX-License-Identifier: Apache-2.0
//
// What can go wrong, once for every program.
//
// A function that can fail returns 0 or a negative `enum fault`, and fills a `struct failure` that
// lies on the caller's stack: `return failure_set(why, FAULT_IO, "open %s: %s", path, ...)`. On the
// way up `failure_prefix(why, "mount %s", dst)` says what was being done. A function logs or
// returns an error, never both. `why` may be NULL where the caller needs the number only.
#ifndef WRIST_GATEWAY_LIB_BASE_FAILURE_H
#define WRIST_GATEWAY_LIB_BASE_FAILURE_H

#include <stdbool.h>

// name, value, HTTP status, may the same request be tried again, text. What an MCP client gets for
// a fault depends on its era and has a table of its own (gateway/lib/mcp/envelope.h).
#define FAULT_TABLE(X)                                                                             \
    X(INVALID, -1, 400, false, "invalid value")                                                    \
    X(PARSE, -2, 400, false, "not well-formed")                                                    \
    X(REQUEST, -3, 400, false, "not a valid request")                                              \
    X(METHOD, -4, 404, false, "unknown method")                                                    \
    X(UNAUTHENTICATED, -5, 401, false, "not authenticated")                                        \
    X(DENIED, -6, 403, false, "not allowed")                                                       \
    X(NOT_FOUND, -7, 404, false, "not found")                                                      \
    X(CONFLICT, -8, 409, false, "in conflict with the present state")                              \
    X(TOO_LARGE, -9, 413, false, "too large")                                                      \
    X(SLOW, -10, 408, true, "the peer was too slow")                                               \
    X(QUOTA, -11, 429, true, "a quota is used up")                                                 \
    X(UNAVAILABLE, -12, 503, true, "not available now")                                            \
    X(TIMEOUT, -13, 504, false, "timed out")                                                       \
    X(CANCELLED, -14, 499, false, "cancelled")                                                     \
    X(LOST, -15, 502, false, "the sandbox was lost")                                               \
    X(PEER, -16, 502, false, "the peer broke the protocol")                                        \
    X(CLOSED, -17, 502, true, "the connection was closed")                                         \
    X(IO, -18, 500, false, "input or output failed")                                               \
    X(UNSUPPORTED, -19, 501, false, "not supported here")                                          \
    X(INTERNAL, -20, 500, false, "internal error")

enum fault {
#define X(name, value, http, retry, text) FAULT_##name = (value),
    FAULT_TABLE(X)
#undef X
};

// Lives on a stack or inside the object that failed; plain values, owns nothing.
struct failure {
    int fault;      // 0 or an enum fault
    char text[480]; // what was wrong, where, and what would be right
};

// Fills *why (if not NULL) and returns `fault`.
int failure_set(struct failure *why, enum fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Fills *why with `format: strerror(errno)`; the fault follows from errno (ENOENT is NOT_FOUND, …).
int failure_errno(struct failure *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Puts `format: ` before the text that stands in *why and returns its fault.
int failure_prefix(struct failure *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

const char *fault_name(int fault); // "NOT_FOUND"; "NONE" for 0
const char *fault_text(int fault);
int fault_http_status(int fault);
bool fault_is_retryable(int fault);

#endif
