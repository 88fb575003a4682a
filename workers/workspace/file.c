// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "workers/workspace/replace.h"

enum { LOCK_WAIT_NS = 500 * 1000 };

static const char *kind_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    case S_IFLNK:
        return "a symbolic link";
    default:
        return "not a regular file";
    }
}

static int refuse_kind(const struct file *f, mode_t mode, struct failure *why)
{
    if (S_ISDIR(mode))
        return failure_set(why, FAULT_INVALID,
                           "%s is a directory, not a file; use Glob to list what is in it",
                           f->shown);
    return failure_set(why, FAULT_INVALID, "%s is %s; only regular files are read and written",
                       f->shown, kind_name(mode));
}

// O_NONBLOCK: a FIFO without a writer opens at once, and is refused by its type.
enum open_leaf { LEAF_OPEN, LEAF_MISSING, LEAF_LINK, LEAF_FAILED };

static enum open_leaf open_leaf(struct file *f, struct failure *why)
{
    f->fd = openat(f->dir.fd, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (f->fd >= 0) {
        if (fstat(f->fd, &f->st) != 0)
            failure_errno(why, "stat %s", f->shown);
        else if (S_ISREG(f->st.st_mode))
            return LEAF_OPEN;
        else
            refuse_kind(f, f->st.st_mode, why);
        close(f->fd);
        f->fd = -1;
        return LEAF_FAILED;
    }
    if (errno == ELOOP)
        return LEAF_LINK;
    int error = errno;
    if (error == ENOENT)
        return LEAF_MISSING;
    if ((error == ENXIO || error == EACCES) &&
        fstatat(f->dir.fd, f->name, &f->st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(f->st.st_mode)) {
        refuse_kind(f, f->st.st_mode, why);
        return LEAF_FAILED;
    }
    errno = error;
    failure_errno(why, "open %s", f->shown);
    return LEAF_FAILED;
}

static void set_names(struct file *f)
{
    char path[WORKSPACE_PATH_SIZE];
    int size = snprintf(path, sizeof path, "%s%s%s", f->dir.path, f->dir.path[0] != '\0' ? "/" : "",
                        f->name);
    if (size < 0 || (size_t)size >= sizeof path)
        path[0] = '\0'; // an absurdly deep place: shown as the root, and never found in a table
    workspace_path_show(f->dir.root, path, f->shown);
    workspace_path_canonical(f->dir.root, path, f->canonical);
}

// Splits "a/b/c" into the directory "a/b" and the name "c". False where the path names a directory.
static bool split(struct workspace_path *path, char name[WORKSPACE_NAME_SIZE], bool *too_long)
{
    char *slash = strrchr(path->rest, '/');
    const char *last = slash != NULL ? slash + 1 : path->rest;
    size_t size = strlen(last);
    *too_long = size >= WORKSPACE_NAME_SIZE;
    if (size == 0 || *too_long || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return false;
    memcpy(name, last, size + 1);
    path->rest[slash != NULL ? slash - path->rest : 0] = '\0';
    return true;
}

static int open_leaf_or_tell(struct file *f, enum file_intent intent, bool *is_link,
                             struct failure *why)
{
    *is_link = false;
    switch (open_leaf(f, why)) {
    case LEAF_OPEN:
        return 0;
    case LEAF_MISSING:
        return intent == FILE_CREATE
                   ? 0
                   : failure_set(why, FAULT_NOT_FOUND, "%s does not exist", f->shown);
    case LEAF_LINK:
        *is_link = true;
        return 0;
    case LEAF_FAILED:
        break;
    }
    return why != NULL ? why->fault : FAULT_IO;
}

// Opens what `path` names. Where that is a symbolic link, *is_link is set and *path becomes what it
// leads to (or stays, where the link was exchanged for something else just now).
static int open_at(const struct workspace *ws, struct workspace_path *path, enum file_intent intent,
                   struct file *f, bool *is_link, struct failure *why)
{
    char target[WORKSPACE_PATH_SIZE];
    struct workspace_path parent = *path;
    bool too_long;
    *is_link = false;
    workspace_path_show(path->root, path->rest, f->shown);
    if (!split(&parent, f->name, &too_long))
        return too_long
                   ? failure_set(why, FAULT_INVALID, "the file's name is longer than 255 bytes")
                   : refuse_kind(f, S_IFDIR, why);
    int rc = directory_open(
        ws, &parent, intent == FILE_CREATE ? DIRECTORY_CREATE : DIRECTORY_MUST_EXIST, &f->dir, why);
    if (rc != 0)
        return failure_prefix(why, "%.200s", f->shown);
    set_names(f);
    rc = open_leaf_or_tell(f, intent, is_link, why);
    if (rc != 0 || !*is_link || directory_read_link(f->dir.fd, f->name, target) != 1)
        return rc;
    rc = directory_follow(path->root, parent.rest, target, path->rest, why);
    return rc != 0 ? failure_prefix(why, "%.200s", f->shown) : 0;
}

int file_open(const struct workspace *ws, struct span argument, enum file_intent intent,
              struct file *out, struct failure *why)
{
    struct workspace_path path;
    *out = (struct file){.dir.fd = -1, .fd = -1, .lock_fd = -1};
    int rc = workspace_path_parse(ws, argument, &path, why);
    if (rc == 0 && intent != FILE_READ && path.root != WORKSPACE_MAIN)
        rc = failure_set(why, FAULT_DENIED, "%s is read-only; copy the file to /workspace first",
                         workspace_root_name(path.root));
    for (int links = 0; rc == 0 && links <= DIRECTORY_LINKS_MAX; links++) {
        bool is_link;
        rc = open_at(ws, &path, intent, out, &is_link, why);
        if (rc == 0 && !is_link)
            return 0;
        directory_close(&out->dir);
    }
    if (rc == 0)
        rc = failure_set(why, FAULT_DENIED, "%s: too many symbolic links", out->shown);
    file_close(out);
    return rc;
}

void file_close(struct file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->lock_fd >= 0)
        close(f->lock_fd);
    f->fd = f->lock_fd = -1;
    directory_close(&f->dir);
}

static int wait_for_lock(struct file *f, int (*go_on)(void *, struct failure *), void *ctx,
                         struct failure *why)
{
    const struct timespec pause = {.tv_nsec = LOCK_WAIT_NS};
    while (flock(f->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return 0; // this file system has no locks: the check before the rename must do
        int rc = go_on(ctx, why);
        if (rc != 0)
            return failure_prefix(why, "%.200s is being changed by another call", f->shown);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return 0;
}

int file_lock(struct file *f, int (*go_on)(void *ctx, struct failure *why), void *ctx,
              struct failure *why)
{
    f->lock_fd = openat(f->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->lock_fd < 0)
        return 0; // a directory that may not be listed; the same holds as without locks
    int rc = wait_for_lock(f, go_on, ctx, why);
    if (rc != 0)
        return rc;
    bool was_there = f->fd >= 0;
    if (was_there)
        close(f->fd);
    f->fd = -1;
    switch (open_leaf(f, why)) {
    case LEAF_OPEN:
        return 0;
    case LEAF_MISSING:
        return was_there ? failure_set(why, FAULT_NOT_FOUND, "%s was just deleted", f->shown) : 0;
    case LEAF_LINK:
        return failure_set(why, FAULT_CONFLICT, "%s just became a symbolic link", f->shown);
    case LEAF_FAILED:
        break;
    }
    return why != NULL ? why->fault : FAULT_IO;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

// The last look before the rename: what a command does in the microseconds after it is lost.
static int check_unchanged(const struct file *f, struct failure *why)
{
    struct stat now;
    if (fstatat(f->dir.fd, f->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&now, &f->st))
        return 0;
    return failure_set(why, FAULT_CONFLICT,
                       "%s was changed by something else during this call; nothing was written. "
                       "Read it again",
                       f->shown);
}

int file_replace(struct file *f, struct span content, struct failure *why)
{
    struct replacement r;
    int rc = replacement_open(&r, f->dir.fd, why);
    if (rc == 0)
        rc = replacement_write(&r, content, why);
    if (rc == 0 && f->fd >= 0)
        rc = replacement_copy_attributes(&r, f->fd, &f->st, why);
    else if (rc == 0)
        rc = replacement_set_mode(&r, 0644, why);
    if (rc == 0)
        rc = replacement_sync(&r, why);
    if (rc == 0 && f->fd >= 0)
        rc = check_unchanged(f, why);
    if (rc == 0)
        rc = f->fd >= 0 ? replacement_commit(&r, f->name, why)
                        : replacement_commit_new(&r, f->name, why);
    replacement_close(&r);
    return rc != 0 ? failure_prefix(why, "write %.200s", f->shown) : 0;
}
