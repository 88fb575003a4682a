// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"

enum { XATTR_BYTES = 64 << 10 }; // the kernel's own limit for a list and for a value

void replacement_name(struct replacement *r, int dir_fd)
{
    char id[ID_SIZE];
    id_new(id);
    *r = (struct replacement){.dir_fd = dir_fd, .fd = -1};
    snprintf(r->name, sizeof r->name, ".wrist-%s", id);
}

int replacement_open(struct replacement *r, int dir_fd, struct failure *why)
{
    replacement_name(r, dir_fd);
    r->fd = openat(dir_fd, r->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (r->fd < 0)
        return failure_errno(why, "make a temporary file");
    r->made = true;
    return 0;
}

int replacement_write(struct replacement *r, struct span bytes, struct failure *why)
{
    while (bytes.size > 0) {
        ssize_t n = write(r->fd, bytes.data, bytes.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failure_errno(why, "write");
        bytes = span_slice(bytes, (size_t)n, bytes.size);
    }
    return 0;
}

int replacement_set_mode(struct replacement *r, mode_t mode, struct failure *why)
{
    return fchmod(r->fd, mode) == 0 ? 0 : failure_errno(why, "set the mode");
}

static void copy_xattr(int to, int from, const char *name, char *value)
{
    ssize_t size = fgetxattr(from, name, value, XATTR_BYTES);
    // security.* and trusted.* are the kernel's or root's; where we may not set one, the file
    // system gives the new file what its policy says.
    if (size >= 0)
        (void)fsetxattr(to, name, value, (size_t)size, 0);
}

static void copy_xattrs(int to, int from)
{
    ssize_t size = flistxattr(from, NULL, 0);
    if (size <= 0 || size > XATTR_BYTES)
        return;
    CLEANUP_FREE char *names = memory_new(XATTR_BYTES);
    CLEANUP_FREE char *value = memory_new(XATTR_BYTES);
    size = flistxattr(from, names, XATTR_BYTES - 1);
    for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1)
        copy_xattr(to, from, names + at, value);
}

int replacement_copy_attributes(struct replacement *r, int from_fd, const struct stat *from,
                                struct failure *why)
{
    struct stat now;
    mode_t mode = from->st_mode & 07777;
    if (fstat(r->fd, &now) != 0)
        return failure_errno(why, "stat the temporary file");
    bool same_owner = now.st_uid == from->st_uid && now.st_gid == from->st_gid;
    if (!same_owner && fchown(r->fd, from->st_uid, from->st_gid) != 0) {
        mode &= 01777;
        (void)!fchown(r->fd, (uid_t)-1,
                      from->st_gid); // the group at least, where it is one of ours
    }
    copy_xattrs(r->fd, from_fd);
    return replacement_set_mode(r, mode, why); // last: a change of owner clears bits
}

int replacement_sync(struct replacement *r, struct failure *why)
{
    return fsync(r->fd) == 0 ? 0 : failure_errno(why, "sync");
}

int replacement_commit(struct replacement *r, const char *name, struct failure *why)
{
    if (renameat(r->dir_fd, r->name, r->dir_fd, name) != 0)
        return failure_errno(why, "rename into place");
    r->made = false;
    return 0;
}

int replacement_commit_new(struct replacement *r, const char *name, struct failure *why)
{
    if (renameat2(r->dir_fd, r->name, r->dir_fd, name, RENAME_NOREPLACE) == 0) {
        r->made = false;
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS)
        return failure_errno(why, "put into place");
    // A file system without RENAME_NOREPLACE: a link fails as well where the name is taken.
    if (linkat(r->dir_fd, r->name, r->dir_fd, name, 0) != 0)
        return failure_errno(why, "put into place");
    return 0;
}

void replacement_close(struct replacement *r)
{
    if (r->fd >= 0)
        close(r->fd);
    if (r->made)
        unlinkat(r->dir_fd, r->name, 0);
    r->fd = -1;
    r->made = false;
}
