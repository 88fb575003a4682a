// SPDX-License-Identifier: Apache-2.0
// PI-038, PI-230, PI-233: limits of principals and tenants, and what is said when one is reached.
#include "tests/unit/gateway/pool/world.h"

static struct principal *of_tenant(const char *subject, const char *tenant)
{
    return principal_new(&(struct principal_values){
        .issuer = "test", .subject = subject, .tenant = tenant, .provider = ""});
}

static void a_tenants_limit_counts_all_its_principals_and_nobody_elses(void **state)
{
    struct world *w = *state;
    struct principal *stranger = of_tenant("carol", "another");
    struct ask held, a;
    w->profiles[0].per_tenant = 2;
    world_open(w);
    struct session s[4] = {session_new(w, w->alice, 0), session_new(w, w->bob, 0),
                           session_new(w, w->bob, 0), session_new(w, stranger, 0)};
    begin(w, &s[0], &held);
    world_turn(w);
    assert_int_equal(call(w, &s[1]).fault, 0);
    bound_box(w, 0)->calls = bound_box(w, 1)->calls = 1; // busy: nothing can be evicted
    begin(w, &s[2], &a);
    world_pass(w, 300);
    assert_int_equal(a.fault, FAULT_QUOTA);
    assert_non_null(strstr(a.text, "your tenant has 2 sandboxes"));
    assert_true(a.retry_ms > 0);
    assert_int_equal(call(w, &s[3]).fault, 0);
    lease_release(held.lease);
    bound_box(w, 0)->calls = 0;
    assert_int_equal(end_session(w, &s[0]), 0);
    world_pass(w, 300);
    assert_int_equal(call(w, &s[2]).fault, 0);
    principal_drop(stranger);
}

static void a_tenant_at_its_limit_gets_room_from_the_askers_own_idle_sandbox_only(void **state)
{
    struct world *w = *state;
    struct ask a;
    w->profiles[0].per_tenant = 2;
    world_open(w);
    struct session alices = session_new(w, w->alice, 0), bobs = session_new(w, w->bob, 0);
    struct session again = session_new(w, w->bob, 0);
    struct ask kept = call(w, &alices);
    call(w, &bobs);
    begin(w, &again, &a);
    world_pass(w, 1000);
    assert_int_equal(a.fault, 0);
    lease_release(a.lease);
    assert_string_equal(call(w, &alices).sandbox, kept.sandbox);
    assert_int_equal(call(w, &bobs).fault, FAULT_LOST);
}

static void starts_a_minute_are_limited_and_the_answer_says_when_to_try_again(void **state)
{
    struct world *w = *state;
    struct session s[6];
    w->profiles[0].starts_per_minute = 3;
    world_open(w);
    for (int i = 0; i < 6; i++)
        s[i] = session_new(w, w->alice, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(call(w, &s[i]).fault, 0);
    struct ask a = call(w, &s[3]);
    assert_int_equal(a.fault, FAULT_QUOTA);
    assert_non_null(strstr(a.text, "you may start 3 sandboxes"));
    assert_in_range(a.retry_ms, 19000, 20001);
    assert_int_equal(call(w, &s[0]).fault, 0); // a bound one is no start
    struct session bobs = session_new(w, w->bob, 0);
    assert_int_equal(call(w, &bobs).fault, 0);
    world_pass(w, a.retry_ms);
    assert_int_equal(call(w, &s[3]).fault, 0);
    assert_int_equal(call(w, &s[4]).fault, FAULT_QUOTA);
}

// PI-230
static void what_one_limit_refuses_takes_nothing_from_the_other(void **state)
{
    struct world *w = *state;
    struct session s[9];
    w->profiles[0].starts_per_minute = 2;
    w->profiles[0].tenant_starts_per_minute = 5;
    world_open(w);
    for (int i = 0; i < 6; i++) {
        s[i] = session_new(w, w->alice, 0);
        assert_int_equal(call(w, &s[i]).fault, i < 2 ? 0 : FAULT_QUOTA);
    }
    for (int i = 6; i < 8; i++) {
        s[i] = session_new(w, w->bob, 0);
        assert_int_equal(call(w, &s[i]).fault, 0);
    }
    struct principal *third = of_tenant("third", "t");
    s[8] = session_new(w, third, 0);
    assert_int_equal(call(w, &s[8]).fault, 0);
    struct session last = session_new(w, third, 0);
    struct ask a = call(w, &last);
    assert_int_equal(a.fault, FAULT_QUOTA);
    assert_non_null(strstr(a.text, "your tenant may start 5"));
    principal_drop(third);
}

static void limits_hold_through_a_restart(void **state)
{
    struct world *w = *state;
    w->profiles[0].per_tenant = 1;
    world_open(w);
    struct session s = session_new(w, w->alice, 0), bobs = session_new(w, w->bob, 0);
    call(w, &s);
    world_restart(w);
    assert_int_equal(call(w, &bobs).fault, FAULT_QUOTA);
    // Also where the store knows nothing any more: the note beside the sandbox says whose it is.
    world_close(w);
    unlinkat(w->directory, "journal", 0);
    world_open(w);
    assert_int_equal(call(w, &bobs).fault, FAULT_QUOTA);
    assert_int_equal(call(w, &s).fault, 0);
}

// PI-165
static void one_whose_removal_is_stuck_counts_no_more_and_is_still_removed(void **state)
{
    struct world *w = *state;
    struct ask a;
    w->profiles[0].per_principal = 1;
    w->profiles[0].maximum = 1;
    world_open(w);
    struct session s = session_new(w, w->alice, 0), next = session_new(w, w->alice, 0);
    a = call(w, &s);
    failure_set(&w->remove_fails, FAULT_IO, "device or resource busy");
    assert_int_equal(end_session(w, &s), 0);
    struct box *stuck = box_find(w, a.sandbox);
    begin(w, &next, &a);
    world_pass(w, 10000);
    assert_int_equal(a.fault, 0);
    lease_release(a.lease);
    assert_true(stuck->exists);
    w->remove_fails.fault = 0;
    world_pass(w, 10000);
    assert_false(stuck->exists);
    assert_int_equal(call(w, &next).fault, 0);
    struct session third = session_new(w, w->bob, 0);
    assert_int_equal(call(w, &third).fault, FAULT_QUOTA); // what is gone gave back once
}

static void one_whose_removal_was_stuck_is_removed_after_a_restart(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    failure_set(&w->remove_fails, FAULT_IO, "device or resource busy");
    end_session(w, &s);
    world_pass(w, 20000);
    box_find(w, a.sandbox)->silent = true;
    w->remove_fails.fault = 0;
    world_restart(w);
    world_pass(w, 5000);
    assert_null(box_find(w, a.sandbox));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_tenants_limit_counts_all_its_principals_and_nobody_elses),
        IN_WORLD(a_tenant_at_its_limit_gets_room_from_the_askers_own_idle_sandbox_only),
        IN_WORLD(starts_a_minute_are_limited_and_the_answer_says_when_to_try_again),
        IN_WORLD(what_one_limit_refuses_takes_nothing_from_the_other),
        IN_WORLD(limits_hold_through_a_restart),
        IN_WORLD(one_whose_removal_is_stuck_counts_no_more_and_is_still_removed),
        IN_WORLD(one_whose_removal_was_stuck_is_removed_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
