// SPDX-License-Identifier: Apache-2.0
#include "workers/init/life.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"

struct life {
    struct loop *loop; // borrowed
    struct timer timer;
    int64_t alone_ms; // how long without a gateway; 0: for ever
    int64_t seen_ms, used_ms;
    int64_t deadline_ms; // absolute; 0: none
    int64_t calls;
    void (*over)(void *owner, const char *reason);
    void *owner; // borrowed
};

static int64_t now(const struct life *l)
{
    return clock_monotonic_ms(loop_clock(l->loop));
}

// When the next limit can be reached at the earliest; -1: none.
static int64_t next_ms(const struct life *l)
{
    int64_t alone = l->alone_ms > 0 && l->calls == 0 ? l->seen_ms + l->alone_ms : -1;
    if (l->deadline_ms == 0 || (alone >= 0 && alone < l->deadline_ms))
        return alone;
    return l->deadline_ms;
}

static void rearm(struct life *l)
{
    int64_t next = next_ms(l);
    if (next < 0)
        timer_cancel(&l->timer);
    else
        timer_start(&l->timer, next - now(l));
}

static void on_timer(struct timer *timer)
{
    struct life *l = CONTAINER_OF(timer, struct life, timer);
    int64_t next = next_ms(l);
    if (next < 0 || next > now(l)) {
        rearm(l);
        return;
    }
    l->over(l->owner, next == l->deadline_ms ? "absolute life over" : "no gateway came");
}

struct life *life_new(struct loop *loop, int64_t orphan_ms,
                      void (*over)(void *owner, const char *reason), void *owner)
{
    struct life *l = memory_new(sizeof *l);
    *l = (struct life){.loop = loop, .alone_ms = orphan_ms, .over = over, .owner = owner};
    timer_init(&l->timer, loop, on_timer);
    l->seen_ms = l->used_ms = now(l);
    rearm(l);
    return l;
}

void life_free(struct life *l)
{
    if (l == NULL)
        return;
    timer_cancel(&l->timer);
    free(l);
}

// The timer is not moved on every request: when it fires it looks again.
void life_seen(struct life *l)
{
    l->seen_ms = now(l);
}

void life_used(struct life *l)
{
    l->seen_ms = l->used_ms = now(l);
}

void life_bind(struct life *l, int64_t idle_ms, int64_t absolute_ms)
{
    if (idle_ms > 0)
        l->alone_ms = idle_ms;
    if (absolute_ms > 0 && now(l) + absolute_ms > l->deadline_ms)
        l->deadline_ms = now(l) + absolute_ms;
    rearm(l);
}

void life_calls(struct life *l, int change)
{
    l->calls += change;
    life_used(l);
    rearm(l);
}

int64_t life_idle_ms(const struct life *l)
{
    return l->calls > 0 ? 0 : now(l) - l->used_ms;
}

int64_t life_absolute_left_ms(const struct life *l)
{
    if (l->deadline_ms == 0)
        return -1;
    int64_t left = l->deadline_ms - now(l);
    return left > 0 ? left : 0;
}

int64_t life_calls_running(const struct life *l)
{
    return l->calls;
}
