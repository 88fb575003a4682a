// SPDX-License-Identifier: Apache-2.0
//
// The kinds of broken or hostile traffic that a server ends, each with a counter.
#ifndef WRIST_GATEWAY_LIB_HTTP_HOSTILITY_H
#define WRIST_GATEWAY_LIB_HTTP_HOSTILITY_H

#define HOSTILITY_TABLE(X)                                                                         \
    X(MALFORMED, "malformed") /* not HTTP, or a message that two readers read in two ways */       \
    X(HEAD_TOO_LARGE, "head_too_large")                                                            \
    X(BODY_TOO_LARGE, "body_too_large")                                                            \
    X(SLOW_HEAD, "slow_head")                                                                      \
    X(SLOW_BODY, "slow_body")                                                                      \
    X(SLOW_READER, "slow_reader")                                                                  \
    X(TOO_MANY_CONNECTIONS, "too_many_connections")                                                \
    X(RAPID_RESET, "rapid_reset")     /* requests opened and reset, over and over */               \
    X(CONTROL_FLOOD, "control_flood") /* SETTINGS, PING, PRIORITY, WINDOW_UPDATE */                \
    X(EMPTY_FLOOD, "empty_flood")     /* frames without content */                                 \
    X(CONTINUATION_FLOOD, "continuation_flood")                                                    \
    X(PROTOCOL_ERROR, "protocol_error") /* HTTP/2 frames against the protocol */                   \
    X(BROKEN_TLS, "broken_tls")         /* a handshake that fails or stops, records that lie */

enum http_hostility {
#define X(name, text) HOSTILITY_##name,
    HOSTILITY_TABLE(X)
#undef X
        HOSTILITY_COUNT
};

const char *http_hostility_name(enum http_hostility kind);

#endif
