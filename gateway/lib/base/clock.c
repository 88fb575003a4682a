// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/base/clock.h"

#include <stdio.h>
#include <time.h>

#include "gateway/lib/base/memory.h"

static int64_t read_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t system_monotonic_us(const struct clock *self)
{
    (void)self;
    return read_us(CLOCK_MONOTONIC);
}

static int64_t system_wall_ms(const struct clock *self)
{
    (void)self;
    return read_us(CLOCK_REALTIME) / 1000;
}

const struct clock *clock_system(void)
{
    static const struct clock system_clock = {system_monotonic_us, system_wall_ms};
    return &system_clock;
}

static int64_t fake_monotonic_us(const struct clock *self)
{
    return ((const struct clock_fake *)(const void *)self)->now_us;
}

static int64_t fake_wall_ms(const struct clock *self)
{
    const struct clock_fake *f = (const struct clock_fake *)(const void *)self;
    return f->now_us / 1000 + f->wall_offset_ms;
}

void clock_fake_init(struct clock_fake *f)
{
    *f = (struct clock_fake){
        .clock = {fake_monotonic_us, fake_wall_ms},
        .now_us = 1000000,
        .wall_offset_ms = 1700000000000,
    };
}

void clock_fake_advance_ms(struct clock_fake *f, int64_t ms)
{
    f->now_us += ms * 1000;
}

void clock_format_wall(int64_t wall_ms, char out[CLOCK_TEXT_SIZE])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm t;
    gmtime_r(&seconds, &t);
    size_t used = strftime(out, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(out + used, CLOCK_TEXT_SIZE - used, ".%03dZ", (int)(wall_ms % 1000));
}
