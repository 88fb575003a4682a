// SPDX-License-Identifier: Apache-2.0
//
// Event streams of legacy sessions that outlive their connections. What is said on a stream is
// kept for its session, within bounds, the oldest given up first, so that a client that comes back
// with the id of the last event it saw gets what came after it, on that stream alone. An id is
// `<stream>-<number>`; the stream's part is random, so that one of another sandbox is no id here.
#ifndef WRIST_WORKERS_LINK_REPLAY_H
#define WRIST_WORKERS_LINK_REPLAY_H

#include "gateway/lib/http/exchange.h"

struct loop;
struct replay;
struct replay_stream;

enum {
    REPLAY_SESSION_BYTES = 2 << 20, // with what keeping them costs
    REPLAY_SESSION_EVENTS = 512,
    REPLAY_SESSION_STREAMS = 64, // that have ended and may be read again
    REPLAY_BYTES = 16 << 20,     // of all sessions
    REPLAY_RETRY_MS = 5000,
    REPLAY_COMMENT_MS = 10000,
};

struct replay *replay_new(struct loop *loop);
void replay_free(struct replay *r); // NULL is harmless; its readers get nothing more
size_t replay_bytes(const struct replay *r);

// A stream that its writer holds until replay_close.
struct replay_stream *replay_open(struct replay *r, struct span session);
// The exchange, whose head was sent, becomes the stream's reader, and one that reads already is
// ended. With `primes` it is told at once from where it may resume, and when.
void replay_read(struct replay_stream *s, struct exchange *ex, bool primes);
// One message to whoever reads, and to be kept. `answers` is the id of the request whose answer it
// is, else absent: an answer that is too large to be kept is kept as an error that says so.
void replay_say(struct replay_stream *s, struct span message, struct span answers);
void replay_close(struct replay_stream *s); // no more comes; the reader's exchange ends

// Whether something can still come after that event: to be asked before a head is sent. Then
// replay_resume gives what came since, and what will come.
struct replay_stream *replay_find(struct replay *r, struct span session, struct span last_event);
void replay_resume(struct replay_stream *s, struct span last_event, struct exchange *ex);

void replay_forget(struct replay *r, struct span session); // the session has ended

#endif
