// SPDX-License-Identifier: Apache-2.0
//
// A connected stream of bytes: TCP, unix socket, or TLS above one of them (gateway/lib/tls makes
// those). Reads go into one bounded buffer, writes are collected and flushed once a turn.
//
// The owner gets callbacks from the loop, never from inside a call it made. `closed` comes exactly
// once, last, unless the owner closes first: stream_close is idempotent, after it no callback
// comes, and the object is freed after the turn.
#ifndef WRIST_GATEWAY_LIB_NET_STREAM_H
#define WRIST_GATEWAY_LIB_NET_STREAM_H

#include <stdbool.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/net/address.h"

struct loop;
struct stream;

struct stream_ops {
    // There are bytes in `in`; the owner consumes what it can use. What it leaves stays, and no
    // more is read once `in` is full.
    void (*readable)(void *owner, struct buffer *in);
    // The peer ended its side; what it sent before was handed out. Writing is still possible.
    void (*read_ended)(void *owner);
    // stream_pending fell to the low-water mark after it had been above the high-water mark.
    void (*drained)(void *owner);
    // Everything written has reached the kernel. NULL where nobody needs to know.
    void (*flushed)(void *owner);
    // stream_unwritten still tells what was not sent.
    void (*closed)(void *owner, const struct failure *why);
};

struct stream_limits {
    size_t read_bytes;  // the most that waits unread
    size_t write_bytes; // the most that waits unwritten; past it, stream_write fails
    size_t high_water, low_water;
};

void stream_set_owner(struct stream *s, const struct stream_ops *ops, void *owner);
void stream_set_limits(struct stream *s, const struct stream_limits *limits);
int stream_write(struct stream *s, struct span bytes); // copies; FAULT_TOO_LARGE past write_bytes
size_t stream_pending(const struct stream *s);         // bytes not yet in the kernel
struct span stream_unwritten(const struct stream *s);  // those bytes, until the next call
bool stream_is_choked(const struct stream *s);         // above the high-water mark
void stream_pause(struct stream *s);                   // no reading
void stream_resume(struct stream *s); // also hands out again what was left in the buffer
void stream_end(struct stream *s);    // ends our side (FIN, close_notify) after what is pending
void stream_close(struct stream *s);  // now
const struct address *stream_peer(const struct stream *s);
// The protocol that ALPN chose: "h2", "http/1.1"; absent without TLS or without ALPN.
struct span stream_protocol(const struct stream *s);
bool stream_is_encrypted(const struct stream *s);
bool stream_is_shaking_hands(const struct stream *s);  // TLS has not come to its keys yet
uint64_t stream_bytes_written(const struct stream *s); // into the kernel, since birth

// An fd that is connected already; the stream owns it from now on.
struct stream *stream_from_fd(struct loop *loop, int fd, const struct address *peer,
                              const struct stream_limits *limits);
// Starts to connect. `readable`… come only once it is connected; failing is told by `closed`.
struct stream *stream_connect(struct loop *loop, const struct address *to,
                              const struct stream_limits *limits, int64_t timeout_ms);
// Two ends in memory that hand over at most `piece` bytes a turn: for tests.
void stream_pair(struct loop *loop, size_t piece, const struct stream_limits *limits,
                 struct stream **a, struct stream **b);

#endif
