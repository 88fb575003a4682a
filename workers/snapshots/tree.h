// SPDX-License-Identifier: Apache-2.0
//
// Everything that lies in the workspace at one moment, in the order of the paths' bytes, with what
// is needed to see that a file has not changed since. Paths are bytes, not text.
#ifndef WRIST_WORKERS_SNAPSHOTS_TREE_H
#define WRIST_WORKERS_SNAPSHOTS_TREE_H

#include <time.h>

#include "gateway/lib/base/arena.h"
#include "gateway/lib/crypto/digest.h"
#include "workers/workspace/workspace.h"

enum {
    TREE_ENTRIES_MAX = 200000,
    TREE_BYTES_MAX = 128 << 20, // of paths, link targets and attributes
};

enum tree_type {
    TREE_FILE,
    TREE_DIRECTORY,
    TREE_LINK, // symbolic
    TREE_FIFO,
    TREE_OTHER,  // a socket or device: noted, never made
    TREE_HIDDEN, // could not be read, or lies too deep: left as it is, with all below it
};

struct tree_entry {
    struct span path; // relative to the workspace, ends with a NUL
    enum tree_type type;
    uint32_t mode; // permission bits
    struct timespec mtime, ctime;
    uint64_t inode, size;
    bool has_digest; // of a file's content
    unsigned char digest[SHA256_SIZE];
    struct span target;     // of a link
    struct span attributes; // extended ones: name NUL, size, value …
};

struct tree {
    struct arena *arena; // owned; what the entries point into
    struct tree_entry *entries;
    size_t count, capacity;
};

void tree_init(struct tree *t);
void tree_fini(struct tree *t);
// A zeroed entry at the end. NULL past the limits.
struct tree_entry *tree_add(struct tree *t, struct span path);
const struct tree_entry *tree_find(const struct tree *t, struct span path);

// `go_on` is asked for each directory; its failure ends the scan. Digests are not taken.
int tree_scan(const struct workspace *ws, struct tree *out,
              int (*go_on)(void *ctx, struct failure *why), void *ctx, struct failure *why);

// The same file with the same content, as far as the file system tells without reading it.
bool tree_is_untouched(const struct tree_entry *before, const struct tree_entry *now);

// The path itself, or something below it.
bool tree_is_within(struct span path, struct span folder);

#endif
