// SPDX-License-Identifier: Apache-2.0
//
// The gateway's listeners and the HTTP servers behind them: from an accepted fd to an exchange.
//
// Opened in two halves: the sockets while the process may still bind any port, the rest once it has
// given up its rights, so that a certificate which cannot be read again later is noticed now.
#ifndef WRIST_GATEWAY_LISTEN_FRONT_H
#define WRIST_GATEWAY_LISTEN_FRONT_H

#include "gateway/config/config.h"
#include "gateway/lib/http/exchange.h"
#include "gateway/lib/http/hostility.h"

struct front;
struct loop;

struct front *front_new(struct loop *loop, const struct config *config); // borrowed
// Binds every address of the configuration, and the admin's, or takes what front_socket gave, a
// socket a door. Nothing is accepted yet.
int front_bind(struct front *f, const int *fds, struct failure *why);

// For several processes on the same ports: a socket of each door, the admin's last, for each of
// them. A shared one is made once for all.
size_t front_doors(const struct config *c);
bool front_is_shared(const struct config *c, size_t door);
int front_socket(const struct config *c, size_t door, size_t process, struct failure *why);
// A service for each listener: client ones by `service_for`, told whether it is loopback.
struct front_services {
    const struct exchange_ops *client_ops, *admin_ops;
    void *(*service_for)(void *owner, bool loopback);
    void *owner;
    void *admin_service;
};
// Certificates, servers; accepts from now on.
int front_open(struct front *f, const struct front_services *services, struct failure *why);
// Reads the certificates again; a bad one keeps the old. The first failure is told.
int front_reload(struct front *f, struct failure *why);
// No new clients; `drained` comes once no client's exchange is left. The admin listener stays.
void front_drain(struct front *f, void (*drained)(void *owner), void *owner);
void front_close(struct front *f); // everything, now; freed after the turn

struct front_counters {
    uint64_t accepted, refused;
    size_t connections, exchanges, bytes_buffered;
    uint64_t hostile[HOSTILITY_COUNT]; // peers that broke the protocol or a limit, the admin's too
};
void front_count(const struct front *f, struct front_counters *out); // clients' only

#endif
