// SPDX-License-Identifier: Apache-2.0
#include "driver/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/file/file.h"

enum { TREE_DEPTH_MAX = 64 };

int path_format(char out[FILE_PATH_SIZE], struct failure *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(out, FILE_PATH_SIZE, format, args);
    va_end(args);
    if (size < 0 || size >= FILE_PATH_SIZE)
        return failure_set(why, FAULT_TOO_LARGE, "a path of %d bytes", size);
    return 0;
}

void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int file_read(const char *path, struct buffer *out, struct failure *why)
{
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return failure_errno(why, "open %s", path);
    return file_read_all(fd, path, out, why);
}

int file_write(const char *path, struct span content, mode_t mode, struct failure *why)
{
    CLEANUP(fd_close)
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return failure_errno(why, "create %s", path);
    if (fchmod(fd, mode) != 0 || file_write_all(fd, content) != 0)
        return failure_errno(why, "write %s", path);
    return 0;
}

int file_copy(const char *from, const char *to, mode_t mode, struct failure *why)
{
    CLEANUP(fd_close) int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return failure_errno(why, "open %s", from);
    CLEANUP(fd_close) int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (out < 0)
        return failure_errno(why, "create %s", to);
    ssize_t sent;
    while ((sent = sendfile(out, in, NULL, 1 << 20)) > 0)
        continue;
    if (sent < 0 || fchmod(out, mode) != 0)
        return failure_errno(why, "copy %s to %s", from, to);
    return 0;
}

int directory_make(const char *path, mode_t mode, struct failure *why)
{
    if (mkdir(path, mode) != 0 && errno != EEXIST)
        return failure_errno(why, "make %s", path);
    struct stat about;
    if (lstat(path, &about) != 0)
        return failure_errno(why, "look at %s", path);
    if (!S_ISDIR(about.st_mode))
        return failure_set(why, FAULT_CONFLICT, "%s is not a directory", path);
    if ((about.st_mode & 07777) != mode && chmod(path, mode) != 0)
        return failure_errno(why, "chmod %s", path);
    return 0;
}

int directory_make_all(const char *path, mode_t mode, struct failure *why)
{
    char part[FILE_PATH_SIZE];
    int fault = path_format(part, why, "%s", path);
    if (fault != 0)
        return fault;
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return failure_errno(why, "make %s", part);
        *slash = '/';
    }
    return directory_make(path, mode, why);
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static void directory_close(DIR **dir)
{
    if (*dir != NULL)
        closedir(*dir);
}

int directory_each(const char *path,
                   int (*each)(void *owner, const char *name, struct failure *why), void *owner,
                   struct failure *why)
{
    CLEANUP(directory_close) DIR *dir = opendir(path);
    if (dir == NULL)
        return errno == ENOENT ? 0 : failure_errno(why, "open %s", path);
    int fault = 0;
    for (struct dirent *entry; fault == 0 && (entry = readdir(dir)) != NULL;)
        if (!is_dot(entry->d_name))
            fault = each(owner, entry->d_name, why);
    return fault;
}

static int tree_remove_at(int parent, const char *name, dev_t device, unsigned depth,
                          struct failure *why);

static int tree_empty(int parent, const char *name, dev_t device, unsigned depth,
                      struct failure *why)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(directory_close) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        fd_close(&fd);
        return failure_errno(why, "open %s", name);
    }
    int fault = 0;
    for (struct dirent *entry; fault == 0 && (entry = readdir(dir)) != NULL;)
        if (!is_dot(entry->d_name))
            fault = tree_remove_at(fd, entry->d_name, device, depth + 1, why);
    return fault;
}

static int tree_remove_at(int parent, const char *name, dev_t device, unsigned depth,
                          struct failure *why)
{
    struct stat about;
    if (fstatat(parent, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : failure_errno(why, "look at %s", name);
    if (!S_ISDIR(about.st_mode)) {
        if (unlinkat(parent, name, 0) != 0 && errno != ENOENT)
            return failure_errno(why, "remove %s", name);
        return 0;
    }
    if (about.st_dev != device || depth > TREE_DEPTH_MAX)
        return failure_set(why, FAULT_CONFLICT, "%s is %s", name,
                           depth > TREE_DEPTH_MAX ? "nested too deep" : "another file system");
    int fault = tree_empty(parent, name, device, depth, why);
    if (fault == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        fault = failure_errno(why, "remove %s", name);
    return fault;
}

int tree_remove(const char *path, struct failure *why)
{
    struct stat about;
    if (lstat(path, &about) != 0)
        return errno == ENOENT ? 0 : failure_errno(why, "look at %s", path);
    int fault = tree_remove_at(AT_FDCWD, path, about.st_dev, 0, why);
    return fault == 0 ? 0 : failure_prefix(why, "remove %s", path);
}
