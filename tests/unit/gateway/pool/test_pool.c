// SPDX-License-Identifier: Apache-2.0
// How many sandboxes there are, and what is said when there can be no more.
#include "tests/unit/gateway/pool/world.h"

static int bound_count(struct world *w)
{
    int count = 0;
    while (bound_box(w, count) != NULL)
        count++;
    return count;
}

static void a_pool_keeps_its_warm_count_and_starts_no_more_at_once_than_it_may(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = w->profiles[0].warm_minimum = 9;
    w->profiles[0].parallel_starts = 3;
    w->profiles[1].parallel_starts = 1;
    w->holds_creates = true;
    world_open(w);
    for (int i = 0; i < 10; i++)
        world_let_go(w);
    assert_int_equal(w->most_creating, 4); // three and one
    assert_int_equal(box_count(w), 10);
}

static void past_the_maximum_the_answer_says_which_limit(void **state)
{
    struct world *w = *state;
    struct ask a;
    w->profiles[0].maximum = 2;
    world_open(w);
    struct session s[3];
    for (int i = 0; i < 3; i++)
        s[i] = session_new(w, i == 1 ? w->bob : w->alice, 0);
    assert_int_equal(call(w, &s[0]).fault, 0);
    assert_int_equal(call(w, &s[1]).fault, 0);
    a = call(w, &s[2]);
    assert_int_equal(a.fault, FAULT_QUOTA);
    assert_non_null(strstr(a.text, "maximum of 2"));
    assert_true(a.retry_ms > 0);
    assert_int_equal(box_count(w), 3); // and the other profile's
    end_session(w, &s[0]);
    assert_int_equal(call(w, &s[2]).fault, 0);
}

static void at_its_limit_a_principals_longest_idle_sandbox_goes_first(void **state)
{
    struct world *w = *state;
    struct ask a[3];
    w->profiles[0].per_principal = 2;
    world_open(w);
    struct session s[3];
    for (int i = 0; i < 3; i++)
        s[i] = session_new(w, w->alice, 0);
    a[0] = call(w, &s[0]);
    world_pass(w, 100);
    a[1] = call(w, &s[1]);
    world_pass(w, 100);
    begin(w, &s[2], &a[2]);
    world_pass(w, 1000);
    assert_int_equal(a[2].fault, 0);
    lease_release(a[2].lease);
    assert_null(box_find(w, a[0].sandbox));
    assert_non_null(box_find(w, a[1].sandbox));
    assert_int_equal(bound_count(w), 2);
    a[0] = call(w, &s[0]);
    assert_int_equal(a[0].fault, FAULT_LOST); // told, as of any other loss
}

static void what_is_busy_stays_and_the_limit_is_told(void **state)
{
    struct world *w = *state;
    struct ask held, a;
    w->profiles[0].per_principal = 2;
    world_open(w);
    struct session in_use = session_new(w, w->alice, 0), background = session_new(w, w->alice, 0);
    struct session third = session_new(w, w->alice, 0), bobs = session_new(w, w->bob, 0);
    begin(w, &in_use, &held);
    world_turn(w);
    a = call(w, &background);
    box_find(w, a.sandbox)->calls = 1; // a shell that only the worker knows of
    begin(w, &third, &a);
    world_pass(w, 200);
    assert_int_equal(a.fault, FAULT_QUOTA);
    assert_non_null(strstr(a.text, "2 sandboxes"));
    assert_true(a.retry_ms > 0);
    assert_int_equal(call(w, &bobs).fault, 0);
    assert_int_equal(call(w, &background).fault, 0);
    lease_release(held.lease);
}

static void the_limit_holds_for_many_sessions_at_once(void **state)
{
    struct world *w = *state;
    struct ask a[12];
    struct session s[12];
    int served = 0, refused = 0;
    w->profiles[0].per_principal = 3;
    w->profiles[0].warm = 6;
    world_open(w);
    world_pass(w, 1000);
    for (int i = 0; i < 12; i++) {
        s[i] = session_new(w, w->alice, 0);
        begin(w, &s[i], &a[i]);
    }
    world_pass(w, 2000);
    for (int i = 0; i < 12; i++) {
        served += a[i].lease != NULL;
        refused += a[i].fault == FAULT_QUOTA;
    }
    assert_int_equal(served, 3);
    assert_int_equal(refused, 9);
    assert_int_equal(bound_count(w), 3);
    for (int i = 0; i < 12; i++)
        if (a[i].lease != NULL)
            lease_release(a[i].lease);
}

// PI-191
static void a_start_that_fails_is_told_in_seconds_with_its_reason(void **state)
{
    struct world *w = *state;
    struct ask a;
    failure_set(&w->create_fails, FAULT_INTERNAL, "image sha256:12 is not here");
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    world_pass(w, 2000);
    assert_int_equal(a.fault, FAULT_UNAVAILABLE);
    assert_non_null(strstr(a.text, "image sha256:12 is not here"));
    assert_true(a.retry_ms > 0);
    struct failure why;
    assert_null(binder_card(w->binder, &w->profiles[0], &why));
    assert_non_null(strstr(why.text, "image sha256:12"));
    assert_int_not_equal(binder_check_ready(w->binder, &why), 0);
    int tried = w->created;
    world_pass(w, 10000);
    assert_in_range(w->created - tried, 1, 12); // backs off, and tries again
    w->create_fails.fault = 0;
    world_pass(w, 31000);
    assert_int_equal(call(w, &s).fault, 0);
    assert_int_equal(binder_check_ready(w->binder, &why), 0);
}

// PI-192
static void a_quota_of_the_driver_is_told_as_one(void **state)
{
    struct world *w = *state;
    struct ask a;
    failure_set(&w->create_fails, FAULT_QUOTA, "no disk left for sandboxes");
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    world_pass(w, 2000);
    assert_int_equal(a.fault, FAULT_QUOTA);
    assert_non_null(strstr(a.text, "no disk left"));
}

static void one_failed_start_is_made_up_for_silently(void **state)
{
    struct world *w = *state;
    struct ask a;
    world_open(w);
    struct session s = session_new(w, w->alice, 0), warm_eater = session_new(w, w->bob, 0);
    call(w, &warm_eater);
    failure_set(&w->create_fails, FAULT_IO, "a hiccup");
    begin(w, &s, &a);
    world_turn(w);
    assert_int_equal(a.count, 0);
    w->create_fails.fault = 0;
    world_pass(w, 1000);
    assert_int_equal(a.fault, 0);
    assert_int_equal(a.count, 1);
    lease_release(a.lease);
}

static void a_start_that_takes_too_long_is_a_timeout_and_leaves_nothing(void **state)
{
    struct world *w = *state;
    struct ask a;
    w->holds_creates = true;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    world_turn(w);
    w->clock.now_us += (w->profiles[0].start_timeout_ms - 1) * 1000;
    loop_turn(w->loop, false);
    task_cancel(&w->deliver);
    assert_int_equal(a.count, 0);
    w->clock.now_us += 1000;
    loop_turn(w->loop, false);
    assert_int_equal(a.fault, FAULT_TIMEOUT);
    w->holds_creates = false;
    world_let_go(w);
    assert_int_equal(bound_count(w), 0);
}

// PI-200
static void what_was_started_is_removed_where_its_worker_does_not_answer(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 1;
    w->holds_creates = true;
    world_open(w);
    struct box *box = any_box(w);
    char id[ID_SIZE];
    memcpy(id, box->record.id, sizeof id);
    box->says_another = true;
    w->holds_creates = false;
    world_let_go(w);
    world_pass(w, 2000);
    box = box_find(w, id);
    assert_true(box == NULL || box->record.generation > 1);
    assert_true(w->removed >= 1);
}

static void a_removal_that_fails_is_tried_until_it_works(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    failure_set(&w->remove_fails, FAULT_IO, "device or resource busy");
    assert_int_equal(end_session(w, &s), 0);
    world_pass(w, 3000);
    assert_non_null(box_find(w, a.sandbox));
    assert_int_equal(call(w, &s).fault, FAULT_NOT_FOUND);
    w->remove_fails.fault = 0;
    world_pass(w, 10000);
    assert_null(box_find(w, a.sandbox));
}

static void a_card_is_asked_once_and_read_from_disk_after_a_restart(void **state)
{
    struct world *w = *state;
    struct failure why;
    world_open(w);
    const struct card *card = binder_card(w->binder, &w->profiles[0], &why);
    assert_non_null(card);
    assert_true(span_is(card_member(card, "tools"), "[]"));
    assert_true(span_is_absent(card_member(card, "prompts")));
    assert_int_equal(w->cards_asked, 2); // both profiles asked before either answered
    w->create_fails = (struct failure){.fault = FAULT_UNAVAILABLE, .text = "never"};
    while (any_box(w) != NULL)
        any_box(w)->exists = false;
    world_restart(w);
    assert_non_null(binder_card(w->binder, &w->profiles[0], &why));
    assert_int_equal(w->cards_asked, 2);
    assert_int_equal(binder_check_ready(w->binder, &why), 0);
}

static void a_sandbox_started_only_for_its_card_goes_after_its_idle_life(void **state)
{
    struct world *w = *state;
    world_open(w);
    assert_int_equal(box_count(w), 2); // one a profile
    world_pass(w, w->profiles[0].idle_ms - 1000);
    assert_int_equal(box_count(w), 2);
    world_pass(w, 2000);
    assert_int_equal(box_count(w), 0);
    int created = w->created;
    world_pass(w, 5000);
    assert_int_equal(w->created, created);
}

static void more_than_the_pool_keeps_goes_after_a_minute(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 5;
    w->profiles[0].parallel_starts = 5;
    w->profiles[0].idle_ms = w->profiles[1].idle_ms = 600 * 1000;
    world_open(w);
    world_pass(w, 1000);
    assert_int_equal(box_count(w), 5 + 1);
    w->profiles[0].warm = 2;
    world_pass(w, 50 * 1000);
    assert_int_equal(box_count(w), 5 + 1);
    world_pass(w, 15 * 1000);
    assert_int_equal(box_count(w), 2 + 1);
    int created = w->created;
    world_pass(w, 70 * 1000);
    assert_int_equal(w->created, created);
    assert_int_equal(box_count(w), 2 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_pool_keeps_its_warm_count_and_starts_no_more_at_once_than_it_may),
        IN_WORLD(past_the_maximum_the_answer_says_which_limit),
        IN_WORLD(at_its_limit_a_principals_longest_idle_sandbox_goes_first),
        IN_WORLD(what_is_busy_stays_and_the_limit_is_told),
        IN_WORLD(the_limit_holds_for_many_sessions_at_once),
        IN_WORLD(a_start_that_fails_is_told_in_seconds_with_its_reason),
        IN_WORLD(a_quota_of_the_driver_is_told_as_one),
        IN_WORLD(one_failed_start_is_made_up_for_silently),
        IN_WORLD(a_start_that_takes_too_long_is_a_timeout_and_leaves_nothing),
        IN_WORLD(what_was_started_is_removed_where_its_worker_does_not_answer),
        IN_WORLD(a_removal_that_fails_is_tried_until_it_works),
        IN_WORLD(a_card_is_asked_once_and_read_from_disk_after_a_restart),
        IN_WORLD(more_than_the_pool_keeps_goes_after_a_minute),
        IN_WORLD(a_sandbox_started_only_for_its_card_goes_after_its_idle_life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
