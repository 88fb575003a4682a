// SPDX-License-Identifier: Apache-2.0
//
// The stage that speaks a provider's dialect: lists on the way out, calls on the way in, results on
// the way out. For a client without a provider it does nothing. Its steps are declared in post.h.
#ifndef WRIST_GATEWAY_PROXY_TRANSLATE_H
#define WRIST_GATEWAY_PROXY_TRANSLATE_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"

struct sse_reader;

struct translation {
    bool is_on;                // the answer is rewritten
    struct span name;          // the tool's own; absent where it was not renamed
    struct buffer call;        // the rewritten message
    struct buffer answer;      // JSON as it comes, or what one event becomes
    struct sse_reader *events; // owned; NULL for JSON
    struct failure *trouble;   // owned; made with the head of an answer
};
void translation_init(struct translation *t);
void translation_fini(struct translation *t);

#endif
