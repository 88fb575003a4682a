// SPDX-License-Identifier: Apache-2.0
//
// The streams of each legacy session in this process: its held GET stream, of which there is one,
// and those that it reads again. Nothing is kept of a session that has none.
#ifndef WRIST_GATEWAY_PROXY_SESSIONS_H
#define WRIST_GATEWAY_PROXY_SESSIONS_H

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/span.h"

struct sessions;

struct sessions *sessions_new(void);
void sessions_free(struct sessions *s);

// Embedded in a held stream.
struct session_stream {
    struct list node;       // of all streams
    struct list in_session; // of those that are read again
    struct session_entry *entry;
    void (*ended)(struct session_stream *stream);
};
// A new one takes over: `ended` of the old one is called.
void sessions_put_stream(struct sessions *s, struct span session, struct session_stream *stream);
// One that is read again, beside the held one. False where the session has too many.
enum { SESSION_RESUMED_MAX = 16 };
bool sessions_put_resumed(struct sessions *s, struct span session, struct session_stream *stream);
void sessions_remove_stream(struct sessions *s, struct session_stream *stream);
void sessions_end_streams(struct sessions *s, struct span session);
void sessions_end_all_streams(struct sessions *s);

#endif
