// SPDX-License-Identifier: Apache-2.0
//
// Opens directories beneath a root. With openat2 the kernel resolves; where it is missing, or where
// a symbolic link names its target from / (`/workspace/lib`, which the kernel's rule refuses), we
// go component by component and never follow a link that we have not read ourselves.
#ifndef WRIST_WORKERS_WORKSPACE_DIRECTORY_H
#define WRIST_WORKERS_WORKSPACE_DIRECTORY_H

#include "workers/workspace/workspace.h"

enum {
    DIRECTORY_LINKS_MAX = 40, // symbolic links in one path, as in the kernel
    DIRECTORY_DEPTH_MAX = 256,
};

struct directory {
    int fd; // O_PATH, owned; -1 when closed
    enum workspace_root root;
    char path[WORKSPACE_PATH_SIZE]; // without links or dots, relative to the root; "" is the root
};

enum directory_missing { DIRECTORY_MUST_EXIST, DIRECTORY_CREATE };

int directory_open(const struct workspace *ws, const struct workspace_path *path,
                   enum directory_missing missing, struct directory *out, struct failure *why);
void directory_close(struct directory *d);

// A symbolic link's target as a path of the same root: `parent` is the path that the link lies in,
// as it was asked for. FAULT_DENIED where it leads to another place.
int directory_follow(enum workspace_root root, const char *parent, const char *target,
                     char out[WORKSPACE_PATH_SIZE], struct failure *why);
// Reads the link `name` in `dir_fd`. 1: *target is filled, 0: it is not a link (any more).
int directory_read_link(int dir_fd, const char *name, char target[WORKSPACE_PATH_SIZE]);

// Can this kernel resolve beneath a directory?
bool directory_kernel_resolves(int root_fd);

#endif
