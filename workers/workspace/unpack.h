// SPDX-License-Identifier: Apache-2.0
//
// Unpacks a tar stream beneath a root. No member leaves the root, whatever it is called and
// whatever links stand there; devices and FIFOs are refused, set-id bits dropped, files put in
// place whole. The first member that is refused ends it, with the member's name in the message;
// what came before it stays.
#ifndef WRIST_WORKERS_WORKSPACE_UNPACK_H
#define WRIST_WORKERS_WORKSPACE_UNPACK_H

#include "workers/workspace/workspace.h"

struct unpack;

struct unpack_limits {
    uint64_t members;
    uint64_t bytes; // of all files together
    size_t depth;   // names in a path
};
extern const struct unpack_limits unpack_limits_default; // 200,000; 4 GiB; 64

struct unpack_counts {
    uint64_t files; // regular files and links
    uint64_t bytes;
};

// Writes to the root even where tools may not (inputs); its folder must be writable to the caller.
struct unpack *unpack_new(const struct workspace *ws, enum workspace_root root,
                          const struct unpack_limits *limits);
void unpack_free(struct unpack *u);
// Pieces of the stream, cut anywhere. After a failure nothing more may be fed.
int unpack_feed(struct unpack *u, struct span bytes, struct failure *why);
int unpack_finish(struct unpack *u, struct unpack_counts *out, struct failure *why);

#endif
