// SPDX-License-Identifier: Apache-2.0
//
// Reads a tar stream that arrives in pieces cut anywhere: ustar, pax (path, linkpath, size, mtime),
// GNU long names and sizes. It knows nothing of files; what a member means is the callbacks'
// matter.
#ifndef WRIST_WORKERS_WORKSPACE_TAR_H
#define WRIST_WORKERS_WORKSPACE_TAR_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

enum tar_kind {
    TAR_FILE,
    TAR_DIRECTORY,
    TAR_SYMLINK,
    TAR_HARDLINK,
    TAR_OTHER, // devices, FIFOs, sparse files: never taken
};

struct tar_member {
    enum tar_kind kind;
    struct span path;   // as in the archive; without NULs
    struct span target; // of links
    uint64_t size;      // of a file's content
    uint32_t mode;
    int64_t mtime_s;
    char type; // the archive's own letter, for messages
};

struct tar_ops {
    // A failure of any ends the stream and is its result. Borrowed until the call returns.
    int (*member)(void *ctx, const struct tar_member *m, struct failure *why);
    int (*content)(void *ctx, struct span bytes, struct failure *why);
    int (*end)(void *ctx, struct failure *why); // of a file's content; also of an empty one
};

struct tar;

struct tar *tar_new(const struct tar_ops *ops, void *ctx);
void tar_free(struct tar *t);
int tar_feed(struct tar *t, struct span bytes, struct failure *why);
// The stream is over: fails where it ends within a member or holds nothing.
int tar_finish(struct tar *t, struct failure *why);

#endif
