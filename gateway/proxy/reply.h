// SPDX-License-Identifier: Apache-2.0
//
// The answer to a POST, in whichever form fits what the client accepts and what has happened: one
// JSON body, a JSON array for a batch, or an event stream. A stream is committed at the first
// event, or when an answer takes long; from then on comments keep it alive. Everything is harmless
// once the client has left.
#ifndef WRIST_GATEWAY_PROXY_REPLY_H
#define WRIST_GATEWAY_PROXY_REPLY_H

#include "gateway/lib/loop/timer.h"
#include "gateway/proxy/accept.h"
#include "gateway/proxy/visit.h"

enum reply_form {
    REPLY_OPEN,   // nothing is decided
    REPLY_JSON,   // one body, which is being written
    REPLY_ARRAY,  // a batch's answers, comma separated
    REPLY_EVENTS, // committed to a stream
    REPLY_ENDED,
};

struct reply {
    struct visit *v; // borrowed
    enum reply_form form;
    struct accept accept;
    bool is_batch;
    bool is_first;        // no element of the array was written
    bool in_message;      // between reply_begin and reply_complete
    unsigned line_ends;   // at the end of what a worker's stream wrote: 2 or more between events
    struct span session;  // value of mcp-session-id; absent for none
    char retry_after[24]; // seconds; "" for none
    struct timer commit, keepalive;
};

void reply_init(struct reply *r, struct visit *v, struct accept accept, bool is_batch);
void reply_fini(struct reply *r);
void reply_set_retry(struct reply *r, int64_t ms);
void reply_commit_later(struct reply *r); // an answer that may take long begins

// One whole message. The status counts only while no head was sent.
void reply_message(struct reply *r, int status, struct span json);
// A message in pieces; length -1 where it is not known.
void reply_begin(struct reply *r, int64_t length);
void reply_piece(struct reply *r, struct span bytes);
void reply_complete(struct reply *r);
// Bytes of a worker's event stream, cut anywhere.
void reply_events(struct reply *r, struct span bytes);
// False inside an event or a message: then nothing sensible can be added.
bool reply_is_between_messages(const struct reply *r);
void reply_status(struct reply *r, int status); // no body: 202
void reply_end(struct reply *r);
void reply_abort(struct reply *r, const struct failure *why);
bool reply_is_choked(const struct reply *r);

// The head of an event stream and its first comment, so that proxies pass it on at once.
void reply_start_stream(struct visit *v, struct span session);

#endif
