// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
//
// A command from the question to its answer. It keeps its bytes until it is answered: a server that
// says that it did not run it (MOVED, READONLY, NOSCRIPT, …) gets others, or another server them.
#ifndef WRIST_GATEWAY_LIB_REDIS_COMMAND_H
#define WRIST_GATEWAY_LIB_REDIS_COMMAND_H

#include "gateway/lib/base/list.h"
#include "gateway/lib/redis/redis.h"

struct redis_command {
    struct list node;
    redis_done *done; // NULL: nobody listens
    void *owner;
    char *text; // owned; as it is sent
    size_t size;
    const struct redis_script *script; // borrowed; of an EVALSHA
    int64_t due_ms;                    // loop time
    int tries;                         // servers that did not run it
    struct failure why;                // of one that is refused
};

struct redis_command *command_new(int argc, const char *const *argv, const size_t *sizes,
                                  redis_done *done, void *owner);
void command_free(struct redis_command *c);
// Hands the answer over and frees it.
void command_answer(struct redis_command *c, const struct redis_reply *reply,
                    const struct failure *why);
int command_send_whole_script(struct redis_command *c); // from EVALSHA to EVAL

#endif
