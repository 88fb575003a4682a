// SPDX-License-Identifier: Apache-2.0
//
// The answer to one POST: JSON when everything is there within 2 s, else a stream of events that is
// kept alive by comments. When the client vanishes the answer stays until its calls have ended, and
// what they say is dropped.
#ifndef WRIST_WORKERS_LINK_ANSWER_H
#define WRIST_WORKERS_LINK_ANSWER_H

#include "gateway/lib/http/exchange.h"

struct answer;
struct loop;

enum { ANSWER_COMMIT_MS = 2000, ANSWER_COMMENT_MS = 10000 };

struct answer_options {
    size_t expected;                   // responses that will come, ≥ 1
    bool is_batch;                     // several, as one array
    bool accepts_json, accepts_events; // at least one
    struct span session;               // Mcp-Session-Id to send; absent: none
};
// Takes the exchange over: its user becomes the answer's handler.
struct answer *answer_new(struct loop *loop, struct exchange *ex,
                          const struct answer_options *options);
// One of the expected responses. After the last one the answer must not be used.
void answer_add(struct answer *a, struct span response);
// A response that will not come, as after a cancellation.
void answer_skip(struct answer *a);
// A message besides: makes it a stream. Dropped where the client takes no events.
void answer_notify(struct answer *a, struct span message);

#endif
