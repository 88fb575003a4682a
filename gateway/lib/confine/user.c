// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/confine/user.h"

#include <errno.h>
#include <pwd.h>

#include "gateway/lib/base/span.h"

enum { LOOKUP_BYTES = 16384 };

static int user_by_name(const char *name, struct user *out, struct failure *why)
{
    char room[LOOKUP_BYTES];
    struct passwd row, *found = NULL;
    int error = getpwnam_r(name, &row, room, sizeof room, &found);
    if (found == NULL && error != 0) {
        errno = error;
        return failure_errno(why, "user %s", name);
    }
    if (found == NULL)
        return failure_set(why, FAULT_NOT_FOUND, "there is no user %s", name);
    *out = (struct user){found->pw_uid, found->pw_gid};
    return 0;
}

static int id_parse(struct span text, uint64_t *out, const char *whole, struct failure *why)
{
    // (uid_t)-1 means "leave as it is" to the kernel.
    if (!span_to_u64(text, out) || *out >= UINT32_MAX)
        return failure_set(why, FAULT_INVALID, "user %s: expected a name, uid or uid:gid", whole);
    return 0;
}

int user_find(const char *name, struct user *out, struct failure *why)
{
    if (name == NULL || name[0] == '\0')
        return failure_set(why, FAULT_INVALID, "no user is named");
    if (name[0] < '0' || name[0] > '9')
        return user_by_name(name, out, why);

    struct span rest = span_from_string(name);
    struct span first = span_split(&rest, ':');
    uint64_t uid, gid;
    int fault = id_parse(first, &uid, name, why);
    if (fault != 0)
        return fault;
    gid = uid;
    if (!span_is_absent(rest)) {
        fault = id_parse(rest, &gid, name, why);
        if (fault != 0)
            return fault;
    } else {
        char room[LOOKUP_BYTES];
        struct passwd row, *found = NULL;
        if (getpwuid_r((uid_t)uid, &row, room, sizeof room, &found) == 0 && found != NULL)
            gid = found->pw_gid;
    }
    *out = (struct user){(uid_t)uid, (gid_t)gid};
    return 0;
}
