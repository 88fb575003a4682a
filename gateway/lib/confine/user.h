// SPDX-License-Identifier: Apache-2.0
//
// Whom a process is to run as. Kept apart from privileges.c because a static program must not link
// the name service.
#ifndef WRIST_GATEWAY_LIB_CONFINE_USER_H
#define WRIST_GATEWAY_LIB_CONFINE_USER_H

#include <sys/types.h>

#include "gateway/lib/base/failure.h"

struct user {
    uid_t uid;
    gid_t gid; // the primary group
};

// A name of the system's user database, "1000" (whose group is looked up, else the same number), or
// "1000:1000". FAULT_NOT_FOUND for a name that nobody has, FAULT_INVALID for "" and bad numbers.
int user_find(const char *name, struct user *out, struct failure *why);

#endif
