// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/loop/timer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"
#include "gateway/lib/loop/loop.h"

struct recorder {
    struct timer timer;
    int fired;
    int64_t fired_at_ms;
};

static void record(struct timer *t)
{
    struct recorder *r = CONTAINER_OF(t, struct recorder, timer);
    r->fired++;
    r->fired_at_ms = loop_now_ms(t->loop);
}

static void timers_fire_once_and_in_order(void **state)
{
    (void)state;
    struct clock_fake clock;
    clock_fake_init(&clock);
    struct loop *loop = loop_new(&clock.clock);
    int64_t start = loop_now_ms(loop);
    struct recorder r[100] = {0};
    int64_t delay[100];
    for (int i = 0; i < 100; i++) {
        uint16_t random;
        random_bytes(&random, sizeof random);
        delay[i] = random % 500 + 1;
        timer_init(&r[i].timer, loop, record);
        timer_start(&r[i].timer, delay[i]);
    }
    for (int i = 0; i < 100; i += 3)
        timer_cancel(&r[i].timer);
    for (int ms = 0; ms < 600; ms++) {
        clock_fake_advance_ms(&clock, 1);
        loop_turn(loop, false);
    }
    for (int i = 0; i < 100; i++) {
        assert_int_equal(r[i].fired, i % 3 != 0);
        if (i % 3 != 0)
            assert_int_equal(r[i].fired_at_ms, start + delay[i]);
    }
    loop_free(loop);
}

static void a_timer_started_in_its_own_callback_waits_for_the_next_turn(void **state)
{
    (void)state;
    struct clock_fake clock;
    clock_fake_init(&clock);
    struct loop *loop = loop_new(&clock.clock);
    struct recorder r = {0};
    timer_init(&r.timer, loop, record);
    timer_start(&r.timer, 0);
    loop_turn(loop, false);
    assert_int_equal(r.fired, 1);
    timer_start(&r.timer, 5);
    timer_start(&r.timer, 50); // moved, not doubled
    clock_fake_advance_ms(&clock, 10);
    loop_turn(loop, false);
    assert_int_equal(r.fired, 1);
    clock_fake_advance_ms(&clock, 40);
    loop_turn(loop, false);
    assert_int_equal(r.fired, 2);
    assert_false(timer_is_pending(&r.timer));
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_once_and_in_order),
        cmocka_unit_test(a_timer_started_in_its_own_callback_waits_for_the_next_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
