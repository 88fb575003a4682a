// SPDX-License-Identifier: Apache-2.0
// Cgroups of v1, of v2 and of both mixed, seen as one: a sandbox has one path in all of them.
#ifndef WRIST_DRIVER_OCI_CGROUP_H
#define WRIST_DRIVER_OCI_CGROUP_H

#include <stdbool.h>

#include "gateway/lib/base/failure.h"

bool cgroups_are_unified(void); // v2 alone
bool cgroups_are_hybrid(void);  // v1 with a v2 beside it
bool cgroups_are_writable(void);
bool cgroups_limit_swap(void);

// `path` begins with a slash and is the same in every hierarchy.
// Ends every process in it and removes it. 0 where there is none.
int cgroup_destroy(const char *path, struct failure *why);
bool cgroup_was_oom(const char *path);
// Removes it where it is empty, in every hierarchy; never an error.
void cgroup_tidy(const char *path);
// The names below it, each at least once.
int cgroup_each(const char *path, int (*each)(void *owner, const char *name, struct failure *why),
                void *owner, struct failure *why);

#endif
