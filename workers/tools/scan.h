// SPDX-License-Identifier: Apache-2.0
//
// Finds the matching lines of a text, by the fastest way that gives the same answer as matching
// line by line: a plain search for a literal, the pattern over many lines at once, or line by line.
#ifndef WRIST_WORKERS_TOOLS_SCAN_H
#define WRIST_WORKERS_TOOLS_SCAN_H

#include "workers/tools/regex.h"

struct scan {
    struct regex *re; // borrowed
    bool multiline;
    struct span text; // borrowed: what is searched now
    bool has_cr;
    size_t costly;                                // lines that were given up
    int (*go_on)(void *ctx, struct failure *why); // asked now and then
    void *ctx;
};

struct scan_hit {
    size_t from, to; // whole lines, without the last one's line end
    size_t match;    // where the match begins
};

void scan_begin(struct scan *s, struct span text);
// 1: *hit is the next one in lines that begin at or behind `from` (a line's beginning); 0: none;
// negative: go_on's failure.
int scan_next(struct scan *s, size_t from, struct scan_hit *hit, struct failure *why);

// The end of the line that `at` is in: its LF, or the text's end.
size_t scan_line_end(struct span text, size_t at);
size_t scan_line_start(struct span text, size_t at);

#endif
