// SPDX-License-Identifier: Apache-2.0
//
// One-shot timers, embedded in their owner, kept in one heap of the loop. Starting a running timer
// moves it. The callback comes from the loop; the timer is then no longer pending.
#ifndef WRIST_GATEWAY_LIB_LOOP_TIMER_H
#define WRIST_GATEWAY_LIB_LOOP_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;

struct timer {
    struct loop *loop; // borrowed
    void (*fire)(struct timer *timer);
    int64_t due_us;
    size_t place; // in the heap, counted from 1; 0: not pending
};

void timer_init(struct timer *t, struct loop *loop, void (*fire)(struct timer *timer));
void timer_start(struct timer *t, int64_t delay_ms); // 0 or less: in the next turn
void timer_cancel(struct timer *t);                  // harmless where it is not pending
static inline bool timer_is_pending(const struct timer *t)
{
    return t->place != 0;
}

// For the loop only.
struct timer_heap {
    struct timer **at; // owned; the timers are borrowed
    size_t count, capacity;
};
void timer_heap_fini(struct timer_heap *heap);
int64_t timer_heap_next_us(const struct timer_heap *heap); // -1 where there is none
void timer_heap_fire(struct timer_heap *heap, int64_t now_us);

#endif
