// SPDX-License-Identifier: Apache-2.0
// Whether a want may have a sandbox now, has to wait for one of its principal's to leave, or is
// refused by a limit, which the answer names.
#include <inttypes.h>

#include "gateway/lib/base/memory.h"
#include "gateway/pool/state.h"

enum { TRY_AGAIN_MS = 5000 };

static struct owner *principal_of(struct want *w)
{
    char key[STORE_NAME_SIZE];
    owner_key_of_principal(key, w->principal, w->pool->profile);
    return owner_get(w->pool->b->owners, key);
}

static struct owner *tenant_of(struct want *w)
{
    char key[STORE_NAME_SIZE];
    owner_key_of_tenant(key, w->tenant, w->pool->profile);
    return owner_get(w->pool->b->owners, key);
}

void want_count(struct want *w)
{
    holding_begin(&w->holding, principal_of(w), tenant_of(w));
}

void want_refuse(struct want *w, bool by_tenant)
{
    const struct profile *profile = w->pool->profile;
    struct failure why;
    failure_set(&why, FAULT_QUOTA,
                "%s %" PRId64 " sandboxes of profile %s in use, which is the limit",
                by_tenant ? "your tenant has" : "you have",
                by_tenant ? profile->per_tenant : profile->per_principal, profile->name);
    want_fail(w, &why, TRY_AGAIN_MS);
}

void want_refuse_rate(struct want *w, bool by_tenant, int64_t wait_ms)
{
    const struct profile *profile = w->pool->profile;
    struct failure why;
    failure_set(&why, FAULT_QUOTA, "%s start %" PRId64 " sandboxes of profile %s a minute",
                by_tenant ? "your tenant may" : "you may",
                by_tenant ? profile->tenant_starts_per_minute : profile->starts_per_minute,
                profile->name);
    want_fail(w, &why, wait_ms);
}

static bool has_room(const struct owner *o, int64_t limit)
{
    return limit == 0 || o->staying + o->leaving < limit;
}

static bool will_have_room(const struct owner *o, int64_t limit)
{
    return limit == 0 || o->staying < limit;
}

enum admission want_admit(struct want *w)
{
    struct pool *p = w->pool;
    const struct profile *profile = p->profile;
    struct owner *principal = principal_of(w), *tenant = tenant_of(w);
    bool by_tenant, parked = false;
    if (!has_room(principal, profile->per_principal) || !has_room(tenant, profile->per_tenant)) {
        parked = (will_have_room(principal, profile->per_principal) &&
                  will_have_room(tenant, profile->per_tenant)) ||
                 evict_one(p, w->principal);
        if (!parked) {
            want_refuse(w, will_have_room(principal, profile->per_principal));
            return REFUSED;
        }
    }
    if (!w->charged) {
        int64_t wait_us =
            owners_start(principal, tenant, profile, loop_now_us(p->b->loop), &by_tenant);
        if (wait_us > 0) {
            want_refuse_rate(w, by_tenant, wait_us / 1000 + 1);
            return REFUSED;
        }
    }
    w->charged = true;
    return parked ? PARKED : ADMITTED;
}
