// SPDX-License-Identifier: Apache-2.0
//
// The two trees that tools may reach: /workspace (read and write) and /inputs (read only for
// tools). Containment is the kernel's work: every path is resolved beneath a directory that is
// already open, so exchanging a directory for a symbolic link meanwhile gains nothing. No decision
// is made on a path's text.
#ifndef WRIST_WORKERS_WORKSPACE_WORKSPACE_H
#define WRIST_WORKERS_WORKSPACE_WORKSPACE_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

struct workspace;

enum workspace_root { WORKSPACE_MAIN, WORKSPACE_INPUTS, WORKSPACE_ROOTS };

enum {
    WORKSPACE_PATH_SIZE = 4096, // with the closing NUL
    WORKSPACE_NAME_SIZE = 256,
};

struct workspace_options {
    const char *main_folder;   // usually "/workspace"
    const char *inputs_folder; // usually "/inputs"; NULL: there are no inputs
    bool without_openat2;      // resolve component by component, as on a kernel without openat2
};

int workspace_open(const struct workspace_options *options, struct workspace **out,
                   struct failure *why);
void workspace_close(struct workspace *ws);

bool workspace_has_root(const struct workspace *ws, enum workspace_root root);
// "/workspace", "/inputs": what brains call it, wherever the folder lies.
const char *workspace_root_name(enum workspace_root root);
// Borrowed directory fd of a root, -1 where there is none.
int workspace_root_fd(const struct workspace *ws, enum workspace_root root);
bool workspace_uses_openat2(const struct workspace *ws);

// What an argument names: a root and the rest of the path, which is not yet resolved. Absolute
// paths outside the roots are refused here, everything else where it is opened.
struct workspace_path {
    enum workspace_root root;
    char rest[WORKSPACE_PATH_SIZE]; // relative to the root, "" for the root itself
};
int workspace_path_parse(const struct workspace *ws, struct span argument,
                         struct workspace_path *out, struct failure *why);

// How a path is shown to the brain: relative in /workspace, absolute in /inputs, so that it can be
// used as an argument as it is.
enum { WORKSPACE_SHOWN_SIZE = WORKSPACE_PATH_SIZE + 16 };
void workspace_path_show(enum workspace_root root, const char *rest,
                         char out[WORKSPACE_SHOWN_SIZE]);
// "/workspace/a/b": the same for every argument that leads to the file; the key of the read table.
void workspace_path_canonical(enum workspace_root root, const char *rest,
                              char out[WORKSPACE_SHOWN_SIZE]);

#endif
