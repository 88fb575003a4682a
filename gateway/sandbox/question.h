// SPDX-License-Identifier: Apache-2.0
// One control request with a whole JSON answer: bounded, with a deadline, errors as failures.
#ifndef WRIST_GATEWAY_SANDBOX_QUESTION_H
#define WRIST_GATEWAY_SANDBOX_QUESTION_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"

struct http_client;
struct loop;
struct question;

struct question_ask {
    const char *method, *target;
    const char *authorization; // NULL: none
    struct span body;          // borrowed for the call; absent: none
    int64_t deadline_ms;
    size_t answer_bytes; // the most that the answer may have
};

// `done` comes once, from the loop, with the body of a 2xx answer, or the failure that the peer
// told or that asking met. `client` may be NULL: UNAVAILABLE.
struct question *
question_start(struct loop *loop, struct http_client *client, const struct question_ask *ask,
               void (*done)(void *owner, struct span body, const struct failure *why), void *owner);
void question_cancel(struct question *q); // no callback any more

#endif
