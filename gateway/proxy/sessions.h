// SPDX-License-Identifier: Apache-2.0
//
// What is going on in this process for each legacy session: its calls in flight, so that a
// cancellation finds its way, and its held GET stream, of which there is one. Nothing is kept of a
// session that has neither.
#ifndef WRIST_GATEWAY_PROXY_SESSIONS_H
#define WRIST_GATEWAY_PROXY_SESSIONS_H

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/span.h"

struct sessions;
struct lease;

struct sessions *sessions_new(void);
void sessions_free(struct sessions *s);

// Embedded in a call; on the list while the call has a lease.
struct session_call {
    struct list node;
    struct session_entry *entry; // NULL: not on a list
    struct lease *lease;         // borrowed
};
void sessions_add_call(struct sessions *s, struct span session, struct session_call *call,
                       struct lease *lease);
void sessions_remove_call(struct sessions *s, struct session_call *call);
// The lease of a call of this session that is in flight, or NULL.
struct lease *sessions_any_lease(const struct sessions *s, struct span session);

// Embedded in a held stream. A new one takes over: `ended` of the old one is called.
struct session_stream {
    struct list node; // of all streams
    struct session_entry *entry;
    void (*ended)(struct session_stream *stream);
};
void sessions_put_stream(struct sessions *s, struct span session, struct session_stream *stream);
void sessions_remove_stream(struct sessions *s, struct session_stream *stream);
void sessions_end_stream(struct sessions *s, struct span session);
void sessions_end_all_streams(struct sessions *s);

#endif
