// SPDX-License-Identifier: Apache-2.0
//
// What a principal and its tenant have of a profile, against their limits. Counted as sandboxes
// come and go; nothing is walked.
#ifndef WRIST_GATEWAY_POOL_OWNER_H
#define WRIST_GATEWAY_POOL_OWNER_H

#include "gateway/config/config.h"
#include "gateway/lib/control/link.h"
#include "gateway/pool/pace.h"
#include "gateway/store/store.h"

struct table;

struct owner { // a principal or a tenant, on one profile
    char key[STORE_NAME_SIZE];
    int64_t staying, leaving;
    struct pace starts;
};

// How a sandbox, or the wish for one, counts with its two owners.
enum counted { COUNTED_NOT, COUNTED_STAYING, COUNTED_LEAVING };
struct holding {
    struct owner *principal, *tenant; // NULL while it counts with nobody
    enum counted as;
};

// The names of an owner's buckets in the store as well.
void owner_key_of_principal(char out[STORE_NAME_SIZE], const char *principal,
                            const struct profile *profile);
void owner_key_of_tenant(char out[STORE_NAME_SIZE], const char *tenant,
                         const struct profile *profile);
// Both buckets, or one where tenants have no limit; returns how many.
size_t owner_buckets(struct quota_bucket out[2], const struct profile *profile,
                     const char *principal, const char *tenant);

struct table *owners_new(void);
void owners_free(struct table *owners);
void owners_prune(struct table *owners, int64_t now_us); // of those that have nothing any more
struct owner *owner_get(struct table *owners, const char *key); // made where there is none

void holding_begin(struct holding *h, struct owner *principal, struct owner *tenant);
void holding_count(struct holding *h, enum counted as); // NOT ends it
// 0 where both may start one more now, and it is counted; else after how many microseconds, and
// nothing is. *by_tenant: whose limit it is.
int64_t owners_start(struct owner *principal, struct owner *tenant, const struct profile *profile,
                     int64_t now_us, bool *by_tenant);

#endif
