// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
//
// The steps of the Redis store, each atomic. KEYS[1] is the common start of all keys, with their
// hash tag; ARGV[1] is the time in milliseconds, "" for the server's own. Keys: README.md.
#ifndef WRIST_GATEWAY_STORE_REDIS_SCRIPTS_H
#define WRIST_GATEWAY_STORE_REDIS_SCRIPTS_H

#include "gateway/lib/redis/redis.h"

#define STORE_SCRIPT_TABLE(X)                                                                      \
    X(HELLO, hello)                                                                                \
    X(SANDBOX_PUT, sandbox_put)                                                                    \
    X(SANDBOX_DELETE, sandbox_delete)                                                              \
    X(SANDBOX_LIST, sandbox_list)                                                                  \
    X(BINDING_PUT, binding_put)                                                                    \
    X(BINDING_CLAIM, binding_claim)                                                                \
    X(BINDING_GET, binding_get)                                                                    \
    X(WARM_PUT, warm_put)                                                                          \
    X(WARM_REMOVE, warm_remove)                                                                    \
    X(CLAIM, claim)                                                                                \
    X(UNCLAIM, unclaim)                                                                            \
    X(QUOTA_ADD, quota_add)                                                                        \
    X(DEADLINE_SET, deadline_set)                                                                  \
    X(DEADLINE_TAKE, deadline_take)                                                                \
    X(LEASE_TAKE, lease_take)                                                                      \
    X(LEASE_RELEASE, lease_release)

enum store_script {
#define X(name, text) SCRIPT_##name,
    STORE_SCRIPT_TABLE(X)
#undef X
        SCRIPT_COUNT
};

// Name and text of each, not yet known to a server.
void store_scripts_init(struct redis_script scripts[SCRIPT_COUNT]);

#endif
