// SPDX-License-Identifier: Apache-2.0
//
// Unpacks a tar stream (ustar, pax, GNU long names) beneath a root. Runs in a hand, so it may
// block. Files and directories only: links, devices and names that leave the root are refused, and
// nothing after the refused member is unpacked.
#ifndef WRIST_WORKERS_HANDS_UNPACK_H
#define WRIST_WORKERS_HANDS_UNPACK_H

#include "workers/workspace/workspace.h"

enum {
    UNPACK_MEMBERS_MAX = 100000,
    UNPACK_DEPTH_MAX = 64,
};
#define UNPACK_BYTES_MAX (UINT64_C(4) << 30)

struct unpack_counts {
    uint64_t files, bytes;
};

// `next` hands out the stream's next piece, valid until it is called again; an absent one at the
// end. Before the first call *piece is absent.
int unpack_run(const struct workspace *ws, enum workspace_root root,
               int (*next)(void *ctx, struct span *piece), void *ctx, struct unpack_counts *counts,
               struct failure *why);

#endif
