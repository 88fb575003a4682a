// SPDX-License-Identifier: Apache-2.0
#include "gateway/sandbox/question.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/http/client.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"

struct question {
    struct loop *loop;
    struct http_call *call; // NULL once it ended
    struct timer deadline;
    struct buffer body;
    int status;
    struct failure why; // of our own making
    void (*done)(void *owner, struct span body, const struct failure *why);
    void *owner;
};

static void question_free(void *object)
{
    struct question *q = object;
    buffer_fini(&q->body);
    free(q);
}

static void forget(struct question *q)
{
    timer_cancel(&q->deadline);
    if (q->call != NULL)
        http_call_cancel(q->call);
    q->call = NULL;
    loop_bury(q->loop, q, question_free);
}

static void finish(struct question *q, struct span body, const struct failure *why)
{
    forget(q);
    q->done(q->owner, body, why);
}

static void on_head(struct http_call *call, int status)
{
    struct question *q = http_call_user(call);
    q->status = status;
}

static void on_body(struct http_call *call, struct span bytes)
{
    struct question *q = http_call_user(call);
    if (buffer_append(&q->body, bytes) == 0)
        return;
    failure_set(&q->why, FAULT_TOO_LARGE, "the answer has more than %zu bytes", q->body.limit);
    finish(q, SPAN_NONE, &q->why);
}

static void on_ended(struct http_call *call, const struct failure *why)
{
    struct question *q = http_call_user(call);
    q->call = NULL;
    if (why != NULL) {
        finish(q, SPAN_NONE, why);
    } else if (q->status / 100 == 2) {
        finish(q, buffer_span(&q->body), NULL);
    } else {
        failure_parse(buffer_span(&q->body), &q->why);
        if (q->status == 401)
            q->why.fault = FAULT_UNAUTHENTICATED; // also from a peer that says no more than that
        finish(q, SPAN_NONE, &q->why);
    }
}

static const struct http_call_ops call_ops = {.head = on_head, .body = on_body, .ended = on_ended};

static void on_deadline(struct timer *timer)
{
    struct question *q = CONTAINER_OF(timer, struct question, deadline);
    if (q->why.fault == 0)
        failure_set(&q->why, FAULT_TIMEOUT, "no answer in time");
    finish(q, SPAN_NONE, &q->why);
}

struct question *
question_start(struct loop *loop, struct http_client *client, const struct question_ask *ask,
               void (*done)(void *owner, struct span body, const struct failure *why), void *owner)
{
    struct question *q = memory_new(sizeof *q);
    *q = (struct question){.loop = loop, .done = done, .owner = owner};
    buffer_init(&q->body, ask->answer_bytes);
    timer_init(&q->deadline, loop, on_deadline);
    if (client == NULL) {
        failure_set(&q->why, FAULT_UNAVAILABLE, "there is no link to ask over");
        timer_start(&q->deadline, 0);
        return q;
    }
    const struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")},
        {SPAN_LITERAL("authorization"), span_from_string(ask->authorization)},
    };
    const struct http_request request = {
        .method = span_from_string(ask->method),
        .target = span_from_string(ask->target),
        .headers = headers,
        .header_count = ask->authorization != NULL ? 2 : 1,
        .body = ask->body,
    };
    timer_start(&q->deadline, ask->deadline_ms);
    q->call = http_call_start(client, &request, &call_ops, q);
    return q;
}

void question_cancel(struct question *q)
{
    forget(q);
}
