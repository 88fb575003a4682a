// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/sandbox/question.h"
#include "gateway/sandbox/sandbox.h"
#include "gateway/sandbox/worker.h"

enum {
    WORKER_DEADLINE_MS = 5000,
    BIND_DEADLINE_MS = 2500, // a client waits, and there may be another warm one
    STATUS_BYTES = 16 * 1024,
    CARD_BYTES = 4 * 1024 * 1024,
};

struct worker_question {
    worker_done *done; // NULL: nobody listens
    void *owner;
    bool wants_status;
};

static void answered(void *owner, struct span body, const struct failure *why)
{
    struct worker_question *q = owner;
    struct worker_answer answer = {.card = body};
    struct failure mine;
    if (why == NULL && q->wants_status && link_status_parse(body, &answer.status, &mine) != 0)
        why = &mine;
    if (q->done != NULL)
        q->done(q->owner, &answer, why);
    free(q);
}

static void ask_worker(struct loop *loop, struct sandbox *s, struct question_ask ask,
                       bool wants_status, worker_done *done, void *owner)
{
    struct worker_question *q = memory_new(sizeof *q);
    *q = (struct worker_question){.done = done, .owner = owner, .wants_status = wants_status};
    ask.authorization = s->authorization;
    if (ask.deadline_ms == 0)
        ask.deadline_ms = WORKER_DEADLINE_MS;
    question_start(loop, sandbox_link(s), &ask, answered, q);
}

static void worker_bind(void *user, struct sandbox *s, const struct link_bind *bind,
                        worker_done *done, void *owner)
{
    struct buffer body;
    buffer_init(&body, STATUS_BYTES);
    link_bind_write(bind, &body); // of our own values: fits
    struct question_ask ask = {.method = "POST",
                               .target = "/bind",
                               .body = buffer_span(&body),
                               .deadline_ms = BIND_DEADLINE_MS,
                               .answer_bytes = STATUS_BYTES};
    ask_worker(user, s, ask, true, done, owner);
    buffer_fini(&body);
}

static void worker_grant(void *user, struct sandbox *s, const struct link_grant *grant,
                         worker_done *done, void *owner)
{
    struct buffer body;
    buffer_init(&body, STATUS_BYTES);
    link_grant_write(grant, &body); // of our own values: fits
    struct question_ask ask = {.method = "POST",
                               .target = "/grant",
                               .body = buffer_span(&body),
                               .answer_bytes = STATUS_BYTES};
    ask_worker(user, s, ask, false, done, owner);
    buffer_fini(&body);
}

static void worker_status(void *user, struct sandbox *s, worker_done *done, void *owner)
{
    struct question_ask ask = {.method = "GET", .target = "/status", .answer_bytes = STATUS_BYTES};
    ask_worker(user, s, ask, true, done, owner);
}

static void worker_card(void *user, struct sandbox *s, worker_done *done, void *owner)
{
    struct question_ask ask = {.method = "GET", .target = "/card", .answer_bytes = CARD_BYTES};
    ask_worker(user, s, ask, false, done, owner);
}

static void worker_end_session(void *user, struct sandbox *s, const char *session)
{
    char target[64];
    snprintf(target, sizeof target, "/sessions/%s", session);
    struct question_ask ask = {.method = "DELETE", .target = target, .answer_bytes = STATUS_BYTES};
    ask_worker(user, s, ask, false, NULL, NULL);
}

const struct worker_ops worker_client_ops = {
    .bind = worker_bind,
    .grant = worker_grant,
    .status = worker_status,
    .card = worker_card,
    .end_session = worker_end_session,
};
