// SPDX-License-Identifier: Apache-2.0
//
// Small files and directories of the driver's own. Everything here blocks: at start, in a job's
// process, or for a few KiB on a local disk.
#ifndef WRIST_DRIVER_FILES_H
#define WRIST_DRIVER_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"

enum { FILE_PATH_SIZE = 512 };

// snprintf with an end: FAULT_TOO_LARGE where it does not fit.
int path_format(char out[FILE_PATH_SIZE], struct failure *why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void fd_close(int *fd); // for CLEANUP; -1 is none
int file_read(const char *path, struct buffer *out, struct failure *why);
int file_write(const char *path, struct span content, mode_t mode, struct failure *why);
int file_copy(const char *from, const char *to, mode_t mode, struct failure *why);

// Makes it where it is missing (its parent must be there) and gives it this mode, whatever the
// umask.
int directory_make(const char *path, mode_t mode, struct failure *why);
int directory_make_all(const char *path, mode_t mode, struct failure *why); // with its parents
// Calls `each` for every entry but . and ..; a missing directory has none. Stops at a fault.
int directory_each(const char *path,
                   int (*each)(void *owner, const char *name, struct failure *why), void *owner,
                   struct failure *why);
// Removes a file or a whole tree; 0 where there is nothing. Never follows links and never enters
// another file system, so that a mount that should not be there is told and not emptied.
int tree_remove(const char *path, struct failure *why);

#endif
