// SPDX-License-Identifier: Apache-2.0
//
// Inside of a document: for the files of this folder, and for the look-ups that json.h inlines.
//
// Tokens stand in source order. A member is two tokens, its key and its value behind it. `after` is
// the index past the token's subtree, so the next sibling, if there is one, stands there.
#ifndef WRIST_GATEWAY_LIB_JSON_TOKEN_H
#define WRIST_GATEWAY_LIB_JSON_TOKEN_H

#include "gateway/lib/base/span.h"

enum {
    TOKEN_TYPE_BITS = 4,
    TOKEN_PARENT_BITS = 27,
    TOKEN_NO_PARENT = (1 << TOKEN_PARENT_BITS) - 1
};
#define TOKEN_KEY 8 // beside enum json_type

struct token {
    uint32_t start, end; // of the source; a string with its quotes
    uint32_t after;
    uint32_t type : TOKEN_TYPE_BITS;
    uint32_t escaped : 1; // a string or key with a backslash in it
    uint32_t parent : TOKEN_PARENT_BITS;
};
_Static_assert(sizeof(struct token) == 16, "json_limits.tokens counts 16 bytes each");

struct json {
    struct span source;   // borrowed
    struct token *tokens; // owned
    uint32_t count;
};

static inline bool token_exists(const struct json *j, int node)
{
    return j != NULL && node >= 0 && (uint32_t)node < j->count;
}

#endif
