// SPDX-License-Identifier: Apache-2.0
//
// Goes through all regular files below a directory, or through everything in it. Symbolic links are
// not followed, each directory is opened in its parent's fd, and what cannot be read is counted and
// passed over. The files in the making of replace.h are left out, and the content of .git where not
// everything is asked for.
#ifndef WRIST_WORKERS_WORKSPACE_WALK_H
#define WRIST_WORKERS_WORKSPACE_WALK_H

#include "workers/workspace/directory.h"

enum {
    WALK_DEPTH_MAX = 128,
    WALK_ENTRIES_MAX = 500000, // of one directory
};

struct walk_file {
    int dir_fd; // borrowed: where the file lies
    const char *name;
    unsigned char type; // DT_REG; with `everything` any other
    struct span path;   // relative to the root, ends with a NUL
    struct span below;  // the same, relative to where the walk began
};

struct walk_report {
    size_t unreadable;                 // directories
    size_t too_deep;                   // directories below WALK_DEPTH_MAX, or with too many entries
    char example[WORKSPACE_PATH_SIZE]; // the first of them
};

struct walk_options {
    bool include_ignored;
    bool everything; // directories (before what is in them), links, whatever there is, and .git
    bool sorted;     // by name within each directory, else as they come
    // A failure ends the walk and is its result.
    int (*file)(void *ctx, const struct walk_file *f, struct failure *why);
    // Asked before each directory: false passes over it. May be NULL.
    bool (*enter)(void *ctx, struct span below);
    // Asked for each directory; a failure ends the walk.
    int (*go_on)(void *ctx, struct failure *why);
    // What could not be read or lies too deep. May be NULL.
    void (*passed_over)(void *ctx, struct span path);
    void *ctx;
};

int walk(const struct workspace *ws, const struct directory *start,
         const struct walk_options *options, struct walk_report *report, struct failure *why);

#endif
