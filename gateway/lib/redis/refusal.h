// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
//
// An error that says that the command did not run, and what is to be done about it.
#ifndef WRIST_GATEWAY_LIB_REDIS_REFUSAL_H
#define WRIST_GATEWAY_LIB_REDIS_REFUSAL_H

#include "gateway/lib/redis/redis.h"

enum refusal_kind {
    REFUSAL_NONE,        // it ran, or asking again changes nothing
    REFUSAL_NO_SCRIPT,   // it wants the whole script
    REFUSAL_MOVED,       // another node has the slot, from now on
    REFUSAL_ASK,         // another node has the key, this once
    REFUSAL_NOT_MASTER,  // the connection leads to a server that does not write
    REFUSAL_LATER,       // the same server, in a moment
    REFUSAL_UNAVAILABLE, // no memory, no disk, not allowed
};

struct refusal {
    enum refusal_kind kind;
    struct redis_place place; // of MOVED and ASK
};

// `from`: who said it; an empty host in what it said means its own.
void refusal_read(const struct redis_reply *reply, const struct redis_place *from,
                  struct refusal *out);

#endif
