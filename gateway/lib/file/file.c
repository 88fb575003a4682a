// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { PIECE = 4096 };

int file_write_all(int fd, struct span bytes)
{
    while (bytes.size > 0) {
        ssize_t n = write(fd, bytes.data, bytes.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes = span_slice(bytes, (size_t)n, bytes.size);
    }
    return 0;
}

int file_read_all(int fd, const char *name, struct buffer *out, struct failure *why)
{
    for (;;) {
        // A whole piece past the limit is not the file's fault if the file ends before it.
        size_t left = out->limit - buffer_size(out);
        char *room, last;
        size_t size = left < PIECE ? left : PIECE;
        int fault = size > 0 ? buffer_reserve(out, size, &room) : 0;
        if (fault != 0)
            return failure_set(why, FAULT_TOO_LARGE, "%s: no memory for it", name);
        ssize_t n = size > 0 ? read(fd, room, size) : read(fd, &last, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failure_errno(why, "read %s", name);
        if (n == 0)
            return 0;
        if (size == 0)
            return failure_set(why, FAULT_TOO_LARGE, "%s has more than %zu bytes", name,
                               out->limit);
        buffer_commit(out, (size_t)n);
    }
}

// A rename is durable only once its directory is on the disk.
static int sync_parent(int directory, const char *path)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        snprintf(parent, sizeof parent, ".");
    else
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - path + 1), path);
    int fd = openat(directory, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int fill(int fd, const char *fresh, struct span content, bool durable, struct failure *why)
{
    if (file_write_all(fd, content) != 0 || (durable && fsync(fd) != 0))
        return failure_errno(why, "write %s", fresh);
    return 0;
}

int file_replace(int directory, const char *path, struct span content, bool durable,
                 struct failure *why)
{
    char fresh[PATH_MAX];
    if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh)
        return failure_set(why, FAULT_INVALID, "%s: path too long", path);
    // What a broken-off try left; O_EXCL then makes sure that the file is ours and nobody's link.
    if (unlinkat(directory, fresh, 0) != 0 && errno != ENOENT)
        return failure_errno(why, "remove %s", fresh);
    int fd = openat(directory, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return failure_errno(why, "create %s", fresh);
    int rc = fill(fd, fresh, content, durable, why);
    close(fd);
    if (rc == 0 && renameat(directory, fresh, directory, path) != 0)
        rc = failure_errno(why, "rename %s to %s", fresh, path);
    if (rc != 0)
        unlinkat(directory, fresh, 0);
    else if (durable && sync_parent(directory, path) != 0)
        rc = failure_errno(why, "sync the directory of %s", path);
    return rc;
}
