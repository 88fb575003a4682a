// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_GATEWAY_LIB_CONFINE_LIMITS_H
#define WRIST_GATEWAY_LIB_CONFINE_LIMITS_H

#include <stdint.h>

#include "gateway/lib/base/failure.h"

// Both soft and hard; never above the present hard limit, which is then taken instead.
// `resource` is RLIMIT_NOFILE and its like.
int limits_set(int resource, uint64_t value, struct failure *why);
// Raises the soft limit of open files to the hard one; returns what it is now.
uint64_t limits_raise_open_files(void);
uint64_t limits_open_files(void); // the soft limit; 0 where it cannot be told

#endif
