// SPDX-License-Identifier: Apache-2.0
//
// What operators and probes ask, on a listener of its own without tokens (the configuration allows
// loopback and unix sockets only):
//
//   GET /healthz   200 while the loop turns
//   GET /readyz    200 when calls can be served, else 503 with the reason
//   GET /metrics   Prometheus text
//   GET /pools     JSON: each profile's sandboxes by state, and why its starts fail
//   GET /v1/volumes             JSON: the volumes of all principals, and who has them
//   DELETE /v1/volumes/{id}     deletes one that no sandbox has
//   POST /v1/store/check   compares the store with what runs, heals it, says what differed
#ifndef WRIST_GATEWAY_ADMIN_ADMIN_H
#define WRIST_GATEWAY_ADMIN_ADMIN_H

#include "gateway/lib/http/exchange.h"

struct binder;
struct metrics;

struct admin { // embedded by its owner; everything borrowed
    struct metrics *metrics;
    struct binder *binder;
    // Called before the metrics are written: sets gauges that nobody keeps up to date.
    void (*collect)(void *owner);
    void *owner;
    bool is_draining; // no longer ready
};

// Ops for an http_server whose service is a struct admin.
const struct exchange_ops *admin_exchange_ops(void);

#endif
