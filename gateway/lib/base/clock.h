// SPDX-License-Identifier: Apache-2.0
//
// Time is passed in, so that no test sleeps. Deadlines and durations use the monotonic clock; wall
// time is for what people and other machines read, and may jump.
#ifndef WRIST_GATEWAY_LIB_BASE_CLOCK_H
#define WRIST_GATEWAY_LIB_BASE_CLOCK_H

#include <stdint.h>

struct clock {
    int64_t (*monotonic_us)(const struct clock *self);
    int64_t (*wall_ms)(const struct clock *self); // since 1970
};

const struct clock *clock_system(void);

// A clock that stands still until it is moved.
struct clock_fake {
    struct clock clock;
    int64_t now_us;
    int64_t wall_offset_ms;
};
void clock_fake_init(struct clock_fake *f);
void clock_fake_advance_ms(struct clock_fake *f, int64_t ms);

static inline int64_t clock_monotonic_us(const struct clock *c)
{
    return c->monotonic_us(c);
}
static inline int64_t clock_monotonic_ms(const struct clock *c)
{
    return c->monotonic_us(c) / 1000;
}
static inline int64_t clock_wall_ms(const struct clock *c)
{
    return c->wall_ms(c);
}

// "2026-11-30T23:10:05.123Z"
enum { CLOCK_TEXT_SIZE = 32 };
void clock_format_wall(int64_t wall_ms, char out[CLOCK_TEXT_SIZE]);

#endif
