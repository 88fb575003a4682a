// SPDX-License-Identifier: Apache-2.0
//
// The headers of a tar stream (pax), whose other end is workers/workspace/tar.
#ifndef WRIST_WORKERS_EXPORTS_ARCHIVE_H
#define WRIST_WORKERS_EXPORTS_ARCHIVE_H

#include <sys/stat.h>

#include "gateway/lib/base/buffer.h"

enum { ARCHIVE_BLOCK = 512 };

// A member's header, with a pax header before it where a name or number does not fit. Owners are
// not told. `target` is a link's, else absent; `size` that of a file's content, which follows,
// padded to a block.
int archive_member(struct buffer *out, struct span path, struct span target, const struct stat *st,
                   uint64_t size);
int archive_end(struct buffer *out);
static inline size_t archive_padding(uint64_t size)
{
    return (size_t)((ARCHIVE_BLOCK - size % ARCHIVE_BLOCK) % ARCHIVE_BLOCK);
}

#endif
