// SPDX-License-Identifier: Apache-2.0
#include "gateway/pool/owner.h"

#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"

void owner_key_of_principal(char out[STORE_NAME_SIZE], const char *principal,
                            const struct profile *profile)
{
    snprintf(out, STORE_NAME_SIZE, "q:%s:%s", principal, profile->name);
}

void owner_key_of_tenant(char out[STORE_NAME_SIZE], const char *tenant,
                         const struct profile *profile)
{
    snprintf(out, STORE_NAME_SIZE, "t:%s:%s", tenant, profile->name);
}

size_t owner_buckets(struct quota_bucket out[2], const struct profile *profile,
                     const char *principal, const char *tenant)
{
    out[0].limit = profile->per_principal;
    out[0].per_minute = profile->starts_per_minute;
    owner_key_of_principal(out[0].name, principal, profile);
    if (tenant[0] == '\0' || (profile->per_tenant == 0 && profile->tenant_starts_per_minute == 0))
        return 1;
    out[1].limit = profile->per_tenant;
    out[1].per_minute = profile->tenant_starts_per_minute;
    owner_key_of_tenant(out[1].name, tenant, profile);
    return 2;
}

struct table *owners_new(void)
{
    return table_new();
}

void owners_free(struct table *owners)
{
    void *row;
    for (size_t at = 0; table_next(owners, &at, NULL, &row);)
        free(row);
    table_free(owners);
}

void owners_prune(struct table *owners, int64_t now_us)
{
    struct span key;
    void *row;
    for (size_t at = 0; table_next(owners, &at, &key, &row);) {
        const struct owner *o = row;
        if (o->staying == 0 && o->leaving == 0 && o->starts.full_us <= now_us)
            free(table_remove(owners, key));
    }
}

struct owner *owner_get(struct table *owners, const char *key)
{
    struct owner *o = table_get(owners, span_from_string(key));
    if (o != NULL)
        return o;
    o = memory_new(sizeof *o);
    span_copy_string(span_from_string(key), o->key, sizeof o->key);
    table_put(owners, span_from_string(key), o);
    return o;
}

static void count(struct holding *h, int by)
{
    struct owner *const both[] = {h->principal, h->tenant};
    for (size_t i = 0; i < ARRAY_COUNT(both); i++) {
        if (h->as == COUNTED_STAYING)
            both[i]->staying += by;
        else if (h->as == COUNTED_LEAVING)
            both[i]->leaving += by;
    }
}

void holding_begin(struct holding *h, struct owner *principal, struct owner *tenant)
{
    *h = (struct holding){.principal = principal, .tenant = tenant, .as = COUNTED_STAYING};
    count(h, 1);
}

void holding_count(struct holding *h, enum counted as)
{
    if (h->principal == NULL)
        return;
    count(h, -1);
    h->as = as;
    count(h, 1);
    if (as == COUNTED_NOT)
        h->principal = h->tenant = NULL;
}

static int64_t wait_us(struct pace *p, int64_t now_us, int64_t per_minute)
{
    return per_minute == 0 ? 0 : pace_take(p, now_us, per_minute, per_minute);
}

int64_t owners_start(struct owner *principal, struct owner *tenant, const struct profile *profile,
                     int64_t now_us, bool *by_tenant)
{
    struct pace mine = principal->starts, ours = tenant->starts;
    int64_t my_wait = wait_us(&mine, now_us, profile->starts_per_minute);
    int64_t our_wait = wait_us(&ours, now_us, profile->tenant_starts_per_minute);
    *by_tenant = our_wait > my_wait;
    if (my_wait > 0 || our_wait > 0)
        return *by_tenant ? our_wait : my_wait;
    principal->starts = mine;
    tenant->starts = ours;
    return 0;
}
