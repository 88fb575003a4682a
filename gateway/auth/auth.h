// SPDX-License-Identifier: Apache-2.0
//
// From an Authorization header to a principal. The tokens file holds SHA-256 hashes only; a reload
// that fails keeps the tokens that were there.
#ifndef WRIST_GATEWAY_AUTH_AUTH_H
#define WRIST_GATEWAY_AUTH_AUTH_H

#include "gateway/auth/principal.h"
#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/failure.h"

struct auth;

// On failure *why says file, line, key and what was expected.
struct auth *auth_new(const char *tokens_file, const struct clock *clock, struct failure *why);
int auth_reload(struct auth *a, struct failure *why);
void auth_free(struct auth *a);
size_t auth_token_count(const struct auth *a);

// A held principal (principal_drop gives it back), or NULL with *why: UNAUTHENTICATED, and a text
// that may be shown to the client. `authorization` is the header's value, absent where there is
// none.
struct principal *auth_check(struct auth *a, struct span authorization, struct failure *why);

#endif
