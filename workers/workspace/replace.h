// SPDX-License-Identifier: Apache-2.0
//
// A file in the making: written under a random name beside its place, then put there in one step.
// Until then nothing of it can be seen; closing without a commit leaves nothing behind.
#ifndef WRIST_WORKERS_WORKSPACE_REPLACE_H
#define WRIST_WORKERS_WORKSPACE_REPLACE_H

#include <sys/stat.h>

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

enum { REPLACEMENT_NAME_SIZE = 48 };

struct replacement {
    int dir_fd; // borrowed
    int fd;     // owned; -1 after the commit
    bool made;  // the temporary name exists
    char name[REPLACEMENT_NAME_SIZE];
};

int replacement_open(struct replacement *r, int dir_fd, struct failure *why);
// Only the random name, for what is not written but linked there.
void replacement_name(struct replacement *r, int dir_fd);
int replacement_write(struct replacement *r, struct span bytes, struct failure *why);
int replacement_set_mode(struct replacement *r, mode_t mode, struct failure *why);
// Mode, owner (as far as we may), extended attributes with ACLs. Set-id bits go where the owner
// cannot be kept.
int replacement_copy_attributes(struct replacement *r, int from_fd, const struct stat *from,
                                struct failure *why);
int replacement_sync(struct replacement *r, struct failure *why);
int replacement_commit(struct replacement *r, const char *name, struct failure *why);
// FAULT_CONFLICT where the name is taken.
int replacement_commit_new(struct replacement *r, const char *name, struct failure *why);
void replacement_close(struct replacement *r);

#endif
