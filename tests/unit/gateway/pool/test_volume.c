// SPDX-License-Identifier: Apache-2.0
// Sandboxes whose workspace is a volume: one principal's, one sandbox's at a time, never pooled.
#include "tests/unit/gateway/pool/world.h"

static struct session with_volume(struct world *w, struct principal *who, int profile,
                                  const char *volume)
{
    struct session s = session_new(w, who, profile);
    s.volume = volume;
    return s;
}

static struct ask make(struct world *w, struct principal *who, const char *volume)
{
    struct ask a = {0};
    binder_create_sandbox(w->binder, who, &w->profiles[0], 0, 0, span_from_string(volume),
                          heard_made, &a);
    world_turn(w);
    return a;
}

struct listing {
    size_t count;
    struct volume_view views[VOLUMES];
};

static void heard_list(void *owner, const struct volume_view *views, size_t count,
                       const struct failure *why)
{
    struct listing *l = owner;
    assert_null(why);
    l->count = count;
    memcpy(l->views, views, count * sizeof *views);
}

static struct listing list_of(struct world *w, const struct principal *who)
{
    struct listing l = {0};
    binder_list_volumes(w->binder, who, heard_list, &l);
    world_turn(w);
    return l;
}

static int drop(struct world *w, const struct principal *who, const char *name)
{
    struct ask a = {0};
    binder_delete_volume(w->binder, who, span_from_string(name), heard, &a);
    world_turn(w);
    assert_int_equal(a.count, 1);
    return a.fault;
}

static void a_name_is_one_that_needs_no_quoting(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "0", "work-1.2_b",
                                       "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijkl"};
    static const char *const bad[] = {"",
                                      ".",
                                      "-a",
                                      "A",
                                      "a/b",
                                      "a b",
                                      "../a",
                                      "a%2f",
                                      "\xc3\xa4",
                                      "~a",
                                      "a~",
                                      "a\n",
                                      "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklm"};
    for (size_t i = 0; i < ARRAY_COUNT(good); i++)
        assert_true(volume_name_is_valid(span_from_string(good[i])));
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_false(volume_name_is_valid(span_from_string(bad[i])));
    assert_false(volume_name_is_valid(span_of("a\0b", 3)));
}

static void a_session_gets_its_volume_with_its_sandbox_and_again_with_the_next(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = with_volume(w, w->alice, 0, "work");
    struct ask first = call(w, &s);
    assert_int_equal(first.fault, 0);
    struct box *box = box_find(w, first.sandbox);
    assert_string_not_equal(box->record.volume, "");
    assert_string_equal(box->principal, principal_hash(w->alice));
    assert_int_equal(w->volume_count, 1);
    assert_null(strstr(box->record.note, "work")); // nor does its name stand anywhere outside
    assert_null(strstr(w->volumes[0].label, "work"));
    assert_string_equal(call(w, &s).sandbox, first.sandbox);
    char volume[VOLUME_HASH_SIZE];
    memcpy(volume, box->record.volume, sizeof volume);
    box_dies(w, box);
    assert_int_equal(call(w, &s).fault, FAULT_LOST);
    struct ask second = call(w, &s);
    assert_int_equal(second.fault, 0);
    assert_string_not_equal(second.sandbox, first.sandbox);
    assert_string_equal(box_find(w, second.sandbox)->record.volume, volume);
    assert_int_equal(w->volume_count, 1);
}

static void a_second_sandbox_is_told_who_has_it_and_when_to_come_again(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session one = with_volume(w, w->alice, 0, "work"),
                   two = with_volume(w, w->alice, 0, "work");
    assert_int_equal(call(w, &one).fault, 0);
    world_pass(w, 10 * 1000);
    struct ask refused = call(w, &two);
    assert_int_equal(refused.fault, FAULT_CONFLICT);
    assert_non_null(strstr(refused.text, "\"work\""));
    assert_non_null(strstr(refused.text, "your session "));
    assert_in_range(refused.retry_ms, 45 * 1000, 55 * 1000); // of an idle life of 60 s
    assert_int_equal(make(w, w->alice, "work").fault, FAULT_CONFLICT);
    assert_int_equal(end_session(w, &one), 0);
    assert_int_equal(call(w, &two).fault, 0);
}

static void anothers_volume_of_that_name_is_another(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session hers = with_volume(w, w->alice, 0, "work"),
                   his = with_volume(w, w->bob, 0, "work");
    struct ask a = call(w, &hers), b = call(w, &his);
    assert_int_equal(a.fault, 0);
    assert_int_equal(b.fault, 0);
    assert_string_not_equal(box_find(w, a.sandbox)->record.volume,
                            box_find(w, b.sandbox)->record.volume);
    assert_int_equal(list_of(w, NULL).count, 2);
    assert_int_equal(drop(w, w->bob, "work"), FAULT_CONFLICT);
    end_session(w, &his);
    world_pass(w, 1000);
    assert_int_equal(drop(w, w->bob, "work"), 0);
    assert_int_equal(drop(w, w->bob, "work"), FAULT_NOT_FOUND);
    assert_int_equal(w->volume_count, 1);
    assert_string_equal(w->volumes[0].owner, principal_hash(w->alice));
}

static void warm_sandboxes_are_not_taken_for_it_and_it_never_becomes_one(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 2;
    world_open(w);
    world_pass(w, 1000);
    int warm = box_count(w);
    struct session s = with_volume(w, w->alice, 0, "work");
    struct ask a = call(w, &s);
    assert_int_equal(box_count(w), warm + 1);
    world_restart(w); // as if nobody had come back to it
    world_pass(w, 1000);
    struct session his = session_new(w, w->bob, 0), more = session_new(w, w->bob, 0);
    assert_string_not_equal(call(w, &his).sandbox, a.sandbox);
    assert_string_not_equal(call(w, &more).sandbox, a.sandbox);
    assert_string_equal(call(w, &s).sandbox, a.sandbox);
}

static void a_gateway_that_died_before_the_bind_hands_it_to_nobody_else(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = with_volume(w, w->alice, 0, "work");
    struct ask a;
    w->holds_creates = true;
    begin(w, &s, &a);
    world_turn(w);
    w->holds_creates = false;
    world_restart(w); // the driver made it, and nobody heard
    world_pass(w, 1000);
    struct session his = session_new(w, w->bob, 0);
    struct ask b = call(w, &his);
    assert_int_equal(b.fault, 0);
    assert_string_equal(box_find(w, b.sandbox)->record.volume, "");
    struct sandbox_view views[4];
    assert_int_equal(binder_list_sandboxes(w->binder, w->alice, views, 4), 1); // hers to end
}

static void a_worker_that_is_nobodys_at_its_start_gets_no_volume(void **state)
{
    struct world *w = *state;
    w->is_old_worker = true;
    world_open(w);
    struct session s = with_volume(w, w->alice, 0, "work");
    struct ask a = call(w, &s);
    assert_int_equal(a.fault, FAULT_UNAVAILABLE);
    assert_non_null(strstr(a.text, "older than volumes"));
    world_pass(w, 1000);
    for (int i = 0; i < BOXES; i++)
        assert_true(!w->boxes[i].exists || w->boxes[i].record.volume[0] == '\0');
    struct session plain = session_new(w, w->alice, 0);
    assert_int_equal(call(w, &plain).fault, 0); // the others are none the worse
}

static void the_drivers_limit_is_told_and_the_pool_does_not_suffer(void **state)
{
    struct world *w = *state;
    world_open(w);
    for (int i = 0; i < 3; i++)
        assert_int_equal(make(w, w->alice, i == 0 ? "a" : i == 1 ? "b" : "c").fault, 0);
    struct ask fourth = make(w, w->alice, "d");
    assert_int_equal(fourth.fault, FAULT_QUOTA);
    assert_int_equal(w->volume_count, 3);
    struct session plain = session_new(w, w->alice, 0);
    assert_int_equal(call(w, &plain).fault, 0);
}

static void a_volume_stays_with_its_profile(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct ask a = make(w, w->alice, "work");
    assert_int_equal(a.fault, 0);
    struct session other = with_volume(w, w->alice, 1, "work");
    struct ask refused = call(w, &other);
    assert_int_equal(refused.fault, FAULT_INVALID);
    assert_non_null(strstr(refused.text, "profile main"));
}

static void sessions_that_share_a_sandbox_share_one_for_each_volume(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session one = with_volume(w, w->alice, 1, "work"),
                   two = with_volume(w, w->alice, 1, "work"), none = session_new(w, w->alice, 1);
    struct ask a = call(w, &one), b = call(w, &two), c = call(w, &none);
    assert_int_equal(a.fault | b.fault | c.fault, 0);
    assert_string_equal(a.sandbox, b.sandbox);
    assert_string_not_equal(a.sandbox, c.sandbox);
    world_restart(w);
    assert_string_equal(call(w, &two).sandbox, a.sandbox);
    assert_string_equal(call(w, &none).sandbox, c.sandbox);
}

static void parallel_first_calls_of_one_session_make_one_sandbox(void **state)
{
    struct world *w = *state;
    struct ask asks[20];
    world_open(w);
    struct session s = with_volume(w, w->alice, 0, "work");
    int before = w->created;
    for (int i = 0; i < 20; i++)
        begin(w, &s, &asks[i]);
    world_turn(w);
    assert_int_equal(w->created, before + 1);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(asks[i].fault, 0);
        assert_string_equal(asks[i].sandbox, asks[0].sandbox);
        lease_release(asks[i].lease);
    }
}

static void who_no_longer_waits_leaves_a_sandbox_that_goes(void **state)
{
    struct world *w = *state;
    world_open(w);
    w->profiles[0].start_timeout_ms = 1000;
    w->holds_creates = true;
    struct ask a = {0};
    binder_create_sandbox(w->binder, w->alice, &w->profiles[0], 0, 0, SPAN_LITERAL("work"),
                          heard_made, &a);
    world_pass(w, 1500);
    assert_int_equal(a.fault, FAULT_TIMEOUT);
    w->holds_creates = false;
    world_let_go(w);
    world_pass(w, 1000);
    struct listing l = list_of(w, w->alice);
    assert_int_equal(l.count, 1);
    assert_string_equal(l.views[0].sandbox, "");
    assert_int_equal(make(w, w->alice, "work").fault, 0);
}

static void a_list_shows_ones_own_by_name_and_who_has_them(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct ask a = make(w, w->alice, "work");
    make(w, w->alice, "other");
    struct sandbox_view view;
    assert_true(binder_show_sandbox(w->binder, w->alice, span_from_string(a.sandbox), &view));
    assert_string_equal(view.volume, "work");
    world_restart(w); // what another replica knows, it knows from the note
    assert_true(binder_show_sandbox(w->binder, w->alice, span_from_string(a.sandbox), &view));
    assert_string_equal(view.volume, "work");
    struct listing l = list_of(w, w->alice);
    assert_int_equal(l.count, 2);
    assert_string_equal(l.views[0].name, "work");
    assert_string_equal(l.views[0].sandbox, a.sandbox);
    assert_string_equal(l.views[1].name, "other");
}

static void a_driver_that_is_away_is_told_at_once(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = with_volume(w, w->alice, 0, "work");
    world_driver_down(w);
    world_pass(w, 3000);
    struct ask a = call(w, &s);
    assert_int_equal(a.fault, FAULT_UNAVAILABLE);
}

static void a_principals_limit_of_sandboxes_holds_with_volumes_too(void **state)
{
    struct world *w = *state;
    w->profiles[0].per_principal = 1;
    world_open(w);
    struct session one = with_volume(w, w->alice, 0, "work"),
                   two = with_volume(w, w->alice, 0, "other");
    struct ask busy;
    begin(w, &one, &busy);
    world_turn(w);
    assert_int_equal(busy.fault, 0);
    assert_int_equal(call(w, &two).fault, FAULT_QUOTA);
    lease_release(busy.lease);
    world_pass(w, 2000);
    struct ask second = call(w, &two);
    assert_int_equal(second.fault, 0);
    assert_null(box_find(w, busy.sandbox)); // the idle one went
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_one_that_needs_no_quoting),
        IN_WORLD(a_session_gets_its_volume_with_its_sandbox_and_again_with_the_next),
        IN_WORLD(a_second_sandbox_is_told_who_has_it_and_when_to_come_again),
        IN_WORLD(anothers_volume_of_that_name_is_another),
        IN_WORLD(warm_sandboxes_are_not_taken_for_it_and_it_never_becomes_one),
        IN_WORLD(a_gateway_that_died_before_the_bind_hands_it_to_nobody_else),
        IN_WORLD(a_worker_that_is_nobodys_at_its_start_gets_no_volume),
        IN_WORLD(the_drivers_limit_is_told_and_the_pool_does_not_suffer),
        IN_WORLD(a_volume_stays_with_its_profile),
        IN_WORLD(sessions_that_share_a_sandbox_share_one_for_each_volume),
        IN_WORLD(parallel_first_calls_of_one_session_make_one_sandbox),
        IN_WORLD(who_no_longer_waits_leaves_a_sandbox_that_goes),
        IN_WORLD(a_list_shows_ones_own_by_name_and_who_has_them),
        IN_WORLD(a_driver_that_is_away_is_told_at_once),
        IN_WORLD(a_principals_limit_of_sandboxes_holds_with_volumes_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
