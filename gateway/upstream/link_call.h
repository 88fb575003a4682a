// SPDX-License-Identifier: Apache-2.0
//
// One MCP message on the link to a worker, or a stream that is read again. Sent once; only where
// the worker says that it does not know the session, so that nothing ran, is the sandbox bound and
// the message sent once more.
#ifndef WRIST_GATEWAY_UPSTREAM_LINK_CALL_H
#define WRIST_GATEWAY_UPSTREAM_LINK_CALL_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

struct lease;
struct link_call;

struct link_request {
    struct lease *lease;               // borrowed until the call is over
    struct span session;               // internal id; absent for none
    struct span reader;                // who reads: the session, else the principal
    const char *version;               // of the protocol
    bool accepts_json, accepts_events; // at least one; events alone begin at once
    struct span body;                  // borrowed until the call is over, as all spans here
    struct span last_event; // not absent: no message, the stream after that event is read again
    struct span trace[3];   // traceparent, tracestate, baggage; absent ones are left out
    // Headers of a modern request, mirrored from its body; else absent.
    struct span method, name;
};

enum link_answer { LINK_JSON, LINK_EVENTS, LINK_ACCEPTED };

struct link_call_ops {
    void (*head)(void *owner, enum link_answer kind, int64_t length); // length: -1 unknown
    void (*body)(void *owner, struct span bytes);
    // Once, last, unless stopped before. LINK_ACCEPTED of a stream: there is nothing to read again.
    // may_have_run: the request reached the worker.
    void (*ended)(void *owner, const struct failure *why, bool may_have_run);
};

// Failures come by `ended`, from the loop; NULL where the sandbox is gone already. The call is
// freed after `ended` or link_call_stop; after link_call_stop the lease is released in the same
// turn.
struct link_call *link_call_start(const struct link_request *request,
                                  const struct link_call_ops *ops, void *owner);
void link_call_pause(struct link_call *c);
void link_call_resume(struct link_call *c);
// No callback any more. With `cancel` the worker is told to end the call, else it goes on there.
void link_call_stop(struct link_call *c, bool cancel);

// A message whose answer nobody waits for. Everything of the request may go after the call.
void link_notify(const struct link_request *request);

#endif
