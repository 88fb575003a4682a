// SPDX-License-Identifier: Apache-2.0
// Warm sandboxes that are too old, or of a profile that has changed, serve nobody.
#include "tests/unit/gateway/pool/world.h"

enum { AGE_MS = 30 * 60 * 1000 };

static void a_warm_sandbox_that_is_too_old_is_replaced_and_never_handed_out(void **state)
{
    struct world *w = *state;
    char old[ID_SIZE];
    w->profiles[0].warm = 1;
    w->profiles[0].warm_age_ms = AGE_MS;
    world_open(w);
    memcpy(old, any_box(w)->record.id, sizeof old);
    world_pass(w, AGE_MS / 8 * 7 - 1000);
    assert_non_null(box_find(w, old));
    clock_fake_advance_ms(&w->clock, AGE_MS / 8 + 1000); // nobody looked meanwhile
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    assert_int_equal(a.fault, 0);
    assert_string_not_equal(a.sandbox, old);
    world_turn(w);
    assert_null(box_find(w, old));
}

static void those_that_were_started_together_do_not_all_go_together(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 24;
    w->profiles[0].warm_age_ms = AGE_MS;
    world_open(w);
    world_pass(w, 3000);
    int left = 0, before = w->removed;
    world_pass(w, AGE_MS - AGE_MS / 16);
    for (int i = 0; i < BOXES; i++)
        left += w->boxes[i].exists &&
                w->boxes[i].record.created_ms < clock_wall_ms(&w->clock.clock) - AGE_MS / 2;
    assert_in_range(left, 1, 24);
    assert_true(w->removed > before);
    world_pass(w, AGE_MS / 8);
    assert_in_range(w->removed - before, 24, 27);
}

static void age_counts_through_a_restart_and_a_clock_that_was_set_back(void **state)
{
    struct world *w = *state;
    char old[ID_SIZE];
    w->profiles[0].warm = 1;
    w->profiles[0].warm_age_ms = AGE_MS;
    world_open(w);
    memcpy(old, any_box(w)->record.id, sizeof old);
    world_pass(w, AGE_MS / 2);
    world_restart(w);
    assert_non_null(box_find(w, old));
    world_pass(w, AGE_MS / 2 + 1000);
    assert_null(box_find(w, old));
}

static void a_changed_profile_drains_its_warm_sandboxes_and_no_bound_ones(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 3;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask bound = call(w, &s);
    world_pass(w, 1000);
    w->revision = "two";
    w->events->profiles_changed(w->events_owner);
    world_pass(w, 1000);
    int fresh = 0, warm = 0;
    for (int i = 0; i < BOXES; i++) {
        const struct box *box = &w->boxes[i];
        if (!box->exists || box->principal[0] != '\0' || strcmp(box->record.profile, "main") != 0)
            continue;
        warm++;
        fresh += strcmp(box->record.revision, "two") == 0;
    }
    assert_int_equal(warm, 3);
    assert_int_equal(fresh, 3);
    assert_string_equal(call(w, &s).sandbox, bound.sandbox);
}

static void a_profile_that_changed_while_no_gateway_ran_drains_too(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 2;
    world_open(w);
    world_close(w);
    w->revision = "two";
    world_open(w);
    world_pass(w, 1000);
    for (int i = 0; i < BOXES; i++)
        if (w->boxes[i].exists && strcmp(w->boxes[i].record.profile, "main") == 0)
            assert_string_equal(w->boxes[i].record.revision, "two");
}

static void what_made_starts_fail_may_be_what_was_changed(void **state)
{
    struct world *w = *state;
    failure_set(&w->create_fails, FAULT_INTERNAL, "no such image");
    w->profiles[0].warm = 1;
    world_open(w);
    world_pass(w, 20000); // the backoff is long by now
    w->create_fails.fault = 0;
    w->revision = "two";
    w->events->profiles_changed(w->events_owner);
    world_pass(w, 100);
    assert_true(box_count(w) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_warm_sandbox_that_is_too_old_is_replaced_and_never_handed_out),
        IN_WORLD(those_that_were_started_together_do_not_all_go_together),
        IN_WORLD(age_counts_through_a_restart_and_a_clock_that_was_set_back),
        IN_WORLD(a_changed_profile_drains_its_warm_sandboxes_and_no_bound_ones),
        IN_WORLD(a_profile_that_changed_while_no_gateway_ran_drains_too),
        IN_WORLD(what_made_starts_fail_may_be_what_was_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
