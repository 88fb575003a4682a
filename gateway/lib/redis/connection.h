// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
//
// One connection to one server: its name resolved, connected, greeted (AUTH, SELECT, ROLE), then
// commands and answers in order.
#ifndef WRIST_GATEWAY_LIB_REDIS_CONNECTION_H
#define WRIST_GATEWAY_LIB_REDIS_CONNECTION_H

#include "gateway/lib/redis/command.h"

struct connection;

struct connection_options { // copied; what it points to is borrowed for the call, but tls
    struct redis_place place;
    const struct tls_context *tls;
    const char *user, *password;
    int database;
    bool must_be_master;
    int64_t connect_ms; // until it is greeted
    size_t reply_bytes;
    const char *resolv_conf; // borrowed
};

struct connection_ops {
    void (*ready)(void *owner); // greeted
    // The command is off the connection's list and the owner's again.
    void (*answered)(void *owner, struct redis_command *c, const struct redis_reply *reply);
    // What no command asked for, on a connection that subscribes; NULL: such a thing is an error.
    void (*told)(void *owner, const struct redis_reply *reply);
    // Last, once; not after connection_close. What was sent and not answered is the owner's.
    void (*closed)(void *owner, struct list *sent, const struct failure *why);
};

struct connection *connection_open(struct loop *loop, const struct connection_options *options,
                                   const struct connection_ops *ops, void *owner);
// Moves what was sent and not answered to the end of `sent` (NULL: freed without a word).
void connection_close(struct connection *c, struct list *sent);
bool connection_is_ready(const struct connection *c);
const struct redis_place *connection_place(const struct connection *c);
// Only once it is ready. On failure the command stays the caller's.
int connection_send(struct connection *c, struct redis_command *command, struct failure *why);
int64_t connection_due_ms(const struct connection *c); // of the oldest; INT64_MAX for none

#endif
