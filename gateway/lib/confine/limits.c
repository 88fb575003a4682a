// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/confine/limits.h"

#include <stddef.h>
#include <sys/resource.h>

int limits_set(int resource, uint64_t value, struct failure *why)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) != 0)
        return failure_errno(why, "getrlimit %d", resource);
    rlim_t want = value < now.rlim_max ? (rlim_t)value : now.rlim_max;
    struct rlimit next = {want, want};
    if (setrlimit((__rlimit_resource_t)resource, &next) != 0)
        return failure_errno(why, "setrlimit %d", resource);
    return 0;
}

uint64_t limits_raise_open_files(void)
{
    struct rlimit now;
    if (getrlimit(RLIMIT_NOFILE, &now) != 0)
        return 0;
    now.rlim_cur = now.rlim_max;
    // An unlimited hard limit may be refused: the old one stays.
    (void)setrlimit(RLIMIT_NOFILE, &now);
    return limits_open_files();
}

uint64_t limits_open_files(void)
{
    struct rlimit now;
    return getrlimit(RLIMIT_NOFILE, &now) == 0 ? now.rlim_cur : 0;
}
