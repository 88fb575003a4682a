// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    AGAIN_MAX = 128, // EAGAIN: something was renamed while the kernel walked through ".."
    PENDING_SIZE = 2 * WORKSPACE_PATH_SIZE,
    DIRECTORY_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC,
};

static int kernel_open(int root_fd, const char *path)
{
    struct open_how how = {
        .flags = DIRECTORY_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    int fd = -1;
    for (int i = 0; i < AGAIN_MAX; i++) {
        fd = (int)syscall(SYS_openat2, root_fd, path[0] != '\0' ? path : ".", &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd;
}

bool directory_kernel_resolves(int root_fd)
{
    int fd = kernel_open(root_fd, "");
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

int directory_read_link(int dir_fd, const char *name, char target[WORKSPACE_PATH_SIZE])
{
    ssize_t size = readlinkat(dir_fd, name, target, WORKSPACE_PATH_SIZE);
    if (size < 0 || size >= WORKSPACE_PATH_SIZE)
        return 0;
    target[size] = '\0';
    return 1;
}

// What an absolute target is beneath the root, NULL where it lies elsewhere.
static const char *strip_root_name(enum workspace_root root, const char *target)
{
    const char *name = workspace_root_name(root);
    size_t size = strlen(name);
    if (strncmp(target, name, size) != 0 || (target[size] != '/' && target[size] != '\0'))
        return NULL;
    target += size;
    while (*target == '/')
        target++;
    return target;
}

static int refuse_leaving(enum workspace_root root, struct failure *why)
{
    return failure_set(why, FAULT_DENIED, "the path leads out of %s", workspace_root_name(root));
}

int directory_follow(enum workspace_root root, const char *parent, const char *target,
                     char out[WORKSPACE_PATH_SIZE], struct failure *why)
{
    int size;
    if (target[0] == '/') {
        target = strip_root_name(root, target);
        if (target == NULL)
            return refuse_leaving(root, why);
        size = snprintf(out, WORKSPACE_PATH_SIZE, "%s", target);
    } else {
        size = snprintf(out, WORKSPACE_PATH_SIZE, "%s%s%s", parent, parent[0] != '\0' ? "/" : "",
                        target);
    }
    if (size < 0 || size >= WORKSPACE_PATH_SIZE)
        return failure_set(why, FAULT_INVALID, "a symbolic link makes the path too long");
    return 0;
}

// One resolution, component by component. The fds of all directories from the root down are kept,
// so that ".." is a step back on our own way and never the kernel's "..", which a rename could
// have put elsewhere.
struct steps {
    enum workspace_root root;
    int root_fd; // borrowed
    enum directory_missing missing;
    int fd[DIRECTORY_DEPTH_MAX]; // owned, without the root
    size_t path_end[DIRECTORY_DEPTH_MAX];
    size_t depth;
    int links;
    char path[WORKSPACE_PATH_SIZE];
    char pending[PENDING_SIZE]; // not yet walked
};

static int steps_top(const struct steps *s)
{
    return s->depth > 0 ? s->fd[s->depth - 1] : s->root_fd;
}

static void steps_back(struct steps *s)
{
    close(s->fd[--s->depth]);
    s->path[s->depth > 0 ? s->path_end[s->depth - 1] : 0] = '\0';
}

static int steps_down(struct steps *s, const char *name, int fd, struct failure *why)
{
    size_t end = strlen(s->path);
    int size = snprintf(s->path + end, sizeof s->path - end, "%s%s", end > 0 ? "/" : "", name);
    if (size < 0 || (size_t)size >= sizeof s->path - end || s->depth == DIRECTORY_DEPTH_MAX) {
        close(fd);
        return failure_set(why, FAULT_INVALID, "the path is too deep or too long");
    }
    s->path_end[s->depth] = end + (size_t)size;
    s->fd[s->depth++] = fd;
    return 0;
}

static int steps_follow(struct steps *s, const char *target, struct failure *why)
{
    char rest[PENDING_SIZE];
    if (++s->links > DIRECTORY_LINKS_MAX)
        return failure_set(why, FAULT_DENIED, "too many symbolic links");
    if (target[0] == '/') {
        target = strip_root_name(s->root, target);
        if (target == NULL)
            return refuse_leaving(s->root, why);
        while (s->depth > 0)
            steps_back(s);
    }
    int size = snprintf(rest, sizeof rest, "%s/%s", target, s->pending);
    if (size < 0 || (size_t)size >= sizeof rest)
        return failure_set(why, FAULT_INVALID, "symbolic links make the path too long");
    memcpy(s->pending, rest, (size_t)size + 1);
    return 0;
}

static int steps_into(struct steps *s, const char *name, struct failure *why)
{
    char target[WORKSPACE_PATH_SIZE];
    int top = steps_top(s);
    int fd = openat(top, name, DIRECTORY_FLAGS | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT && s->missing == DIRECTORY_CREATE) {
        if (mkdirat(top, name, 0755) != 0 && errno != EEXIST)
            return failure_errno(why, "make directory %s", name);
        fd = openat(top, name, DIRECTORY_FLAGS | O_NOFOLLOW);
    }
    if (fd >= 0)
        return steps_down(s, name, fd, why);
    int error = errno;
    if ((error == ENOTDIR || error == ELOOP) && directory_read_link(top, name, target) == 1)
        return steps_follow(s, target, why);
    errno = error;
    return failure_errno(why, "%s", name);
}

// Takes the first component off `pending`; false at the end.
static bool steps_next(struct steps *s, char name[WORKSPACE_NAME_SIZE], bool *too_long)
{
    const char *at = s->pending;
    while (*at == '/')
        at++;
    size_t size = strcspn(at, "/");
    *too_long = size >= WORKSPACE_NAME_SIZE;
    if (size == 0 || *too_long)
        return false;
    memcpy(name, at, size);
    name[size] = '\0';
    memmove(s->pending, at + size, strlen(at + size) + 1);
    return true;
}

static int steps_walk(struct steps *s, struct failure *why)
{
    char name[WORKSPACE_NAME_SIZE];
    bool too_long;
    int rc = 0;
    while (rc == 0 && steps_next(s, name, &too_long)) {
        if (strcmp(name, ".") == 0)
            continue;
        if (strcmp(name, "..") != 0)
            rc = steps_into(s, name, why);
        else if (s->depth > 0)
            steps_back(s);
        else
            rc = refuse_leaving(s->root, why);
    }
    if (rc == 0 && too_long)
        rc = failure_set(why, FAULT_INVALID, "a name in the path is longer than 255 bytes");
    return rc;
}

static int open_by_steps(const struct workspace *ws, const struct workspace_path *path,
                         enum directory_missing missing, struct directory *out, struct failure *why)
{
    struct steps s = {
        .root = path->root,
        .root_fd = workspace_root_fd(ws, path->root),
        .missing = missing,
    };
    snprintf(s.pending, sizeof s.pending, "%s", path->rest);
    int rc = steps_walk(&s, why);
    if (rc == 0) {
        out->root = path->root;
        memcpy(out->path, s.path, sizeof out->path);
        out->fd = s.depth > 0 ? s.fd[--s.depth] : openat(s.root_fd, ".", DIRECTORY_FLAGS);
        if (out->fd < 0)
            rc = failure_errno(why, "open the root");
    }
    while (s.depth > 0)
        close(s.fd[--s.depth]);
    return rc;
}

static bool proc_path(int fd, char out[WORKSPACE_PATH_SIZE])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return directory_read_link(AT_FDCWD, link, out) == 1;
}

// Where the kernel says the directory lies; false where it cannot be told (no /proc, or it was
// moved away or deleted).
static bool find_path(int root_fd, int fd, char out[WORKSPACE_PATH_SIZE])
{
    char root[WORKSPACE_PATH_SIZE], full[WORKSPACE_PATH_SIZE];
    if (!proc_path(root_fd, root) || !proc_path(fd, full))
        return false;
    size_t size = strlen(root);
    if (size == 1)
        size = 0; // the root is "/"
    if (strncmp(full, root, size) != 0 || (full[size] != '/' && full[size] != '\0'))
        return false;
    const char *rest = full + size;
    while (*rest == '/')
        rest++;
    snprintf(out, WORKSPACE_PATH_SIZE, "%s", rest);
    return true;
}

int directory_open(const struct workspace *ws, const struct workspace_path *path,
                   enum directory_missing missing, struct directory *out, struct failure *why)
{
    out->fd = -1;
    out->root = path->root;
    if (!workspace_uses_openat2(ws))
        return open_by_steps(ws, path, missing, out, why);
    int root_fd = workspace_root_fd(ws, path->root);
    int fd = kernel_open(root_fd, path->rest);
    if (fd >= 0 && find_path(root_fd, fd, out->path)) {
        out->fd = fd;
        return 0;
    }
    if (fd >= 0)
        close(fd);
    else if (errno != EXDEV && errno != EAGAIN && !(errno == ENOENT && missing == DIRECTORY_CREATE))
        return failure_errno(why, "%s", path->rest);
    return open_by_steps(ws, path, missing, out, why);
}

void directory_close(struct directory *d)
{
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
}
