// SPDX-License-Identifier: Apache-2.0
// What a gateway makes of sandboxes that were there before it, and of a driver that comes and goes.
#include "tests/unit/gateway/pool/world.h"

static void a_restarted_gateway_gives_each_session_its_sandbox_again(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 2;
    world_open(w);
    struct session s = session_new(w, w->alice, 0), shared = session_new(w, w->alice, 1);
    struct ask first = call(w, &s), view = call(w, &shared);
    int boxes = box_count(w);
    world_restart(w);
    assert_int_equal(box_count(w), boxes);
    assert_string_equal(call(w, &s).sandbox, first.sandbox);
    assert_string_equal(call(w, &shared).sandbox, view.sandbox);
    assert_int_equal(w->removed, 0);
    struct session other = session_new(w, w->bob, 0);
    assert_int_equal(call(w, &other).fault, 0); // out of the warm ones it found
}

static void lives_go_on_across_a_restart(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct ask made = {0};
    struct sandbox_view before, after;
    binder_create_sandbox(w->binder, w->alice, &w->profiles[0], 20000, 50000, SPAN_NONE, heard_made,
                          &made);
    world_turn(w);
    struct span id = span_from_string(made.sandbox);
    assert_true(binder_show_sandbox(w->binder, w->alice, id, &before));
    world_pass(w, 10000);
    world_restart(w);
    assert_true(binder_show_sandbox(w->binder, w->alice, id, &after));
    assert_int_equal(after.expires_ms, before.expires_ms);
    assert_int_equal(after.idle_ms, 20000);
    world_pass(w, 10500);
    assert_null(box_find(w, made.sandbox));
}

static void a_sandbox_that_died_meanwhile_is_told_as_lost(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask first = call(w, &s);
    world_close(w);
    box_find(w, first.sandbox)->record.state = DRIVER_STATE_EXITED;
    world_open(w);
    assert_int_equal(call(w, &s).fault, FAULT_LOST);
    assert_int_equal(call(w, &s).fault, 0);
    assert_null(box_find(w, first.sandbox));
}

static void the_workers_word_decides_whose_sandbox_it_is(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask first = call(w, &s);
    world_close(w);
    memcpy(box_find(w, first.sandbox)->principal, principal_hash(w->bob), PRINCIPAL_HASH_SIZE);
    world_open(w);
    struct sandbox_view view;
    struct span id = span_from_string(first.sandbox);
    assert_int_equal(call(w, &s).fault, FAULT_LOST); // never handed to alice again
    assert_false(binder_show_sandbox(w->binder, w->alice, id, &view));
    assert_true(binder_show_sandbox(w->binder, w->bob, id, &view));
}

static void what_cannot_answer_for_itself_is_removed(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 3;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    world_close(w);
    int kind = 0;
    char ids[3][ID_SIZE];
    for (int i = 0; i < BOXES && kind < 3; i++) {
        struct box *box = &w->boxes[i];
        if (!box->exists || box->principal[0] != '\0')
            continue;
        memcpy(ids[kind], box->record.id, ID_SIZE);
        box->silent = kind == 0;
        box->says_another = kind == 1;
        if (kind == 2)
            span_copy_string(SPAN_LITERAL("unheard-of"), box->record.profile,
                             sizeof box->record.profile);
        kind++;
    }
    assert_int_equal(kind, 3);
    world_open(w);
    world_pass(w, 2000);
    for (int i = 0; i < 3; i++)
        assert_null(box_find(w, ids[i]));
    assert_string_equal(call(w, &s).sandbox, a.sandbox);
}

// PI-185
static void another_fleets_sandboxes_are_not_touched(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct box *foreign = box_new(w, "00000000000000000000000000000001", "main");
    id_new(foreign->record.fleet);
    foreign->silent = true;
    struct box *dead = box_new(w, "00000000000000000000000000000002", "main");
    id_new(dead->record.fleet);
    dead->record.state = DRIVER_STATE_EXITED;
    world_restart(w);
    world_pass(w, 5000);
    assert_true(foreign->exists);
    assert_true(dead->exists);
}

// PI-218
static void
with_an_empty_store_what_answers_is_adopted_and_nothing_is_removed_for_a_while(void **state)
{
    struct world *w = *state;
    w->grace_ms = 30000;
    w->profiles[0].warm = 1;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    world_close(w);
    unlinkat(w->directory, "journal", 0);
    struct box *silent = box_new(w, "00000000000000000000000000000001", "main");
    struct box *half_made = box_new(w, "00000000000000000000000000000002", "main");
    silent->silent = true;
    half_made->record.state = DRIVER_STATE_CREATING;
    world_open(w);
    world_pass(w, 1000); // the silent one is asked three times
    // The note beside the sandbox says whose session it serves.
    assert_string_equal(call(w, &s).sandbox, a.sandbox);
    world_pass(w, 28000);
    assert_true(silent->exists);
    assert_true(half_made->exists);
    world_pass(w, 8000);
    assert_false(silent->exists);
    assert_false(half_made->exists);
}

static void a_creation_that_a_crash_broke_off_leaves_nothing(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 1;
    world_open(w);
    w->holds_creates = true;
    struct session s = session_new(w, w->alice, 0);
    call(w, &s); // the pool begins to refill
    int boxes = box_count(w);
    struct box *begun = NULL;
    for (int i = 0; i < BOXES; i++)
        if (w->boxes[i].exists && w->boxes[i].secret[0] == '\0')
            begun = &w->boxes[i];
    assert_non_null(begun);
    begun->record.state = DRIVER_STATE_CREATING;
    char id[ID_SIZE];
    memcpy(id, begun->record.id, sizeof id);
    world_close(w);
    w->holds_creates = false;
    world_open(w);
    world_pass(w, 2000);
    assert_null(box_find(w, id));
    assert_int_equal(box_count(w), boxes);
}

static void a_driver_that_restarts_loses_nothing_that_still_runs(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0), gone = session_new(w, w->alice, 0);
    struct ask a = call(w, &s), b = call(w, &gone);
    world_driver_down(w);
    world_turn(w);
    assert_string_equal(call(w, &s).sandbox, a.sandbox); // bound sessions are served meanwhile
    struct session fresh = session_new(w, w->bob, 0);
    struct ask none;
    begin(w, &fresh, &none);
    world_pass(w, 1500); // it may only be restarting
    assert_int_equal(none.count, 0);
    world_pass(w, 1000);
    assert_int_equal(none.fault, FAULT_UNAVAILABLE);
    assert_non_null(strstr(none.text, "driver"));
    box_find(w, b.sandbox)->exists = false;
    world_driver_up(w);
    world_turn(w);
    assert_string_equal(call(w, &s).sandbox, a.sandbox);
    assert_int_equal(call(w, &gone).fault, FAULT_LOST);
    assert_int_equal(call(w, &fresh).fault, 0);
}

static void without_a_driver_at_the_start_the_answer_is_prompt_and_heals(void **state)
{
    struct world *w = *state;
    struct ask a;
    struct failure why;
    w->is_down = true;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    world_driver_down(w);
    world_pass(w, 2500);
    assert_int_equal(a.fault, FAULT_UNAVAILABLE);
    assert_int_not_equal(binder_check_ready(w->binder, &why), 0);
    assert_non_null(strstr(why.text, "connection refused"));
    world_driver_up(w);
    world_turn(w);
    assert_int_equal(call(w, &s).fault, 0);
}

static void sandboxes_made_under_an_older_key_are_still_opened(void **state)
{
    struct world *w = *state;
    struct failure why;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask a = call(w, &s);
    world_close(w);
    assert_int_equal(keyring_rotate(w->ring, clock_wall_ms(&w->clock.clock), 0, &why), 0);
    world_open(w);
    assert_string_equal(call(w, &s).sandbox, a.sandbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(a_restarted_gateway_gives_each_session_its_sandbox_again),
        IN_WORLD(lives_go_on_across_a_restart),
        IN_WORLD(a_sandbox_that_died_meanwhile_is_told_as_lost),
        IN_WORLD(the_workers_word_decides_whose_sandbox_it_is),
        IN_WORLD(what_cannot_answer_for_itself_is_removed),
        IN_WORLD(another_fleets_sandboxes_are_not_touched),
        IN_WORLD(with_an_empty_store_what_answers_is_adopted_and_nothing_is_removed_for_a_while),
        IN_WORLD(a_creation_that_a_crash_broke_off_leaves_nothing),
        IN_WORLD(a_driver_that_restarts_loses_nothing_that_still_runs),
        IN_WORLD(without_a_driver_at_the_start_the_answer_is_prompt_and_heals),
        IN_WORLD(sandboxes_made_under_an_older_key_are_still_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
