// SPDX-License-Identifier: Apache-2.0
//
// The tokens file:
//
//   tokens:
//     - sha256: 9f86d0…        # of the token, 64 hex digits
//       subject: ci
//       tenant: default
//       profiles: [c, python]  # none: all
//       expires: 2027-01-31T00:00:00Z
//       provider: gemini
#ifndef WRIST_GATEWAY_AUTH_TOKENS_H
#define WRIST_GATEWAY_AUTH_TOKENS_H

#include "gateway/auth/principal.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/crypto/digest.h"

struct token_set; // immutable once loaded

struct token_set *token_set_load(const char *file, struct failure *why);
void token_set_free(struct token_set *t);
size_t token_set_count(const struct token_set *t);
// The principal of the token with this hash (not held), or NULL. *expires_ms is wall time, 0 for
// never.
struct principal *token_set_find(const struct token_set *t, const unsigned char hash[SHA256_SIZE],
                                 int64_t *expires_ms);

#endif
