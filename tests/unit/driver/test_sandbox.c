// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/sandbox.h"

static void phases_only_go_forward(void **state)
{
    (void)state;
    for (int from = SANDBOX_CREATING; from <= SANDBOX_GONE; from++)
        for (int to = SANDBOX_CREATING; to <= from; to++)
            if (!(from == SANDBOX_EXITED && to == SANDBOX_STOPPING))
                assert_false(
                    sandbox_phase_follows((enum sandbox_phase)from, (enum sandbox_phase)to));
}

// Deleting is legal in every phase: each leads to GONE.
static bool leads_to_gone(enum sandbox_phase from)
{
    if (from == SANDBOX_GONE)
        return true;
    for (int to = SANDBOX_CREATING; to <= SANDBOX_GONE; to++)
        if (sandbox_phase_follows(from, (enum sandbox_phase)to) &&
            leads_to_gone((enum sandbox_phase)to))
            return true;
    return false;
}

static void every_phase_leads_to_gone(void **state)
{
    (void)state;
    for (int from = SANDBOX_CREATING; from <= SANDBOX_GONE; from++)
        assert_true(leads_to_gone((enum sandbox_phase)from));
}

static void the_record_keeps_step(void **state)
{
    (void)state;
    struct sandbox s = {.phase = SANDBOX_CREATING};
    sandbox_set_phase(&s, SANDBOX_RUNNING, "created");
    assert_int_equal(s.entry.record.state, DRIVER_STATE_RUNNING);
    sandbox_set_phase(&s, SANDBOX_EXITED, "ended");
    assert_int_equal(s.entry.record.state, DRIVER_STATE_EXITED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_only_go_forward),
        cmocka_unit_test(every_phase_leads_to_gone),
        cmocka_unit_test(the_record_keeps_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
