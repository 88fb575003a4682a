// SPDX-License-Identifier: Apache-2.0
#include "driver/sandbox.h"

#include <assert.h>

#include "gateway/lib/telemetry/log.h"

#define AFTER(phase) (1U << SANDBOX_##phase)

static const struct {
    const char *name;
    unsigned next; // phases that may follow
    enum driver_state state;
} phases[] = {
    [SANDBOX_CREATING] = {"creating",
                          AFTER(RUNNING) | AFTER(STOPPING) | AFTER(EXITED) | AFTER(REMOVING),
                          DRIVER_STATE_CREATING},
    [SANDBOX_RUNNING] = {"running", AFTER(STOPPING) | AFTER(EXITED), DRIVER_STATE_RUNNING},
    [SANDBOX_STOPPING] = {"stopping", AFTER(REMOVING), DRIVER_STATE_EXITED},
    [SANDBOX_EXITED] = {"exited", AFTER(REMOVING), DRIVER_STATE_EXITED},
    [SANDBOX_REMOVING] = {"removing", AFTER(GONE), DRIVER_STATE_EXITED},
    [SANDBOX_GONE] = {"gone", 0, DRIVER_STATE_EXITED},
};

const char *sandbox_phase_name(enum sandbox_phase phase)
{
    return phases[phase].name;
}

bool sandbox_phase_follows(enum sandbox_phase from, enum sandbox_phase to)
{
    return (phases[from].next & (1U << to)) != 0;
}

void sandbox_set_phase(struct sandbox *s, enum sandbox_phase to, const char *reason)
{
    assert(sandbox_phase_follows(s->phase, to));
    LOG(LOG_INFO, "sandbox.phase", LOG_STRING("sandbox", s->entry.record.id),
        LOG_STRING("profile", s->entry.record.profile),
        LOG_I64("generation", s->entry.record.generation),
        LOG_STRING("from", sandbox_phase_name(s->phase)), LOG_STRING("to", sandbox_phase_name(to)),
        LOG_STRING("reason", reason));
    s->phase = to;
    s->entry.record.state = phases[to].state;
}
