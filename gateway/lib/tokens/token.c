// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/tokens/token.h"

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"

void token_new(char out[TOKEN_SIZE])
{
    unsigned char secret[32];
    random_bytes(secret, sizeof secret);
    memcpy(out, TOKEN_PREFIX, sizeof TOKEN_PREFIX);
    base64url_encode(span_of(secret, sizeof secret), out + sizeof TOKEN_PREFIX - 1);
    memory_wipe(secret, sizeof secret);
}
