// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/loop/timer.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/turn.h"

static void place(struct timer_heap *heap, size_t index, struct timer *t)
{
    heap->at[index] = t;
    t->place = index + 1;
}

static void sift_up(struct timer_heap *heap, size_t index)
{
    struct timer *t = heap->at[index];
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (heap->at[parent]->due_us <= t->due_us)
            break;
        place(heap, index, heap->at[parent]);
        index = parent;
    }
    place(heap, index, t);
}

static void sift_down(struct timer_heap *heap, size_t index)
{
    struct timer *t = heap->at[index];
    for (;;) {
        size_t child = index * 2 + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->at[child + 1]->due_us < heap->at[child]->due_us)
            child++;
        if (t->due_us <= heap->at[child]->due_us)
            break;
        place(heap, index, heap->at[child]);
        index = child;
    }
    place(heap, index, t);
}

static void heap_remove(struct timer_heap *heap, struct timer *t)
{
    size_t index = t->place - 1;
    struct timer *last = heap->at[--heap->count];
    t->place = 0;
    if (last == t)
        return;
    place(heap, index, last);
    sift_up(heap, index);
    sift_down(heap, last->place - 1);
}

void timer_init(struct timer *t, struct loop *loop, void (*fire)(struct timer *timer))
{
    *t = (struct timer){.loop = loop, .fire = fire};
}

void timer_start(struct timer *t, int64_t delay_ms)
{
    struct timer_heap *heap = loop_timers(t->loop);
    timer_cancel(t);
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity > 0 ? heap->capacity * 2 : 64;
        heap->at = memory_resize(heap->at, heap->capacity, sizeof(struct timer *));
    }
    t->due_us = loop_now_us(t->loop) + (delay_ms > 0 ? delay_ms * 1000 : 0);
    heap->at[heap->count++] = t;
    sift_up(heap, heap->count - 1);
}

void timer_cancel(struct timer *t)
{
    if (t->place != 0)
        heap_remove(loop_timers(t->loop), t);
}

void timer_heap_fini(struct timer_heap *heap)
{
    for (size_t i = 0; i < heap->count; i++)
        heap->at[i]->place = 0;
    free(heap->at);
    *heap = (struct timer_heap){0};
}

int64_t timer_heap_next_us(const struct timer_heap *heap)
{
    return heap->count > 0 ? heap->at[0]->due_us : -1;
}

void timer_heap_fire(struct timer_heap *heap, int64_t now_us)
{
    // A timer that a callback starts anew for "now" waits for the next turn: fds come first.
    size_t budget = heap->count;
    while (budget-- > 0 && heap->count > 0 && heap->at[0]->due_us <= now_us) {
        struct timer *t = heap->at[0];
        heap_remove(heap, t);
        t->fire(t);
    }
}
