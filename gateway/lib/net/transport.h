// SPDX-License-Identifier: Apache-2.0
//
// What lies below a stream: a socket, a socket with TLS, a pipe in memory. Only gateway/lib/net and
// gateway/lib/tls include this. A transport has no buffers of its own to speak of and calls nobody
// back, except that one without an fd says `stream_ready` from the loop.
#ifndef WRIST_GATEWAY_LIB_NET_TRANSPORT_H
#define WRIST_GATEWAY_LIB_NET_TRANSPORT_H

#include "gateway/lib/net/stream.h"

// Results below 0; `read` returns 0 at the peer's end.
enum transport_result {
    TRANSPORT_WANTS_READ = -1,
    TRANSPORT_WANTS_WRITE = -2,
    TRANSPORT_FAILED = -3, // with *why filled
};

struct transport_ops {
    // 0 once bytes may pass. NULL: at once.
    int (*handshake)(void *state, int fd, struct failure *why);
    ssize_t (*read)(void *state, int fd, char *to, size_t size, struct failure *why);
    ssize_t (*write)(void *state, int fd, const char *from, size_t size, struct failure *why);
    bool (*has_more)(const void *state); // bytes that no fd will announce; NULL: never
    void (*end)(void *state, int fd);    // our side, after the last byte
    void (*watch)(void *state, struct stream *s, int events); // NULL: watch the fd
    struct span (*protocol)(const void *state);               // NULL: absent
    bool encrypted;
    void (*close)(void *state); // frees it; the stream closes the fd
};

extern const struct transport_ops socket_transport; // its state is NULL

// Owns fd (or -1) and state. `deadline_ms` is for connecting and the handshake; 0: none.
struct stream *stream_new(struct loop *loop, int fd, const struct address *peer,
                          const struct stream_limits *limits, const struct transport_ops *transport,
                          void *state, int64_t deadline_ms);
void stream_ready(struct stream *s, int events);                     // from the loop
void stream_fail_later(struct stream *s, const struct failure *why); // `closed` comes from the loop
void stream_set_connecting(struct stream *s);
// A non-blocking socket that is being connected, or was at once; *fd may be set on failure too.
int socket_start_connecting(const struct address *to, struct failure *why, int *fd);

#endif
