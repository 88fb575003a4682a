// SPDX-License-Identifier: Apache-2.0
// The compare-and-set that says whose a sandbox is, and who may use it besides.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"
#include "workers/link/hold.h"

enum { GENERATION = 7 };

static const char *const ann = "ann", *const bob = "bob", *const eve = "eve";

static int bind_as(struct hold *h, const char *who, const char *session)
{
    struct failure why;
    struct link_bind bind = {.generation = GENERATION};
    snprintf(bind.principal, sizeof bind.principal, "%s", who);
    snprintf(bind.session, sizeof bind.session, "%s", session);
    return hold_bind(h, &bind, &why);
}

static struct link_grant order(const char *who, int64_t generation)
{
    struct link_grant g = {.generation = generation, .granted = 1};
    snprintf(g.principal, sizeof g.principal, "%s", who);
    return g;
}

static int grant(struct hold *h, const char *who)
{
    struct failure why;
    struct link_grant g = order(who, GENERATION);
    return hold_grant(h, &g, &why);
}

struct heard {
    size_t count;
    char last[ID_SIZE];
};

static void hear(void *owner, struct span session)
{
    struct heard *heard = owner;
    heard->count++;
    span_copy_string(session, heard->last, sizeof heard->last);
}

static int revoke(struct hold *h, const char *who, struct heard *heard)
{
    struct failure why;
    struct link_grant g = order(who, GENERATION);
    return hold_revoke(h, &g, hear, heard, &why);
}

static int setup(void **state)
{
    *state = hold_new(GENERATION, "");
    return 0;
}

static int teardown(void **state)
{
    hold_free(*state);
    return 0;
}

static void the_first_bind_wins_and_only_who_was_granted_binds_besides(void **state)
{
    struct hold *h = *state;
    assert_int_equal(grant(h, bob), FAULT_CONFLICT); // nobody holds it yet
    assert_int_equal(bind_as(h, ann, "a1"), 0);
    assert_int_equal(bind_as(h, bob, "b1"), FAULT_CONFLICT);
    assert_int_equal(grant(h, bob), 0);
    assert_int_equal(grant(h, bob), 0);
    assert_int_equal(bind_as(h, bob, "b1"), 0);
    assert_int_equal(bind_as(h, eve, "e1"), FAULT_CONFLICT);
    assert_string_equal(hold_principal(h), ann); // a grantee's bind changes no holder
    assert_true(hold_serves(h, span_from_string(ann)));
    assert_true(hold_serves(h, span_from_string(bob)));
    assert_false(hold_serves(h, span_from_string(eve)));
    assert_false(hold_serves(h, SPAN_LITERAL("")));
}

static void a_principal_named_at_the_start_holds_it_before_anybody_binds(void **state)
{
    struct hold *h = hold_new(GENERATION, ann);
    (void)state;
    assert_string_equal(hold_principal(h), ann);
    assert_int_equal(bind_as(h, bob, "b1"), FAULT_CONFLICT);
    assert_int_equal(bind_as(h, ann, "a1"), 0);
    hold_free(h);
}

static void a_session_is_one_principals(void **state)
{
    struct hold *h = *state;
    bind_as(h, ann, "a1");
    grant(h, bob);
    assert_int_equal(bind_as(h, bob, "a1"), FAULT_CONFLICT);
    assert_int_equal(bind_as(h, bob, "b1"), 0);
    assert_int_equal(bind_as(h, ann, "b1"), FAULT_CONFLICT);
}

static void taking_a_grant_back_ends_its_sessions_and_no_others(void **state)
{
    struct hold *h = *state;
    struct heard heard = {0};
    bind_as(h, ann, "a1");
    grant(h, bob);
    grant(h, eve);
    bind_as(h, bob, "b1");
    bind_as(h, bob, "b2");
    bind_as(h, eve, "e1");
    assert_int_equal(revoke(h, bob, &heard), 0);
    assert_int_equal(heard.count, 2);
    assert_false(hold_has_session(h, SPAN_LITERAL("b1")));
    assert_false(hold_has_session(h, SPAN_LITERAL("b2")));
    assert_true(hold_has_session(h, SPAN_LITERAL("a1")));
    assert_true(hold_has_session(h, SPAN_LITERAL("e1")));
    assert_int_equal(bind_as(h, bob, "b3"), FAULT_CONFLICT);
    assert_false(hold_serves(h, span_from_string(bob)));
    assert_int_equal(revoke(h, bob, &heard), FAULT_NOT_FOUND);
    assert_int_equal(heard.count, 2);
}

static void the_holder_is_no_grant_and_cannot_be_taken_away(void **state)
{
    struct hold *h = *state;
    struct heard heard = {0};
    bind_as(h, ann, "a1");
    assert_int_equal(grant(h, ann), 0);
    assert_int_equal(revoke(h, ann, &heard), FAULT_NOT_FOUND);
    assert_int_equal(heard.count, 0);
    assert_int_equal(bind_as(h, ann, "a2"), 0);
}

static void orders_for_another_generation_change_nothing(void **state)
{
    struct hold *h = *state;
    struct failure why;
    struct heard heard = {0};
    struct link_grant old = order(bob, GENERATION - 1);
    bind_as(h, ann, "");
    assert_int_equal(hold_grant(h, &old, &why), FAULT_CONFLICT);
    assert_int_equal(bind_as(h, bob, ""), FAULT_CONFLICT);
    grant(h, bob);
    assert_int_equal(hold_revoke(h, &old, hear, &heard, &why), FAULT_CONFLICT);
    assert_int_equal(bind_as(h, bob, ""), 0);
}

static void grants_are_few(void **state)
{
    struct hold *h = *state;
    struct heard heard = {0};
    char who[16];
    bind_as(h, ann, "");
    for (int i = 0; i < LINK_GRANTS_MOST; i++) {
        snprintf(who, sizeof who, "grader%d", i);
        assert_int_equal(grant(h, who), 0);
    }
    assert_int_equal(grant(h, bob), FAULT_QUOTA);
    assert_int_equal(grant(h, "grader0"), 0); // stands already
    assert_int_equal(revoke(h, "grader0", &heard), 0);
    assert_int_equal(grant(h, bob), 0);
}

static void no_grantee_takes_the_holders_sessions_up(void **state)
{
    struct hold *h = *state;
    char session[ID_SIZE];
    bind_as(h, ann, "a1");
    grant(h, bob);
    for (int i = 0; i < HOLD_GRANT_SESSIONS_MAX; i++) {
        snprintf(session, sizeof session, "b%d", i);
        assert_int_equal(bind_as(h, bob, session), 0);
    }
    assert_int_equal(bind_as(h, bob, "one more"), FAULT_QUOTA);
    assert_int_equal(bind_as(h, bob, "b0"), 0);
    assert_int_equal(bind_as(h, ann, "a2"), 0);
    assert_true(hold_end_session(h, SPAN_LITERAL("b0")));
    assert_int_equal(bind_as(h, bob, "one more"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_bind_wins_and_only_who_was_granted_binds_besides),
        TEST(a_principal_named_at_the_start_holds_it_before_anybody_binds),
        TEST(a_session_is_one_principals),
        TEST(taking_a_grant_back_ends_its_sessions_and_no_others),
        TEST(the_holder_is_no_grant_and_cannot_be_taken_away),
        TEST(orders_for_another_generation_change_nothing),
        TEST(grants_are_few),
        TEST(no_grantee_takes_the_holders_sessions_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
