// SPDX-License-Identifier: Apache-2.0
//
// What a profile's sandboxes see as "/": an empty tree of ours with the mount points and the worker
// in it, over which the parts of the image are bound read-only. So the image is never written to,
// needs no mount points of its own, and the same works for root and for rootless drivers.
#ifndef WRIST_DRIVER_OCI_ROOT_H
#define WRIST_DRIVER_OCI_ROOT_H

#include "driver/config.h"
#include "driver/files.h"

#define ROOT_WORKER "/.wrist/wrist-worker" // inside

enum { ROOT_BINDS_MAX = 64 };

struct root_bind {
    char source[FILE_PATH_SIZE]; // on the host
    char target[128];            // inside
};

struct root {
    char digest[DIGEST_SIZE]; // of image and worker
    char path[FILE_PATH_SIZE];
    struct root_bind binds[ROOT_BINDS_MAX];
    size_t bind_count;
    bool mask_local; // an empty /usr/local over the host's
};

// Builds the tree below `directory`, or finds it there from an earlier run. Blocks.
int root_open(struct root *r, const struct driver_profile *profile, const char *directory,
              struct failure *why);

#endif
