// SPDX-License-Identifier: Apache-2.0
//
// Looks for patterns in a stream of output, line by line. It never stops reading: of a line beyond
// LINE_WATCH_BYTES only the beginning is looked at.
#ifndef WRIST_WORKERS_COMMAND_LINE_WATCH_H
#define WRIST_WORKERS_COMMAND_LINE_WATCH_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

enum { LINE_WATCH_PATTERNS_MAX = 32, LINE_WATCH_BYTES = 8 << 10 };

struct line_watch;

// A bad pattern is told by its number (from 0) and what is wrong with it. Copied by a fork.
int line_watch_new(const struct span *patterns, size_t count, struct line_watch **out,
                   struct failure *why);
void line_watch_free(struct line_watch *w);

struct line_found {
    uint32_t pattern; // the first that matches, by its number
    uint64_t offset;  // of the line, in the stream
    struct span line; // at most LINE_WATCH_BYTES of it; gone after the call
};
// Calls `found` for each line that has now come to its end; `line_watch_end` for one without.
void line_watch_feed(struct line_watch *w, struct span bytes,
                     void (*found)(void *ctx, const struct line_found *f), void *ctx);
void line_watch_end(struct line_watch *w, void (*found)(void *ctx, const struct line_found *f),
                    void *ctx);

#endif
