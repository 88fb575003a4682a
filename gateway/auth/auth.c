// SPDX-License-Identifier: Apache-2.0
#include "gateway/auth/auth.h"

#include <stdlib.h>

#include "gateway/auth/tokens.h"
#include "gateway/lib/base/memory.h"

enum { TOKEN_MOST = 4096 };

struct auth {
    const struct clock *clock; // borrowed
    char *tokens_file;         // owned
    struct token_set *tokens;  // owned
};

struct auth *auth_new(const char *tokens_file, const struct clock *clock, struct failure *why)
{
    struct token_set *tokens = token_set_load(tokens_file, why);
    if (tokens == NULL)
        return NULL;
    struct auth *a = memory_new(sizeof *a);
    *a = (struct auth){clock, memory_copy_string(tokens_file), tokens};
    return a;
}

int auth_reload(struct auth *a, struct failure *why)
{
    struct failure ours;
    struct token_set *tokens = token_set_load(a->tokens_file, &ours);
    if (tokens == NULL)
        return failure_set(why, (enum fault)ours.fault, "%s", ours.text);
    token_set_free(a->tokens); // exchanges in flight hold their principals
    a->tokens = tokens;
    return 0;
}

void auth_free(struct auth *a)
{
    if (a == NULL)
        return;
    token_set_free(a->tokens);
    free(a->tokens_file);
    free(a);
}

size_t auth_token_count(const struct auth *a)
{
    return token_set_count(a->tokens);
}

// RFC 6750: the scheme in any case, spaces, one token of visible characters.
static int bearer_token(struct span authorization, struct span *out, struct failure *why)
{
    struct span rest = span_trim(authorization);
    struct span scheme = span_split(&rest, ' ');
    if (!span_equals_nocase(scheme, SPAN_LITERAL("bearer")))
        return failure_set(why, FAULT_UNAUTHENTICATED,
                           "expected `Authorization: Bearer <token>`, got another scheme");
    struct span token = span_trim(rest);
    if (token.size == 0 || token.size > TOKEN_MOST)
        return failure_set(why, FAULT_UNAUTHENTICATED, "the bearer token is empty or too long");
    for (size_t i = 0; i < token.size; i++)
        if (token.data[i] <= ' ' || token.data[i] > '~')
            return failure_set(why, FAULT_UNAUTHENTICATED,
                               "the bearer token has a character that no token has");
    *out = token;
    return 0;
}

struct principal *auth_check(struct auth *a, struct span authorization, struct failure *why)
{
    unsigned char hash[SHA256_SIZE];
    struct span token;
    int64_t expires_ms;
    if (span_is_absent(authorization)) {
        failure_set(why, FAULT_UNAUTHENTICATED,
                    "a token is needed: `Authorization: Bearer <token>`");
        return NULL;
    }
    if (bearer_token(authorization, &token, why) != 0)
        return NULL;
    sha256(token, hash);
    struct principal *p = token_set_find(a->tokens, hash, &expires_ms);
    if (p == NULL) {
        failure_set(why, FAULT_UNAUTHENTICATED, "the token is not known here");
        return NULL;
    }
    if (expires_ms != 0 && clock_wall_ms(a->clock) >= expires_ms) {
        failure_set(why, FAULT_UNAUTHENTICATED, "the token has expired");
        return NULL;
    }
    return principal_hold(p);
}
