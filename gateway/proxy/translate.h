// SPDX-License-Identifier: Apache-2.0
//
// The stage that speaks a provider's dialect: lists on the way out, calls on the way in, results on
// the way out. For a client without a provider it does nothing. Its steps are declared in post.h.
#ifndef WRIST_GATEWAY_PROXY_TRANSLATE_H
#define WRIST_GATEWAY_PROXY_TRANSLATE_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"

struct profile;
struct provider;
struct reply;
struct sse_reader;
struct visit;

struct translation {
    bool is_on;                // the answer is rewritten
    bool rewrites_texts;       // text blocks too
    struct reply *reply;       // borrowed; where events go
    struct span name;          // the tool's own; absent where it was not renamed
    struct buffer call;        // the rewritten message
    struct buffer answer;      // JSON as it comes, or what one event becomes
    struct sse_reader *events; // owned; NULL for JSON
    struct failure *trouble;   // owned; made with the head of an answer
};
void translation_init(struct translation *t);
void translation_fini(struct translation *t);

// Whose dialect the client of a visit gets. `client`: the provider by the name it gave itself.
int translation_find(struct visit *v, const struct profile *profile, struct span client,
                     const struct provider **out, struct failure *why);

// An answer begins: JSON, which is collected, or, with `events`, a stream whose events are written
// there as they become complete. The end fails where it was cut inside an event, or one could not
// be rewritten.
void translation_begin(struct translation *t, bool rewrites_texts, struct reply *events);
void translation_feed(struct translation *t, struct span bytes);
int translation_end_events(struct translation *t, struct failure *why);

#endif
