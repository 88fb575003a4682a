// SPDX-License-Identifier: Apache-2.0
//
// What differs between two trees, in the order of their paths.
#ifndef WRIST_WORKERS_SNAPSHOTS_COMPARE_H
#define WRIST_WORKERS_SNAPSHOTS_COMPARE_H

#include "workers/snapshots/tree.h"

enum difference {
    DIFFERENCE_ADDED,    // only in `after`
    DIFFERENCE_REMOVED,  // only in `before`
    DIFFERENCE_CONTENT,  // of a file, or a link's target
    DIFFERENCE_TYPE,     // a file became a directory, …
    DIFFERENCE_METADATA, // mode, time or extended attributes alone
};
char difference_letter(enum difference d); // as git says it: A D M T m

struct comparison {
    const struct tree *before;
    struct tree *after; // digests are taken where they are needed
    // Takes the digest of a file of `after` that has none.
    int (*digest)(void *ctx, struct tree_entry *e, struct failure *why);
    // `before` or `after` is NULL where it is only in the other. A failure ends the comparison.
    int (*found)(void *ctx, enum difference d, const struct tree_entry *before,
                 const struct tree_entry *after, struct failure *why);
    void *ctx;
};
// What lies in a hidden part of either tree is left out.
int compare_trees(const struct comparison *c, struct failure *why);

#endif
