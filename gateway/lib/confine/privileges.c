// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/confine/privileges.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// libcap would be one more library for two system calls.
static int capabilities_set(uint64_t permitted, uint64_t effective)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {
        {(uint32_t)effective, (uint32_t)permitted, 0},
        {(uint32_t)(effective >> 32), (uint32_t)(permitted >> 32), 0},
    };
    return (int)syscall(SYS_capset, &head, data);
}

static int capabilities_get(uint64_t *permitted, uint64_t *effective)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {0};
    if (syscall(SYS_capget, &head, data) != 0)
        return -1;
    *permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
    *effective = data[0].effective | (uint64_t)data[1].effective << 32;
    return 0;
}

uint64_t privileges_effective(void)
{
    uint64_t permitted = 0, effective = 0;
    (void)capabilities_get(&permitted, &effective);
    return effective;
}

static int bounding_set_shrink(uint64_t keep, struct failure *why)
{
    bool may = (privileges_effective() & CONFINE_CAPABILITY(CAP_SETPCAP)) != 0;
    for (int number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++) {
        if ((keep & CONFINE_CAPABILITY(number)) != 0)
            continue;
        if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0 && may)
            return failure_errno(why, "drop capability %d from the bounding set", number);
    }
    return 0;
}

int privileges_keep(uint64_t keep, struct failure *why)
{
    int fault = bounding_set_shrink(keep, why);
    if (fault != 0)
        return fault;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL)
        return failure_errno(why, "clear the ambient capabilities");
    uint64_t permitted = 0, effective = 0;
    if (capabilities_get(&permitted, &effective) != 0)
        return failure_errno(why, "read the capabilities");
    if ((keep & ~permitted) != 0)
        return failure_set(why, FAULT_DENIED, "lacks capabilities %llx",
                           (unsigned long long)(keep & ~permitted));
    if (capabilities_set(keep, keep) != 0)
        return failure_errno(why, "give up capabilities");
    return 0;
}

// Only a process without CAP_SETUID can be asked whether the change is for good.
static bool may_return_to_root(void)
{
    return (privileges_effective() & CONFINE_CAPABILITY(CAP_SETUID)) == 0 && setuid(0) == 0;
}

int privileges_become(const struct user *user, struct failure *why)
{
    bool may_set_groups = (privileges_effective() & CONFINE_CAPABILITY(CAP_SETGID)) != 0;
    if (may_set_groups && setgroups(0, NULL) != 0)
        return failure_errno(why, "give up the supplementary groups");
    if (setresgid(user->gid, user->gid, user->gid) != 0)
        return failure_errno(why, "become group %u", (unsigned)user->gid);
    if (setresuid(user->uid, user->uid, user->uid) != 0)
        return failure_errno(why, "become user %u", (unsigned)user->uid);
    if (user->uid != 0 && may_return_to_root())
        return failure_set(why, FAULT_INTERNAL, "could become root again");
    return 0;
}

int privileges_seal(struct failure *why)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failure_errno(why, "set no_new_privs");
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return failure_errno(why, "become undumpable");
    return 0;
}

int privileges_drop(const struct user *user, uint64_t keep, struct failure *why)
{
    int fault = bounding_set_shrink(keep, why);
    if (fault == 0 && keep != 0 && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
        fault = failure_errno(why, "keep capabilities over the change of user");
    if (fault == 0 && user != NULL)
        fault = privileges_become(user, why);
    if (fault == 0)
        fault = privileges_keep(keep, why);
    if (fault == 0)
        fault = privileges_seal(why);
    return fault;
}
