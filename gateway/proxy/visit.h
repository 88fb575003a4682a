// SPDX-License-Identifier: Apache-2.0
//
// One exchange on its way through an endpoint. It has passed the checks of Origin, Host and path,
// and its principal is known, when the route's `enter` gets it. `enter` sets ops and state, and
// answers now or later.
//
// Lifetime: until the exchange has closed, and as long as an endpoint holds it (visit_hold): a
// legacy call goes on when its client has left. `ex` is NULL once the exchange has closed.
#ifndef WRIST_GATEWAY_PROXY_VISIT_H
#define WRIST_GATEWAY_PROXY_VISIT_H

#include "gateway/auth/principal.h"
#include "gateway/config/config.h"
#include "gateway/lib/http/exchange.h"
#include "gateway/proxy/route.h"
#include "gateway/proxy/sealed.h"

struct proxy;
struct visit;

struct visit_ops { // each may be NULL
    void (*body)(struct visit *v, struct span bytes);
    void (*body_ended)(struct visit *v);
    void (*drained)(struct visit *v);
    void (*closed)(struct visit *v, const struct failure *why); // v->ex is gone already
    void (*free)(struct visit *v);                              // the last reference went
};

struct visit {
    const struct visit_ops *ops;
    void *state; // the endpoint's
    struct proxy *proxy;
    const struct config *config; // the snapshot of this request
    struct exchange *ex;         // NULL: closed
    struct route_match match;
    struct principal *principal; // counted
    int64_t started_us;
    int references;
    // For the audit line and the metrics; endpoints fill what they know. Constants or plain values.
    int status;          // set by visit_respond and visit_start
    const char *method;  // MCP method or HTTP method
    const char *outcome; // fault's name, NULL for none
    char tool[64];       // cut, printable
    char profile[PROFILE_NAME_SIZE];
    char sandbox[ID_SIZE];
    char session[SESSION_MARK_SIZE];
    bool is_audited; // something was decided or done, not only looked up
};

struct visit *visit_hold(struct visit *v);
void visit_drop(struct visit *v);

// Answers with the headers that every answer carries (CORS, no-store); up to VISIT_HEADERS more.
enum { VISIT_HEADERS = 8 };
void visit_respond(struct visit *v, int status, const struct http_header *more, size_t count,
                   struct span body);
void visit_start(struct visit *v, int status, const struct http_header *more, size_t count,
                 int64_t content_length);
// `{"error":{"fault":…,"message":…}}` with the fault's status, for endpoints that are not MCP.
void visit_respond_failure(struct visit *v, const struct failure *why, int64_t retry_after_ms);
// What clients call this gateway: the configured URL, else scheme and authority of the request.
struct span visit_public_url(struct visit *v); // in the exchange's arena

#endif
