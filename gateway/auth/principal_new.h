// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
#ifndef WRIST_GATEWAY_AUTH_PRINCIPAL_NEW_H
#define WRIST_GATEWAY_AUTH_PRINCIPAL_NEW_H

#include "gateway/auth/principal.h"

struct principal_values {
    const char *issuer, *subject, *tenant, *provider;
    const char *const *profiles; // none: all
    size_t profile_count;
};

struct principal *principal_new(const struct principal_values *values); // held once

#endif
