// SPDX-License-Identifier: Apache-2.0
//
// The answer to one POST: JSON when everything is there within 2 s, else a stream of events that is
// kept alive by comments. A legacy session's stream can be resumed: once it was begun, what is said
// goes to its replay ring whether or not its client is there. Before that, and without one, whoever
// waits is told that the client has left; what is said after it is dropped.
#ifndef WRIST_WORKERS_LINK_ANSWER_H
#define WRIST_WORKERS_LINK_ANSWER_H

#include "gateway/lib/base/list.h"
#include "gateway/lib/http/exchange.h"

struct answer;
struct loop;
struct replay;

enum { ANSWER_COMMIT_MS = 2000, ANSWER_COMMENT_MS = 10000 };

struct answer_options {
    size_t expected;                   // responses that will come, ≥ 1
    bool is_batch;                     // several, as one array
    bool accepts_json, accepts_events; // at least one
    struct span session;               // Mcp-Session-Id to send; absent: none
    struct replay *replay;             // keeps the stream; NULL: it is not kept
    struct span ring;                  // the session that it is kept for
    bool primes;                       // the client understands an event without data
};
// Takes the exchange over: its user becomes the answer's handler.
struct answer *answer_new(struct loop *loop, struct exchange *ex,
                          const struct answer_options *options);
// Embedded in who will give a response, while it is to be told: `gone` comes once, and it then
// skips its response, now or later.
struct answer_wait {
    struct list node;
    void (*gone)(struct answer_wait *w);
};
void answer_watch(struct answer *a, struct answer_wait *w);
void answer_unwatch(struct answer_wait *w);

// One of the expected responses, to the request of that id. After the last one the answer must not
// be used.
void answer_add(struct answer *a, struct span id, struct span response);
// A response that will not come, as after a cancellation.
void answer_skip(struct answer *a);
// A message besides: makes it a stream. Dropped where the client takes no events.
void answer_notify(struct answer *a, struct span message);

#endif
