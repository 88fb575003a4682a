// SPDX-License-Identifier: Apache-2.0
//
// One regular file beneath a root, held by its directory's fd and its name there: what is read,
// checked and replaced is one and the same file, whatever happens to the path meanwhile.
#ifndef WRIST_WORKERS_WORKSPACE_FILE_H
#define WRIST_WORKERS_WORKSPACE_FILE_H

#include <sys/stat.h>

#include "workers/workspace/directory.h"

enum file_intent {
    FILE_READ,   // the file must exist
    FILE_CHANGE, // it must exist, in a root that may be written
    FILE_CREATE, // it may be missing, and its directories too
};

struct file {
    struct directory dir; // owned
    char name[WORKSPACE_NAME_SIZE];
    int fd;         // owned; -1 where there is no file yet
    struct stat st; // of fd
    int lock_fd;    // owned, -1 where it is not locked
    char shown[WORKSPACE_SHOWN_SIZE];
    char canonical[WORKSPACE_SHOWN_SIZE];
};

// Symbolic links at the end of the path are followed beneath the root. Anything but a regular file
// is refused at once: nothing here waits for a FIFO's other end or touches a device.
int file_open(const struct workspace *ws, struct span argument, enum file_intent intent,
              struct file *out, struct failure *why);
void file_close(struct file *f);

// Changes of files in one directory exclude each other, also those of other processes of ours.
// `go_on` is asked while waiting; its failure ends the wait. After a wait the file is opened anew,
// since another one may have taken its place.
int file_lock(struct file *f, int (*go_on)(void *ctx, struct failure *why), void *ctx,
              struct failure *why);

// Puts `content` in the file's place, all or nothing: a temporary file beside it, synced, renamed.
// Mode, owner and extended attributes are kept; a new file gets 0644. FAULT_CONFLICT where the file
// is not the one that was opened any more (or, if it was missing, where there is one now).
int file_replace(struct file *f, struct span content, struct failure *why);

#endif
