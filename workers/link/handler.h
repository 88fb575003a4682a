// SPDX-License-Identifier: Apache-2.0
//
// What an exchange's user points to: the part of the link that deals with it from now on.
#ifndef WRIST_WORKERS_LINK_HANDLER_H
#define WRIST_WORKERS_LINK_HANDLER_H

#include "gateway/lib/http/exchange.h"

struct handler;

struct handler_ops {
    void (*body)(struct handler *h, struct span bytes); // those that are NULL are not called
    void (*body_ended)(struct handler *h);
    void (*drained)(struct handler *h);
    void (*closed)(struct handler *h); // last; the exchange is gone after it
};

struct handler {
    const struct handler_ops *ops;
    struct exchange *ex; // borrowed, until `closed`
};

static inline void handler_take(struct handler *h, const struct handler_ops *ops,
                                struct exchange *ex)
{
    h->ops = ops;
    h->ex = ex;
    exchange_set_user(ex, h);
}

// Answers that are one piece.
void respond_json(struct exchange *ex, int status, struct span json);
void respond_status(struct exchange *ex, int status);
// The head of an event stream; session: for Mcp-Session-Id, "" for none.
void respond_events(struct exchange *ex, const char *session);
void respond_failure(struct exchange *ex, const struct failure *why); // with the fault's status

#endif
