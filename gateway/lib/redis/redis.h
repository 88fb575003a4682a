// SPDX-License-Identifier: Apache-2.0
//
// A client of one Redis: a server, the master that Sentinels name, or the one node of a Cluster
// that has our slot. One pipelined connection; another for ASK. Every command is answered exactly
// once, from the loop: with a reply, or UNAVAILABLE when it could not be asked in time. What a
// server says it did not run goes to the right one while its time lasts.
//
// A connection on which an answer is late is thrown away; everything under way on it fails. Then,
// and while no server can be reached, commands fail at once, so that nobody waits twice.
#ifndef WRIST_GATEWAY_LIB_REDIS_REDIS_H
#define WRIST_GATEWAY_LIB_REDIS_REDIS_H

#include <stdint.h>

#include "gateway/lib/redis/reply.h"

struct loop;
struct redis;
struct tls_context;

enum redis_mode { REDIS_SINGLE, REDIS_SENTINEL, REDIS_CLUSTER };

enum { REDIS_HOST_SIZE = 256 };

struct redis_place {
    char host[REDIS_HOST_SIZE]; // a name, an IP literal, or "unix:/path"
    uint16_t port;
};

struct redis_options { // everything borrowed while the client lives
    enum redis_mode mode;
    const struct redis_place *places; // the server, the Sentinels, some of the Cluster's nodes
    size_t place_count;
    const char *master;                            // what the Sentinels call it
    const char *user, *password;                   // NULL: none
    const char *password_file;                     // NULL: none; read at each connecting
    const char *sentinel_user, *sentinel_password; // NULL: none
    int database;
    const struct tls_context *tls; // NULL: none; also towards Sentinels
    int64_t connect_ms, command_ms;
    size_t queue;            // commands under way; past it UNAVAILABLE
    size_t reply_bytes;      // of one answer
    const char *resolv_conf; // NULL: the system's
    void (*up)(void *owner); // connected, anew: nothing was asked on this connection yet
    void (*down)(void *owner, const struct failure *why);
    void *owner;
};

// `reply` is NULL with a failure, and valid only during the call. Errors of the server are
// UNAVAILABLE with its words where trying later may help, else replies.
typedef void redis_done(void *owner, const struct redis_reply *reply, const struct failure *why);

struct redis *redis_open(struct loop *loop, const struct redis_options *options);
void redis_close(struct redis *r); // commands under way are dropped without a word
bool redis_is_up(const struct redis *r);

// `sizes` may be NULL for NUL-ended words. Binary-safe.
void redis_ask(struct redis *r, int argc, const char *const *argv, const size_t *sizes,
               redis_done *done, void *owner);

// A Lua script, loaded at each connecting once redis_load was called, and sent whole where the
// server lost it.
struct redis_script {
    const char *name, *text;
    char sha[41]; // by redis_load
};
void redis_load(struct redis *r, struct redis_script *script);
// argv: `keys` keys, then arguments.
void redis_run(struct redis *r, const struct redis_script *script, int keys, int argc,
               const char *const *argv, redis_done *done, void *owner);

// "redis://user:password@host:port/db", "rediss://…" (TLS), "unix:///path?db=1".
struct redis_url {
    struct redis_place place;
    bool tls;
    char user[128], password[256];
    int database;
};
int redis_url_parse(struct span text, struct redis_url *out, struct failure *why);
// "host:port", "[::1]:port", "host" (then `port` stands), "unix:/path".
int redis_place_parse(struct span text, uint16_t port, struct redis_place *out,
                      struct failure *why);

#endif
