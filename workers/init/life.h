// SPDX-License-Identifier: Apache-2.0
//
// How long the sandbox lives on its own: until its absolute deadline, and until no gateway has come
// for too long. The gateway normally ends it before; this is for when no gateway is left.
#ifndef WRIST_WORKERS_INIT_LIFE_H
#define WRIST_WORKERS_INIT_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct life;

// `over` comes once, from the loop. orphan_ms 0: never for want of a gateway.
struct life *life_new(struct loop *loop, int64_t orphan_ms,
                      void (*over)(void *owner, const char *reason), void *owner);
void life_free(struct life *l);

void life_seen(struct life *l); // a gateway came
void life_used(struct life *l); // a call, or traffic that counts as use; also seen
// What a bind says: idle_ms, then absolute_ms from now; 0 leaves each as it is. An absolute
// deadline never moves closer.
void life_bind(struct life *l, int64_t idle_ms, int64_t absolute_ms);
// While calls run, the sandbox is used and is not given up for want of a gateway.
void life_calls(struct life *l, int change);

int64_t life_idle_ms(const struct life *l);          // since the last use; 0 while a call runs
int64_t life_absolute_left_ms(const struct life *l); // -1: no deadline yet
int64_t life_calls_running(const struct life *l);

#endif
