// SPDX-License-Identifier: Apache-2.0
#include "gateway/pool/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_burst_then_one_at_a_time_and_a_full_burst_after_a_rest(void **state)
{
    struct pace p = {0};
    int64_t now = 5000000;
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pace_take(&p, now, 60, 3), 0);
    assert_int_equal(pace_take(&p, now, 60, 3), 1000000);
    assert_int_equal(pace_take(&p, now + 999999, 60, 3), 1);
    assert_int_equal(pace_take(&p, now + 1000000, 60, 3), 0);
    assert_int_equal(pace_take(&p, now + 1000000, 60, 3), 1000000);
    now += 60 * 1000000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pace_take(&p, now, 60, 3), 0);
    assert_true(pace_take(&p, now, 60, 3) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_then_one_at_a_time_and_a_full_burst_after_a_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
