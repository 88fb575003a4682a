// SPDX-License-Identifier: Apache-2.0
// Warm sandboxes that are not handed out any more: older than a warm one may be, or made of what
// their profile no longer is.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"
#include "gateway/pool/state.h"

// Those that were started together do not end together: up to an eighth earlier, by their ids.
static int64_t age_limit_ms(const struct sandbox *s)
{
    enum { PARTS = 16 };
    const char *digit = strchr("0123456789abcdef", s->id[0]);
    int64_t part = digit != NULL ? s->id[0] % PARTS : 0;
    return s->profile->warm_age_ms - s->profile->warm_age_ms / 8 * part / PARTS;
}

bool ward_is_outdated(const struct ward *w, enum ending *why)
{
    const struct sandbox *s = w->sandbox;
    const struct pool *p = pool_of(w->b, s->profile);
    bool stale =
        p->revision[0] != '\0' && s->revision[0] != '\0' && strcmp(p->revision, s->revision) != 0;
    *why = stale ? ENDING_STALE : ENDING_AGED;
    return stale || loop_now_ms(w->b->loop) - s->born_ms >= age_limit_ms(s);
}

void ward_retire(struct ward *w, enum ending why)
{
    ward_end(w, why,
             why == ENDING_STALE ? "its profile has changed since it was made"
                                 : "warm for longer than a sandbox is kept warm");
}

void pool_revised(struct pool *p, const char *revision)
{
    bool changed = p->revision[0] != '\0' && strcmp(p->revision, revision) != 0;
    span_copy_string(span_from_string(revision), p->revision, sizeof p->revision);
    if (!changed)
        return;
    LOG(LOG_INFO, "profile.changed", LOG_STRING("profile", p->profile->name),
        LOG_STRING("revision", p->revision));
    pool_forgive(p); // what made its starts fail may be what was changed
    loop_defer(p->b->loop, &p->b->janitor);
}
