// SPDX-License-Identifier: Apache-2.0
//
// The control half of a link: questions to the worker of a sandbox. Every one answers once, from
// the loop, unless it is cancelled; a sandbox that stops being alive fails those under way.
#ifndef WRIST_GATEWAY_SANDBOX_WORKER_H
#define WRIST_GATEWAY_SANDBOX_WORKER_H

#include "gateway/lib/control/link.h"

struct sandbox;
struct loop;

// The worker's until `done` returns.
struct worker_answer {
    struct link_status status; // of bind and status
    struct span card;          // of card: JSON
};
typedef void worker_done(void *owner, const struct worker_answer *answer,
                         const struct failure *why);

struct worker_ops {
    void (*bind)(void *user, struct sandbox *s, const struct link_bind *bind, worker_done *done,
                 void *owner);
    void (*grant)(void *user, struct sandbox *s, const struct link_grant *grant, worker_done *done,
                  void *owner);
    void (*status)(void *user, struct sandbox *s, worker_done *done, void *owner);
    void (*card)(void *user, struct sandbox *s, worker_done *done, void *owner);
    void (*end_session)(void *user, struct sandbox *s, const char *session);
};

// Over HTTP/1.1 on the sandbox's link; `user` is the loop.
extern const struct worker_ops worker_client_ops;

#endif
