// SPDX-License-Identifier: Apache-2.0
//
// The descendants of this process, found in /proc. For a subreaper: whoever loses its parent
// becomes our child, so nobody can leave the tree, by setsid or otherwise.
#ifndef WRIST_WORKERS_COMMAND_TREE_H
#define WRIST_WORKERS_COMMAND_TREE_H

#include <stddef.h>

// Stops all of them, until none is found that was not stopped, so that none can start another; then
// kills and reaps them; all this until none is left. Returns how many were alive. Other children
// than those of the tree must not exist. *status, where it is not NULL, gets the wait status of
// `pid`.
size_t tree_end(int pid, int *status);

#endif
