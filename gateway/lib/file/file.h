// SPDX-License-Identifier: Apache-2.0
//
// Small files of a program's own: read whole, and replaced so that a reader sees the old content or
// the new. Everything here blocks: for start-up, or a few KiB on a local disk.
#ifndef WRIST_GATEWAY_LIB_FILE_FILE_H
#define WRIST_GATEWAY_LIB_FILE_FILE_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"

int file_write_all(int fd, struct span bytes); // 0, or -1 with errno

// Appends what is left of the file to *out. TOO_LARGE past the buffer's limit; `name` is for
// messages.
int file_read_all(int fd, const char *name, struct buffer *out, struct failure *why);

// Through `path`.new (0600) and a rename; `directory` is an fd or AT_FDCWD. `durable`: also after
// the power failed.
int file_replace(int directory, const char *path, struct span content, bool durable,
                 struct failure *why);

#endif
