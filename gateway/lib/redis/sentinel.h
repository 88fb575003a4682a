// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
//
// Keeps a connection to one of the Sentinels and asks it each second who the master is; another, on
// which it tells when that changes, has it asked at once. When it does not answer, the next one is
// taken.
#ifndef WRIST_GATEWAY_LIB_REDIS_SENTINEL_H
#define WRIST_GATEWAY_LIB_REDIS_SENTINEL_H

#include "gateway/lib/redis/redis.h"

struct sentinel;

struct sentinel_ops {
    void (*found)(void *owner, const struct redis_place *master); // at each answer
    void (*lost)(void *owner, const struct failure *why);         // none of them knows
};

struct sentinel *sentinel_open(struct loop *loop, const struct redis_options *options,
                               const struct sentinel_ops *ops, void *owner);
void sentinel_close(struct sentinel *s);
void sentinel_ask(struct sentinel *s); // now, not in a second; `found` or `lost` comes

#endif
