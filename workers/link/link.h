// SPDX-License-Identifier: Apache-2.0
//
// The worker's HTTP server: the link that a gateway uses (routes in gateway/lib/control/README.md),
// or, stand-alone, a Streamable HTTP MCP server with sessions of its own.
#ifndef WRIST_WORKERS_LINK_LINK_H
#define WRIST_WORKERS_LINK_LINK_H

#include "gateway/lib/control/worker_start.h"
#include "gateway/lib/net/address.h"

struct calls;
struct hand_pool;
struct life;
struct loop;
struct reads;
struct service;

enum { LINK_AUTHORIZATION_SIZE = 512 };

struct link_options {
    struct loop *loop; // borrowed, as all of this
    struct life *life;
    struct calls *calls;
    struct hand_pool *hands;
    struct reads *reads;
    const struct worker_start *start;
    const char *authorization; // the whole header that every request must have
    struct address address;
    bool stand_alone;
    void (*end)(void *owner); // POST /end
    void *owner;
};

struct service *link_new(const struct link_options *options, struct failure *why);
const struct address *link_address(const struct service *s);
// No new requests; running calls are cancelled. `drained` comes once nothing is left.
void link_drain(struct service *s, void (*drained)(void *owner), void *owner);
void link_free(struct service *s);

#endif
