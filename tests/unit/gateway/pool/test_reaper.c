// SPDX-License-Identifier: Apache-2.0
// When sandboxes end by time.
#include "tests/unit/gateway/pool/world.h"

static void an_idle_sandbox_goes_when_its_worker_says_that_it_is_idle(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    world_pass(w, w->profiles[0].idle_ms - 500);
    assert_non_null(box_find(w, a.sandbox));
    world_pass(w, 1000);
    assert_null(box_find(w, a.sandbox));
    assert_int_equal(call(w, &s).fault, FAULT_LOST);
    assert_int_equal(call(w, &s).fault, 0);
}

static void use_puts_the_idle_end_off(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    for (int i = 0; i < 4; i++) {
        world_pass(w, w->profiles[0].idle_ms / 2);
        assert_string_equal(call(w, &s).sandbox, a.sandbox);
    }
    world_pass(w, w->profiles[0].idle_ms + 500);
    assert_null(box_find(w, a.sandbox));
}

static void a_busy_sandbox_stays_however_long_no_request_came(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    struct box *box = box_find(w, a.sandbox);
    box->calls = 1;
    world_pass(w, 3 * w->profiles[0].idle_ms);
    assert_non_null(box_find(w, a.sandbox));
    box->calls = 0;
    box->used_ms = loop_now_ms(w->loop);
    world_pass(w, w->profiles[0].idle_ms - 16 * 1000);
    assert_non_null(box_find(w, a.sandbox));
    world_pass(w, 17 * 1000);
    assert_null(box_find(w, a.sandbox));
}

static void a_request_under_way_keeps_its_sandbox(void **state)
{
    struct world *w = *state;
    struct ask a;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    world_turn(w);
    world_pass(w, 2 * w->profiles[0].idle_ms);
    assert_non_null(box_find(w, a.sandbox));
    lease_release(a.lease);
}

// PI-187
static void at_its_absolute_end_a_sandbox_is_over_and_not_before(void **state)
{
    struct world *w = *state;
    struct sandbox_view view;
    struct ask made = {0};
    world_open(w);
    binder_create_sandbox(w->binder, w->alice, &w->profiles[0], 0, 10000, SPAN_NONE, heard_made,
                          &made);
    world_turn(w);
    struct span id = span_from_string(made.sandbox);
    clock_fake_advance_ms(&w->clock, 9999);
    assert_true(binder_show_sandbox(w->binder, w->alice, id, &view));
    clock_fake_advance_ms(&w->clock, 1);
    assert_false(binder_show_sandbox(w->binder, w->alice, id, &view));
    world_turn(w);
    assert_null(box_find(w, made.sandbox));
}

static void a_session_is_over_at_its_absolute_end_and_not_before(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    call(w, &s);
    for (int64_t ms = 0; ms < w->profiles[0].absolute_ms - 30000; ms += 30000) {
        world_pass(w, 30000);
        assert_int_equal(call(w, &s).fault, 0);
    }
    world_pass(w, 29999);
    assert_int_equal(check(w, &s), 0);
    clock_fake_advance_ms(&w->clock, 1);
    assert_int_equal(call(w, &s).fault, FAULT_NOT_FOUND);
    assert_int_equal(check(w, &s), FAULT_NOT_FOUND);
}

// PI-196
static void lives_count_from_the_claim_and_not_from_the_start(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 1;
    world_open(w);
    struct box *box = any_box(w);
    world_pass(w, w->profiles[0].absolute_ms + 1000); // warm for longer than either life
    assert_non_null(box_find(w, box->record.id));
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    world_pass(w, w->profiles[0].idle_ms - 500);
    assert_non_null(box_find(w, a.sandbox));
    assert_string_equal(call(w, &s).sandbox, a.sandbox);
    assert_int_equal(box_find(w, a.sandbox)->absolute_at - loop_now_ms(w->loop),
                     w->profiles[0].absolute_ms - w->profiles[0].idle_ms + 500);
}

static void an_idle_sandbox_whose_worker_is_silent_is_lost_not_kept(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    box_find(w, a.sandbox)->silent = true;
    world_pass(w, w->profiles[0].idle_ms + 60 * 1000);
    assert_null(box_find(w, a.sandbox));
}

static void nobody_is_called_on_less_often_than_an_orphan_ends_itself(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 1;
    world_open(w);
    world_pass(w, w->profiles[0].idle_ms + 1000); // the other profile's has gone
    int before = w->statuses;
    world_pass(w, 10 * 60 * 1000);
    assert_in_range(w->statuses - before, 9, 11);
}

static void a_worker_that_ends_itself_at_its_absolute_end_was_not_lost(void **state)
{
    struct world *w = *state;
    w->profiles[1].idle_ms = w->profiles[1].absolute_ms;
    world_open(w);
    struct session before = session_new(w, w->alice, 1);
    call(w, &before);
    world_pass(w, w->profiles[1].absolute_ms - 1000);
    struct session late = session_new(w, w->alice, 1);
    call(w, &late);
    clock_fake_advance_ms(&w->clock, 1000);
    box_dies(w, bound_box(w, 0));
    assert_int_equal(call(w, &late).fault, FAULT_NOT_FOUND);
    world_pass(w, 100);
    struct session after = session_new(w, w->alice, 1);
    assert_int_equal(call(w, &after).fault, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(an_idle_sandbox_goes_when_its_worker_says_that_it_is_idle),
        IN_WORLD(use_puts_the_idle_end_off),
        IN_WORLD(a_busy_sandbox_stays_however_long_no_request_came),
        IN_WORLD(a_request_under_way_keeps_its_sandbox),
        IN_WORLD(at_its_absolute_end_a_sandbox_is_over_and_not_before),
        IN_WORLD(a_session_is_over_at_its_absolute_end_and_not_before),
        IN_WORLD(lives_count_from_the_claim_and_not_from_the_start),
        IN_WORLD(an_idle_sandbox_whose_worker_is_silent_is_lost_not_kept),
        IN_WORLD(a_worker_that_ends_itself_at_its_absolute_end_was_not_lost),
        IN_WORLD(nobody_is_called_on_less_often_than_an_orphan_ends_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
