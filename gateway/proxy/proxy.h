// SPDX-License-Identifier: Apache-2.0
//
// The request path of the gateway. main makes one proxy, and for each listener an http_server whose
// ops are proxy_exchange_ops() and whose service is a proxy_listener of that listener.
#ifndef WRIST_GATEWAY_PROXY_PROXY_H
#define WRIST_GATEWAY_PROXY_PROXY_H

#include "gateway/config/config.h"
#include "gateway/lib/http/exchange.h"

struct binder;
struct keyring;
struct loop;
struct metrics;
struct principal;
struct proxy;
struct proxy_listener;
struct route;

// How a credential becomes a principal. 0 and a held reference, or FAULT_UNAUTHENTICATED with a
// text fit for the client. `authorization` is the header's value, absent where there was none.
struct authenticator {
    int (*authenticate)(void *user, struct span authorization, struct principal **out,
                        struct failure *why);
    void *user;
};

struct proxy_options { // all borrowed for the proxy's life
    struct loop *loop;
    const struct config *config;
    const struct keyring *keyring;
    struct binder *binder;
    struct metrics *metrics;
    struct authenticator auth;
};

struct proxy *proxy_new(const struct proxy_options *options);
// After the http_servers are closed and a turn has passed. Calls whose clients left are dropped.
void proxy_free(struct proxy *p);
// More endpoints, as the REST one: rows in the form of route.h, borrowed. Before the first request.
void proxy_add_routes(struct proxy *p, const struct route *routes, size_t count);
// Ends held streams, and those that are still opened at once, so that a drain does not wait for
// them. Calls that are cut from now on are lost, not cancelled.
void proxy_end_streams(struct proxy *p);

// Loopback listeners answer only to loopback names and allowed hosts. Lives as long as the proxy.
struct proxy_listener *proxy_listener(struct proxy *p, bool loopback);
const struct exchange_ops *proxy_exchange_ops(void);

#endif
