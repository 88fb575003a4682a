// SPDX-License-Identifier: Apache-2.0
// Who gets which sandbox, and what a client is told when it is gone.
#include "tests/unit/gateway/pool/world.h"

static void twenty_first_calls_at_once_make_one_sandbox(void **state)
{
    struct world *w = *state;
    struct ask asks[20];
    w->holds_creates = true;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    for (int i = 0; i < 20; i++)
        begin(w, &s, &asks[i]);
    world_turn(w);
    w->holds_creates = false;
    world_let_go(w);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(asks[i].count, 1);
        assert_non_null(asks[i].lease);
        assert_string_equal(asks[i].sandbox, asks[0].sandbox);
        lease_release(asks[i].lease);
    }
    int bound = 0;
    while (bound_box(w, bound) != NULL)
        bound++;
    assert_int_equal(bound, 1);
    assert_int_equal(bound_box(w, 0)->session_count, 1);
}

static void a_session_keeps_its_sandbox_and_shares_it_with_none(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 2;
    world_open(w);
    struct session one = session_new(w, w->alice, 0), two = session_new(w, w->alice, 0);
    struct ask first = call(w, &one), second = call(w, &two), again = call(w, &one);
    assert_int_equal(first.fault, 0);
    assert_string_equal(first.sandbox, again.sandbox);
    assert_string_not_equal(first.sandbox, second.sandbox);
    // The pool was refilled; one more was started to ask the other profile's card.
    assert_int_equal(box_count(w), 5);
}

static void
a_principal_shares_one_sandbox_among_its_sessions_and_the_worker_hears_of_each(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session one = session_new(w, w->alice, 1), two = session_new(w, w->alice, 1);
    struct session other = session_new(w, w->bob, 1);
    struct ask first = call(w, &one), second = call(w, &two), bobs = call(w, &other);
    assert_string_equal(first.sandbox, second.sandbox);
    assert_string_not_equal(first.sandbox, bobs.sandbox);
    assert_int_equal(box_find(w, first.sandbox)->session_count, 2);
    call(w, &one);
    assert_int_equal(box_find(w, first.sandbox)->session_count, 2);
}

static void a_deleted_view_of_a_shared_sandbox_ends_alone(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session one = session_new(w, w->alice, 1), two = session_new(w, w->alice, 1);
    struct ask first = call(w, &one);
    call(w, &two);
    assert_int_equal(end_session(w, &one), 0);
    assert_int_equal(box_find(w, first.sandbox)->session_count, 1);
    assert_int_equal(call(w, &one).fault, FAULT_NOT_FOUND);
    assert_int_equal(end_session(w, &one), FAULT_NOT_FOUND);
    struct ask second = call(w, &two);
    assert_string_equal(second.sandbox, first.sandbox);
}

static void anothers_session_looks_like_none(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    call(w, &s);
    struct session stolen = s;
    stolen.who = w->bob;
    assert_int_equal(call(w, &stolen).fault, FAULT_NOT_FOUND);
    assert_int_equal(check(w, &stolen), FAULT_NOT_FOUND);
    assert_int_equal(end_session(w, &stolen), FAULT_NOT_FOUND);
    assert_int_equal(call(w, &s).fault, 0);
}

static void a_lost_sandbox_is_told_once_and_then_replaced(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask first = call(w, &s);
    box_dies(w, box_find(w, first.sandbox));
    assert_null(box_find(w, first.sandbox)); // what it left was removed
    assert_int_equal(check(w, &s), FAULT_LOST);
    assert_int_equal(check(w, &s), FAULT_LOST); // asking does not consume it
    assert_int_equal(call(w, &s).fault, FAULT_LOST);
    struct ask second = call(w, &s);
    assert_int_equal(second.fault, 0);
    assert_string_not_equal(second.sandbox, first.sandbox);
}

static struct ask reach(struct world *w, const struct session *s)
{
    struct ask a = {0};
    struct bind_request request = request_of(s);
    binder_reach(w->binder, &request, heard_lease, &a);
    world_turn(w);
    assert_int_equal(a.count, 1);
    if (a.lease != NULL)
        lease_release(a.lease);
    return a;
}

static void reaching_a_sandbox_starts_none_and_consumes_no_loss(void **state)
{
    struct world *w = *state;
    for (int profile = 0; profile < 2; profile++) {
        if (profile == 0)
            world_open(w);
        struct session s = session_new(w, w->alice, profile);
        int boxes = box_count(w);
        assert_int_equal(reach(w, &s).fault, FAULT_LOST);
        assert_int_equal(box_count(w), boxes);
        struct ask first = call(w, &s);
        struct ask again = reach(w, &s);
        assert_int_equal(again.fault, 0);
        assert_string_equal(again.sandbox, first.sandbox);
        box_dies(w, box_find(w, first.sandbox));
        assert_int_equal(reach(w, &s).fault, FAULT_LOST);
        assert_int_equal(call(w, &s).fault, FAULT_LOST);
        struct session stolen = s;
        stolen.who = w->bob;
        assert_int_equal(reach(w, &stolen).fault, profile == 0 ? FAULT_NOT_FOUND : FAULT_LOST);
        assert_int_equal(end_session(w, &s), 0);
        assert_int_equal(reach(w, &s).fault, FAULT_NOT_FOUND);
    }
}

static void reaching_one_that_is_being_bound_waits_for_it(void **state)
{
    struct world *w = *state;
    struct ask first, reached = {0};
    w->holds_creates = true;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &first);
    world_turn(w);
    struct bind_request request = request_of(&s);
    binder_reach(w->binder, &request, heard_lease, &reached);
    world_turn(w);
    assert_int_equal(reached.count, 0);
    w->holds_creates = false;
    world_let_go(w);
    assert_int_equal(first.fault, 0);
    assert_string_equal(reached.sandbox, first.sandbox);
    lease_release(first.lease);
    lease_release(reached.lease);
}

static void every_call_that_came_before_a_loss_was_told_is_told_of_it(void **state)
{
    struct world *w = *state;
    for (int profile = 0; profile < 2; profile++) {
        struct ask asks[20];
        world_open(w);
        struct session s = session_new(w, w->alice, profile);
        struct session other = session_new(w, w->bob, profile);
        struct ask first = call(w, &s), bobs = call(w, &other);
        box_dies(w, box_find(w, first.sandbox));
        int creations = w->created;
        for (int i = 0; i < 20; i++)
            begin(w, &s, &asks[i]);
        struct ask beside = call(w, &other);
        assert_string_equal(beside.sandbox, bobs.sandbox);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(asks[i].count, 1);
            assert_int_equal(asks[i].fault, FAULT_LOST);
            assert_null(asks[i].lease);
        }
        assert_int_equal(w->created, creations); // nobody asked for a new one
        struct ask next = call(w, &s);
        assert_int_equal(next.fault, 0);
        assert_string_not_equal(next.sandbox, first.sandbox);
        world_close(w);
    }
    world_open(w);
}

static void a_call_that_waits_for_its_worker_when_that_is_lost_is_told_of_it(void **state)
{
    struct world *w = *state;
    struct ask joining, waiting;
    world_open(w);
    struct session one = session_new(w, w->alice, 1), two = session_new(w, w->alice, 1);
    struct ask first = call(w, &one);
    begin(w, &two, &joining); // its worker has not heard of this session
    loop_turn(w->loop, false);
    begin(w, &one, &waiting);
    box_dies(w, box_find(w, first.sandbox));
    world_turn(w);
    assert_int_equal(joining.count, 1);
    assert_int_equal(waiting.count, 1);
    assert_int_equal(waiting.fault, FAULT_LOST);
    assert_true(joining.fault == FAULT_LOST || joining.lease != NULL);
    if (joining.lease != NULL) {
        assert_string_equal(joining.sandbox, first.sandbox); // and it has no link any more
        assert_null(lease_link(joining.lease));
        lease_release(joining.lease);
    }
    assert_int_equal(call(w, &two).fault, 0);
}

static void with_on_loss_end_a_lost_sandbox_ends_the_session(void **state)
{
    struct world *w = *state;
    w->profiles[0].on_loss = ON_LOSS_END;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    call(w, &s);
    box_dies(w, bound_box(w, 0));
    assert_int_equal(check(w, &s), FAULT_NOT_FOUND);
    assert_int_equal(call(w, &s).fault, FAULT_NOT_FOUND);
    world_restart(w);
    assert_int_equal(call(w, &s).fault, FAULT_NOT_FOUND);
}

static void a_lost_shared_sandbox_with_on_loss_end_ends_the_sessions_that_saw_it(void **state)
{
    struct world *w = *state;
    w->profiles[1].on_loss = ON_LOSS_END;
    world_open(w);
    struct session before = session_new(w, w->alice, 1);
    call(w, &before);
    world_pass(w, 100);
    box_dies(w, bound_box(w, 0));
    assert_int_equal(call(w, &before).fault, FAULT_NOT_FOUND);
    world_pass(w, 100);
    struct session after = session_new(w, w->alice, 1);
    assert_int_equal(call(w, &after).fault, 0);
    assert_int_equal(call(w, &before).fault, FAULT_NOT_FOUND);
}

static void a_lease_outlives_its_sandbox_without_a_link(void **state)
{
    struct world *w = *state;
    struct ask a, again = {0};
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    world_turn(w);
    assert_non_null(a.lease);
    assert_non_null(lease_link(a.lease));
    box_dies(w, bound_box(w, 0));
    assert_null(lease_link(a.lease));
    assert_string_equal(lease_sandbox(a.lease), a.sandbox);
    lease_rebind(a.lease, heard, &again);
    world_turn(w);
    assert_int_equal(again.fault, FAULT_LOST);
    lease_release(a.lease);
}

static void a_worker_that_forgot_a_session_is_bound_again(void **state)
{
    struct world *w = *state;
    struct ask a, again = {0};
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    world_turn(w);
    struct box *box = box_find(w, a.sandbox);
    box->session_count = 0;
    lease_rebind(a.lease, heard, &again);
    world_turn(w);
    assert_int_equal(again.count, 1);
    assert_int_equal(again.fault, 0);
    assert_int_equal(box->session_count, 1);
    lease_release(a.lease);
}

static void a_deleted_session_is_over_for_good(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0), never = session_new(w, w->alice, 0);
    struct ask first = call(w, &s);
    assert_int_equal(end_session(w, &s), 0);
    assert_null(box_find(w, first.sandbox));
    assert_int_equal(end_session(w, &s), FAULT_NOT_FOUND);
    assert_int_equal(call(w, &s).fault, FAULT_NOT_FOUND);
    assert_int_equal(end_session(w, &never), 0); // it never had a sandbox
    world_restart(w);
    assert_int_equal(call(w, &s).fault, FAULT_NOT_FOUND);
    assert_int_equal(check(w, &never), FAULT_NOT_FOUND);
}

static void a_session_deleted_while_its_sandbox_starts_leaves_none(void **state)
{
    struct world *w = *state;
    struct ask a;
    w->profiles[0].warm = 0;
    w->holds_creates = true;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    loop_turn(w->loop, false);
    assert_int_equal(a.count, 0);
    struct bind_request request = request_of(&s);
    struct ask ended = {0};
    binder_end_session(w->binder, &request, heard, &ended);
    loop_turn(w->loop, false);
    loop_turn(w->loop, false);
    assert_int_equal(ended.count, 1);
    assert_int_equal(a.fault, FAULT_NOT_FOUND);
    w->holds_creates = false;
    world_let_go(w);
    world_pass(w, 500);
    assert_null(bound_box(w, 0));
    assert_int_equal(call(w, &s).fault, FAULT_NOT_FOUND);
}

static void a_cancelled_wait_hears_nothing_and_its_start_goes_on(void **state)
{
    struct world *w = *state;
    struct ask a;
    w->holds_creates = true;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    world_turn(w);
    bind_wait_cancel(a.wait);
    w->holds_creates = false;
    world_let_go(w);
    assert_int_equal(a.count, 0);
    struct box *box = bound_box(w, 0);
    assert_non_null(box);
    struct ask next = call(w, &s);
    assert_string_equal(next.sandbox, box->record.id);
}

static void a_worker_that_refuses_its_claim_is_never_used(void **state)
{
    struct world *w = *state;
    w->profiles[0].warm = 1;
    world_open(w);
    struct box *bad = any_box(w);
    char id[ID_SIZE];
    memcpy(id, bad->record.id, sizeof id);
    bad->refuses = true;
    struct session s = session_new(w, w->alice, 0);
    struct ask a;
    begin(w, &s, &a);
    world_pass(w, 1000);
    assert_int_equal(a.fault, 0);
    assert_string_not_equal(a.sandbox, id);
    assert_null(box_find(w, id));
    lease_release(a.lease);
}

static void a_silent_worker_is_unavailable_and_then_lost(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    struct ask first = call(w, &s), held;
    struct failure why;
    box_find(w, first.sandbox)->silent = true;
    failure_set(&why, FAULT_CLOSED, "connection reset");
    for (int i = 0; i < 3; i++) {
        begin(w, &s, &held);
        world_turn(w);
        assert_non_null(held.lease);
        lease_report_lost(held.lease, &why);
        world_pass(w, 100);
        lease_release(held.lease);
    }
    assert_int_equal(call(w, &s).fault, FAULT_LOST);
    assert_null(box_find(w, first.sandbox));
}

static void a_report_of_a_dead_sandbox_is_believed_when_the_driver_says_so(void **state)
{
    struct world *w = *state;
    struct ask a;
    struct failure why;
    world_open(w);
    struct session s = session_new(w, w->alice, 0);
    begin(w, &s, &a);
    world_turn(w);
    box_find(w, a.sandbox)->record.state = DRIVER_STATE_EXITED; // and the event went missing
    failure_set(&why, FAULT_CLOSED, "connection reset");
    lease_report_lost(a.lease, &why);
    lease_release(a.lease);
    world_turn(w);
    assert_int_equal(call(w, &s).fault, FAULT_LOST);
}

static void a_named_sandbox_is_its_owners_alone(void **state)
{
    struct world *w = *state;
    struct sandbox_view view, list[4];
    struct ask made = {0}, used = {0}, ended = {0};
    world_open(w);
    binder_create_sandbox(w->binder, w->alice, &w->profiles[0], 5000, 0, SPAN_NONE, heard_made,
                          &made);
    world_turn(w);
    assert_int_equal(made.fault, 0);
    struct span id = span_from_string(made.sandbox);
    assert_true(binder_show_sandbox(w->binder, w->alice, id, &view));
    assert_string_equal(view.profile, "main");
    assert_int_equal(view.idle_ms, 5000);
    assert_int_equal(view.expires_ms, store_now_ms(w->store) + w->profiles[0].absolute_ms);
    assert_false(binder_show_sandbox(w->binder, w->bob, id, &view));
    assert_int_equal(binder_list_sandboxes(w->binder, w->alice, list, 4), 1);
    assert_int_equal(binder_list_sandboxes(w->binder, w->bob, list, 4), 0);

    struct bind_request request = {.principal = w->bob, .profile = &w->profiles[0], .sandbox = id};
    binder_start(w->binder, &request, heard_lease, &used);
    binder_end_sandbox(w->binder, w->bob, id, heard, &ended);
    world_turn(w);
    assert_int_equal(used.fault, FAULT_NOT_FOUND);
    assert_int_equal(ended.fault, FAULT_NOT_FOUND);

    request.principal = w->alice;
    struct session legacy = session_new(w, w->alice, 0);
    request.session = span_from_string(legacy.id);
    request.session_issued_ms = legacy.issued_ms;
    binder_start(w->binder, &request, heard_lease, &used);
    world_turn(w);
    assert_string_equal(used.sandbox, made.sandbox);
    lease_release(used.lease);
    binder_end_sandbox(w->binder, w->alice, id, heard, &ended);
    world_turn(w);
    assert_int_equal(ended.fault, 0);
    assert_false(binder_show_sandbox(w->binder, w->alice, id, &view));
    binder_start(w->binder, &request, heard_lease, &used);
    world_turn(w);
    assert_int_equal(used.fault, FAULT_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(twenty_first_calls_at_once_make_one_sandbox),
        IN_WORLD(a_session_keeps_its_sandbox_and_shares_it_with_none),
        IN_WORLD(a_principal_shares_one_sandbox_among_its_sessions_and_the_worker_hears_of_each),
        IN_WORLD(a_deleted_view_of_a_shared_sandbox_ends_alone),
        IN_WORLD(anothers_session_looks_like_none),
        IN_WORLD(a_lost_sandbox_is_told_once_and_then_replaced),
        IN_WORLD(reaching_a_sandbox_starts_none_and_consumes_no_loss),
        IN_WORLD(reaching_one_that_is_being_bound_waits_for_it),
        IN_WORLD(every_call_that_came_before_a_loss_was_told_is_told_of_it),
        IN_WORLD(a_call_that_waits_for_its_worker_when_that_is_lost_is_told_of_it),
        IN_WORLD(with_on_loss_end_a_lost_sandbox_ends_the_session),
        IN_WORLD(a_lost_shared_sandbox_with_on_loss_end_ends_the_sessions_that_saw_it),
        IN_WORLD(a_lease_outlives_its_sandbox_without_a_link),
        IN_WORLD(a_worker_that_forgot_a_session_is_bound_again),
        IN_WORLD(a_deleted_session_is_over_for_good),
        IN_WORLD(a_session_deleted_while_its_sandbox_starts_leaves_none),
        IN_WORLD(a_cancelled_wait_hears_nothing_and_its_start_goes_on),
        IN_WORLD(a_worker_that_refuses_its_claim_is_never_used),
        IN_WORLD(a_silent_worker_is_unavailable_and_then_lost),
        IN_WORLD(a_report_of_a_dead_sandbox_is_believed_when_the_driver_says_so),
        IN_WORLD(a_named_sandbox_is_its_owners_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
