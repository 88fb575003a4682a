// SPDX-License-Identifier: Apache-2.0
#include "gateway/sandbox/sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/keyring.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/telemetry/metrics.h"

struct bench {
    struct clock_fake clock;
    struct loop *loop;
    struct metrics *metrics;
    struct keyring *ring;
    struct profile profile;
    struct config config;
    struct fleet *fleet;
};

static int make(void **state)
{
    struct bench *b = memory_new(sizeof *b);
    struct failure why;
    char path[] = "/tmp/wrist-sandbox-XXXXXX", file[64];
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/keyring", path);
    assert_int_equal(keyring_open(file, 0, &b->ring, &why), 0);
    unlink(file);
    rmdir(path);
    clock_fake_init(&b->clock);
    b->loop = loop_new(&b->clock.clock);
    b->metrics = metrics_new();
    snprintf(b->profile.name, sizeof b->profile.name, "main");
    b->config.profiles = &b->profile;
    b->config.profile_count = 1;
    b->fleet = fleet_new(b->loop, &b->config, b->ring, b->metrics);
    *state = b;
    return 0;
}

static int clean(void **state)
{
    struct bench *b = *state;
    fleet_free(b->fleet);
    metrics_free(b->metrics);
    keyring_free(b->ring);
    loop_free(b->loop);
    free(b);
    return 0;
}

// How each state is reached from birth, one state a step.
static const enum sandbox_state ways[SANDBOX_STATES][4] = {
    [SANDBOX_CREATING] = {SANDBOX_CREATING},
    [SANDBOX_WARM] = {SANDBOX_WARM, SANDBOX_CREATING},
    [SANDBOX_BOUND] = {SANDBOX_WARM, SANDBOX_BOUND, SANDBOX_CREATING},
    [SANDBOX_IDLE] = {SANDBOX_BOUND, SANDBOX_IDLE, SANDBOX_CREATING},
    [SANDBOX_FAILED] = {SANDBOX_FAILED, SANDBOX_CREATING},
    [SANDBOX_DRAINING] = {SANDBOX_DRAINING, SANDBOX_CREATING},
    [SANDBOX_GONE] = {SANDBOX_DRAINING, SANDBOX_GONE, SANDBOX_CREATING},
};

static struct sandbox *sandbox_in(struct bench *b, enum sandbox_state state)
{
    struct sandbox *s = sandbox_new(b->fleet, "one", 1, &b->profile);
    for (const enum sandbox_state *step = ways[state]; *step != SANDBOX_CREATING; step++)
        sandbox_set_state(s, *step, "test");
    return s;
}

static size_t sum(struct bench *b)
{
    size_t total = 0;
    for (int state = 0; state < SANDBOX_STATES; state++)
        total += fleet_count(b->fleet, &b->profile, state);
    return total;
}

static void every_step_the_table_allows_moves_list_and_counters(void **state)
{
    struct bench *b = *state;
    int steps = 0;
    for (int from = 0; from < SANDBOX_GONE; from++)
        for (int to = 0; to < SANDBOX_STATES; to++) {
            if (!sandbox_may_become(from, to))
                continue;
            struct sandbox *s = sandbox_in(b, from);
            assert_int_equal(fleet_count(b->fleet, &b->profile, from), 1);
            sandbox_set_state(s, to, "test");
            steps++;
            assert_int_equal(sum(b), to == SANDBOX_GONE ? 0 : 1);
            if (to == SANDBOX_GONE) {
                assert_null(fleet_find(b->fleet, SPAN_LITERAL("one")));
            } else {
                assert_int_equal(fleet_count(b->fleet, &b->profile, to), 1);
                assert_ptr_equal(fleet_in_state(b->fleet, to)->next, &s->by_state);
                if (to != SANDBOX_DRAINING)
                    sandbox_set_state(s, SANDBOX_DRAINING, "test");
                sandbox_set_state(s, SANDBOX_GONE, "test");
            }
            loop_turn(b->loop, false);
            assert_int_equal(sum(b), 0);
        }
    assert_int_equal(steps, 16);
}

static void deleting_is_legal_in_every_state_and_nothing_comes_back(void **state)
{
    (void)state;
    for (int from = 0; from < SANDBOX_GONE; from++)
        assert_true(sandbox_may_become(from, SANDBOX_DRAINING));
    for (int to = 0; to < SANDBOX_STATES; to++) {
        assert_false(sandbox_may_become(SANDBOX_GONE, to));
        assert_false(sandbox_may_become(to, SANDBOX_CREATING));
        assert_true(to == SANDBOX_DRAINING || to == SANDBOX_GONE ||
                    !sandbox_may_become(SANDBOX_DRAINING, to));
    }
    // A claim is for life: what was bound is never warm again.
    assert_false(sandbox_may_become(SANDBOX_BOUND, SANDBOX_WARM));
    assert_false(sandbox_may_become(SANDBOX_IDLE, SANDBOX_WARM));
}

static void a_secret_is_of_one_sandbox_one_generation_and_one_key(void **state)
{
    struct bench *b = *state;
    unsigned char one[LINK_SECRET_BYTES], other[LINK_SECRET_BYTES];
    struct sandbox *s = sandbox_new(b->fleet, "one", 1, &b->profile);
    assert_true(sandbox_set_secret(s, 0, one));
    assert_true(sandbox_set_secret(s, 0, other));
    assert_memory_equal(one, other, sizeof one);
    assert_int_equal(strlen(s->authorization), strlen("Bearer ") + 2 * LINK_SECRET_BYTES);
    s->generation = 2;
    assert_true(sandbox_set_secret(s, 0, other));
    assert_memory_not_equal(one, other, sizeof one);
    struct sandbox *two = sandbox_new(b->fleet, "two", 1, &b->profile);
    assert_true(sandbox_set_secret(two, 0, other));
    assert_memory_not_equal(one, other, sizeof one);
    assert_false(sandbox_set_secret(s, 1, other)); // the ring has one key
}

static void a_link_goes_with_its_sandbox(void **state)
{
    struct bench *b = *state;
    struct sandbox *s = sandbox_new(b->fleet, "one", 1, &b->profile);
    assert_null(sandbox_link(s)); // the driver did not say where yet
    snprintf(s->endpoint, sizeof s->endpoint, "unix:/nonexistent");
    assert_non_null(sandbox_link(s));
    sandbox_set_state(s, SANDBOX_DRAINING, "test");
    assert_null(s->link);
    snprintf(s->endpoint, sizeof s->endpoint, "not an address");
    assert_null(sandbox_link(s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_step_the_table_allows_moves_list_and_counters, make,
                                        clean),
        cmocka_unit_test(deleting_is_legal_in_every_state_and_nothing_comes_back),
        cmocka_unit_test_setup_teardown(a_secret_is_of_one_sandbox_one_generation_and_one_key, make,
                                        clean),
        cmocka_unit_test_setup_teardown(a_link_goes_with_its_sandbox, make, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
