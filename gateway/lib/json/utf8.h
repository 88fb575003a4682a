// SPDX-License-Identifier: Apache-2.0
//
// Strict UTF-8 (Unicode table 3-7): no overlong forms, no surrogates, nothing past U+10FFFF.
#ifndef WRIST_GATEWAY_LIB_JSON_UTF8_H
#define WRIST_GATEWAY_LIB_JSON_UTF8_H

#include "gateway/lib/base/span.h"

struct utf8_step {
    size_t size;   // bytes of this character, or of the maximal bad part; 0 only at the end
    bool valid;    // one well-formed character
    bool complete; // false: the text ends inside a character that may still become valid
};

struct utf8_step utf8_step(const char *at, const char *end);
bool utf8_is_valid(struct span text);
// Any scalar value, and surrogates too where the caller lets them come (WTF-8). Returns the size.
size_t utf8_encode(uint32_t code, char out[4]);

#endif
