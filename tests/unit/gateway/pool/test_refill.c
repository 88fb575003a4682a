// SPDX-License-Identifier: Apache-2.0
// How fast a pool is filled.
#include "tests/unit/gateway/pool/world.h"

static int warm_count(struct world *w)
{
    int count = 0;
    for (int i = 0; i < BOXES; i++)
        count += w->boxes[i].exists && w->boxes[i].principal[0] == '\0' &&
                 strcmp(w->boxes[i].record.profile, "main") == 0;
    return count;
}

static void up_to_the_minimum_at_once_and_beyond_it_at_the_refill_rate(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 20;
    w->profiles[0].warm_minimum = 8;
    w->profiles[0].refill_rate = 60;
    w->profiles[0].parallel_starts = 2;
    world_open(w);
    world_pass(w, 500);
    assert_in_range(warm_count(w), 10, 11); // the minimum, and a burst of two
    world_pass(w, 5000);
    assert_in_range(warm_count(w), 15, 16);
    world_pass(w, 10000);
    assert_int_equal(warm_count(w), 20);
}

static void what_is_waited_for_does_not_wait_for_the_refill_rate(void **state)
{
    struct world *w = *state;
    struct session s[12];
    w->profiles[0].warm = 1;
    w->profiles[0].refill_rate = 1;
    world_open(w);
    for (int i = 0; i < 12; i++) {
        s[i] = session_new(w, i % 2 == 0 ? w->alice : w->bob, 0);
        assert_int_equal(call(w, &s[i]).fault, 0);
    }
}

// PI-212
static void an_id_whose_start_failed_is_its_next_incarnation(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 2;
    w->profiles[0].parallel_starts = 2;
    failure_set(&w->create_fails, FAULT_IO, "a hiccup");
    world_open(w);
    world_pass(w, 300);
    w->create_fails.fault = 0;
    world_pass(w, 31000);
    int second = 0, count = 0;
    for (int i = 0; i < BOXES; i++) {
        const struct box *box = &w->boxes[i];
        if (!box->exists || strcmp(box->record.profile, "main") != 0)
            continue;
        count++;
        second += box->record.generation >= 2;
    }
    assert_int_equal(count, 2);
    assert_int_equal(second, 2);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    assert_int_equal(a.fault, 0);
    assert_true(box_find(w, a.sandbox)->record.generation >= 2);
}

static void failed_starts_are_told_by_a_metric_until_one_works(void **state)
{
    struct world *w = *state;
    struct metric *failing =
        metric_gauge(w->metrics, "wrist_pool_start_failures", "profile=\"main\"",
                     "Starts that failed in a row; 0 while they work");
    failure_set(&w->create_fails, FAULT_IO, "no space left");
    w->profiles[0].warm = 1;
    world_open(w);
    world_pass(w, 5000);
    assert_true(metric_value(failing) >= 3);
    w->create_fails.fault = 0;
    world_pass(w, 31000);
    assert_int_equal(metric_value(failing), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(up_to_the_minimum_at_once_and_beyond_it_at_the_refill_rate),
        IN_WORLD(what_is_waited_for_does_not_wait_for_the_refill_rate),
        IN_WORLD(an_id_whose_start_failed_is_its_next_incarnation),
        IN_WORLD(failed_starts_are_told_by_a_metric_until_one_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
