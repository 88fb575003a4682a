// SPDX-License-Identifier: Apache-2.0
//
// Glob patterns: `*` and `?` within a path segment, `[a-z]`, `[!a-z]`, `[[:digit:]]`, `**` across
// segments, `\x` for x itself, braces with pattern_expand. Time is bounded by the product of the
// lengths: there is no nested backtracking.
#ifndef WRIST_WORKERS_WORKSPACE_PATTERN_H
#define WRIST_WORKERS_WORKSPACE_PATTERN_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

// The whole path (without a slash at either end) against one pattern without braces.
bool pattern_matches(struct span pattern, struct span path);

enum { PATTERN_ALTERNATIVES_MAX = 1024 };

struct pattern_set {
    size_t count;
    struct span *pattern; // owned array and texts
    bool *has_slash;      // owned; those without are matched against the last segment only
};

// `{a,b{c,d}}` becomes a, bc, bd. FAULT_INVALID where braces or brackets stay open, or there are
// too many alternatives.
int pattern_set_parse(struct span text, struct pattern_set *out, struct failure *why);
void pattern_set_fini(struct pattern_set *s);
bool pattern_set_matches(const struct pattern_set *s, struct span path);

#endif
