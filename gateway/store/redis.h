// SPDX-License-Identifier: Apache-2.0
//
// The store that replicas share, in Redis. It opens whether or not Redis can be reached: what is
// asked meanwhile is UNAVAILABLE.
#ifndef WRIST_GATEWAY_STORE_REDIS_H
#define WRIST_GATEWAY_STORE_REDIS_H

#include "gateway/lib/redis/redis.h"
#include "gateway/store/store.h"

struct store_redis_options {
    struct redis_options redis; // but `up`, `down` and `owner`, which are the store's
    const char *fleet;          // in every key: fleets do not see each other
    bool own_clock;             // the loop's time instead of the server's; for tests
};

struct store *store_redis_open(struct loop *loop, const struct store_redis_options *options);
// Turns the loop until the server was met, or `most_ms` are over. INVALID where it would evict
// keys, UNAVAILABLE where it could not be met: it is tried on and on.
int store_redis_meet(struct store *s, int64_t most_ms, struct failure *why);

#endif
