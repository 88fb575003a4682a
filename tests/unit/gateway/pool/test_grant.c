// SPDX-License-Identifier: Apache-2.0
// A sandbox used by others than its owner, and who may not.
#include "tests/unit/gateway/pool/world.h"

static struct ask make_sandbox(struct world *w)
{
    struct ask a = {0};
    binder_create_sandbox(w->binder, w->alice, &w->profiles[0], 0, 0, SPAN_NONE, heard_made, &a);
    world_turn(w);
    assert_int_equal(a.fault, 0);
    return a;
}

static int order_grant(struct world *w, struct principal *by, const char *sandbox,
                       const char *grantee, bool is_granted)
{
    struct ask a = {0};
    binder_grant_sandbox(w->binder, by, span_from_string(sandbox), grantee, is_granted, heard, &a);
    world_turn(w);
    assert_int_equal(a.count, 1);
    return a.fault;
}

static int use(struct world *w, struct principal *who, const char *sandbox, const char *session)
{
    struct ask a = {0};
    struct bind_request request = {.principal = who,
                                   .profile = &w->profiles[0],
                                   .session = span_from_string(session),
                                   .session_issued_ms = store_now_ms(w->store),
                                   .sandbox = span_from_string(sandbox)};
    binder_start(w->binder, &request, heard_lease, &a);
    world_turn(w);
    assert_int_equal(a.count, 1);
    if (a.lease != NULL) {
        assert_string_equal(a.sandbox, sandbox);
        lease_release(a.lease);
    }
    return a.fault;
}

static void who_was_granted_a_sandbox_uses_it_and_nobody_else(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct ask made = make_sandbox(w);
    struct principal *eve = person("eve");
    const char *bob = principal_hash(w->bob);
    assert_int_equal(use(w, w->bob, made.sandbox, "b1"), FAULT_NOT_FOUND);
    assert_int_equal(order_grant(w, w->alice, made.sandbox, bob, true), 0);
    assert_int_equal(use(w, w->bob, made.sandbox, "b1"), 0);
    assert_int_equal(use(w, w->bob, made.sandbox, ""), 0);
    assert_int_equal(use(w, w->alice, made.sandbox, "a1"), 0);
    assert_int_equal(use(w, eve, made.sandbox, "e1"), FAULT_NOT_FOUND);
    assert_int_equal(use(w, eve, made.sandbox, ""), FAULT_NOT_FOUND);
    assert_string_equal(box_find(w, made.sandbox)->principal, principal_hash(w->alice));
    principal_drop(eve);
}

static void a_grantee_can_neither_grant_nor_delete_nor_see_it_among_its_own(void **state)
{
    struct world *w = *state;
    struct sandbox_view view;
    struct ask ended = {0};
    world_open(w);
    struct ask made = make_sandbox(w);
    struct principal *eve = person("eve");
    order_grant(w, w->alice, made.sandbox, principal_hash(w->bob), true);
    assert_int_equal(order_grant(w, w->bob, made.sandbox, principal_hash(eve), true),
                     FAULT_NOT_FOUND);
    assert_int_equal(order_grant(w, w->bob, made.sandbox, principal_hash(w->bob), false),
                     FAULT_NOT_FOUND);
    binder_end_sandbox(w->binder, w->bob, span_from_string(made.sandbox), heard, &ended);
    world_turn(w);
    assert_int_equal(ended.fault, FAULT_NOT_FOUND);
    assert_false(binder_show_sandbox(w->binder, w->bob, span_from_string(made.sandbox), &view));
    assert_int_equal(binder_list_sandboxes(w->binder, w->bob, &view, 1), 0);
    assert_int_equal(use(w, w->bob, made.sandbox, ""), 0);
    assert_int_equal(use(w, eve, made.sandbox, ""), FAULT_NOT_FOUND);
    principal_drop(eve);
}

static void a_grant_that_was_taken_back_opens_nothing_until_it_is_made_again(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct ask made = make_sandbox(w);
    const char *bob = principal_hash(w->bob);
    order_grant(w, w->alice, made.sandbox, bob, true);
    assert_int_equal(use(w, w->bob, made.sandbox, "b1"), 0);
    assert_int_equal(order_grant(w, w->alice, made.sandbox, bob, false), 0);
    assert_int_equal(box_find(w, made.sandbox)->granted.count, 0);
    assert_int_equal(use(w, w->bob, made.sandbox, "b1"), FAULT_NOT_FOUND);
    assert_int_equal(use(w, w->bob, made.sandbox, ""), FAULT_NOT_FOUND);
    assert_int_equal(order_grant(w, w->alice, made.sandbox, bob, false), FAULT_NOT_FOUND);
    assert_int_equal(order_grant(w, w->alice, made.sandbox, bob, true), 0);
    assert_int_equal(use(w, w->bob, made.sandbox, "b2"), 0);
}

static void grants_outlive_the_gateway(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct ask made = make_sandbox(w);
    order_grant(w, w->alice, made.sandbox, principal_hash(w->bob), true);
    world_restart(w);
    assert_int_equal(use(w, w->bob, made.sandbox, "b1"), 0);
    assert_int_equal(order_grant(w, w->alice, made.sandbox, principal_hash(w->bob), false), 0);
    world_restart(w);
    assert_int_equal(use(w, w->bob, made.sandbox, "b1"), FAULT_NOT_FOUND);
    assert_int_equal(use(w, w->alice, made.sandbox, "a1"), 0);
}

static void the_workers_word_about_a_grantee_decides_and_costs_the_owner_nothing(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct ask made = make_sandbox(w);
    order_grant(w, w->alice, made.sandbox, principal_hash(w->bob), true);
    box_find(w, made.sandbox)->granted.count = 0; // taken back by another gateway
    assert_int_equal(use(w, w->bob, made.sandbox, "b1"), FAULT_NOT_FOUND);
    assert_int_equal(use(w, w->alice, made.sandbox, "a1"), 0);
}

static void an_order_that_got_no_answer_can_be_given_again(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct ask made = make_sandbox(w);
    const char *bob = principal_hash(w->bob);
    struct box *box = box_find(w, made.sandbox);
    order_grant(w, w->alice, made.sandbox, bob, true);
    box->silent = true;
    assert_int_equal(order_grant(w, w->alice, made.sandbox, bob, false), FAULT_UNAVAILABLE);
    assert_int_equal(use(w, w->bob, made.sandbox, ""), FAULT_NOT_FOUND); // holds here at once
    box->silent = false;
    assert_int_equal(order_grant(w, w->alice, made.sandbox, bob, false), 0);
    assert_int_equal(box->granted.count, 0);
}

static void a_sandbox_has_eight_grants_at_most(void **state)
{
    struct world *w = *state;
    char hash[PRINCIPAL_HASH_SIZE];
    world_open(w);
    struct ask made = make_sandbox(w);
    for (int i = 0; i < LINK_GRANTS_MOST; i++) {
        snprintf(hash, sizeof hash, "%064d", i);
        assert_int_equal(order_grant(w, w->alice, made.sandbox, hash, true), 0);
    }
    assert_int_equal(order_grant(w, w->alice, made.sandbox, principal_hash(w->bob), true),
                     FAULT_QUOTA);
    assert_int_equal(order_grant(w, w->alice, made.sandbox, hash, true), 0);
    assert_int_equal(box_find(w, made.sandbox)->granted.count, LINK_GRANTS_MOST);
    world_restart(w);
    assert_int_equal(order_grant(w, w->alice, made.sandbox, principal_hash(w->bob), true),
                     FAULT_QUOTA);
}

static void a_sandbox_that_is_gone_cannot_be_granted(void **state)
{
    struct world *w = *state;
    world_open(w);
    struct ask made = make_sandbox(w);
    order_grant(w, w->alice, made.sandbox, principal_hash(w->bob), true);
    box_dies(w, box_find(w, made.sandbox));
    assert_int_equal(order_grant(w, w->alice, made.sandbox, principal_hash(w->bob), true),
                     FAULT_NOT_FOUND);
    assert_int_equal(order_grant(w, w->alice, "", principal_hash(w->bob), true), FAULT_NOT_FOUND);
    assert_int_equal(use(w, w->bob, made.sandbox, ""), FAULT_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(who_was_granted_a_sandbox_uses_it_and_nobody_else),
        IN_WORLD(a_grantee_can_neither_grant_nor_delete_nor_see_it_among_its_own),
        IN_WORLD(a_grant_that_was_taken_back_opens_nothing_until_it_is_made_again),
        IN_WORLD(grants_outlive_the_gateway),
        IN_WORLD(the_workers_word_about_a_grantee_decides_and_costs_the_owner_nothing),
        IN_WORLD(an_order_that_got_no_answer_can_be_given_again),
        IN_WORLD(a_sandbox_has_eight_grants_at_most),
        IN_WORLD(a_sandbox_that_is_gone_cannot_be_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
