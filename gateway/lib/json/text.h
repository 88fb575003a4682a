// SPDX-License-Identifier: Apache-2.0
//
// What stands between two quotes, one character at a time.
#ifndef WRIST_GATEWAY_LIB_JSON_TEXT_H
#define WRIST_GATEWAY_LIB_JSON_TEXT_H

#include "gateway/lib/base/span.h"

// One unit of the text between two quotes: decodes what stands at *at and moves behind it.
// A lone surrogate is given as its own code, U+D800 to U+DFFF.
uint32_t text_next(const char **at, const char *end);
bool text_equals(struct span raw, struct span wanted);

#endif
