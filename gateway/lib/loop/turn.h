// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
#ifndef WRIST_GATEWAY_LIB_LOOP_TURN_H
#define WRIST_GATEWAY_LIB_LOOP_TURN_H

struct event_base;
struct loop;
struct timer_heap;

struct timer_heap *loop_timers(struct loop *loop);
struct event_base *loop_base(struct loop *loop);

#endif
