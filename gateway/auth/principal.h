// SPDX-License-Identifier: Apache-2.0
//
// Who the brain is: (issuer, subject, tenant), proved by a credential. Survives a change of token.
#ifndef WRIST_GATEWAY_AUTH_PRINCIPAL_H
#define WRIST_GATEWAY_AUTH_PRINCIPAL_H

#include <stdbool.h>

#include "gateway/lib/base/span.h"
#include "gateway/lib/control/link.h"

// Lives in the auth module while its credential is loaded; an exchange keeps a counted reference
// (principal_hold, principal_drop), since a reload may drop the credential under it.
struct principal;

const char *principal_hash(const struct principal *p); // SHA-256 over issuer, subject, tenant; hex
// Of another principal of the same issuer.
void principal_hash_beside(const struct principal *p, const char *subject, const char *tenant,
                           char out[PRINCIPAL_HASH_SIZE]);
const char *principal_subject(const struct principal *p);
const char *principal_tenant(const struct principal *p);
const char *principal_tenant_hash(const struct principal *p); // an id's size in hex
const char *principal_provider(const struct principal *p); // schema dialect, "" where none is set
bool principal_may_use(const struct principal *p, const char *profile);
struct principal *principal_hold(struct principal *p);
void principal_drop(struct principal *p);

#endif
