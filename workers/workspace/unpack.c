// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "workers/workspace/directory.h"
#include "workers/workspace/replace.h"
#include "workers/workspace/tar.h"

const struct unpack_limits unpack_limits_default = {
    .members = 200000,
    .bytes = (uint64_t)4 << 30,
    .depth = 64,
};

struct unpack {
    const struct workspace *ws; // borrowed
    enum workspace_root root;
    struct unpack_limits limits;
    struct tar *tar; // owned
    uint64_t members;
    struct unpack_counts counts;
    // The directory of the member before, kept open since most members lie beside it.
    struct directory dir; // owned
    char dir_asked[WORKSPACE_PATH_SIZE];
    // The file that is being written.
    struct replacement file; // owned; fd -1 between files
    char name[WORKSPACE_NAME_SIZE];
    mode_t mode;
    int64_t mtime_s;
};

// The member's path without "./", doubled slashes and a slash at the end. Refuses absolute ones and
// "..", so that the name alone says where it goes.
static int clean_path(const struct unpack *u, struct span path, char out[WORKSPACE_PATH_SIZE],
                      struct failure *why)
{
    size_t size = 0, depth = 0;
    if (path.size > 0 && path.data[0] == '/')
        return failure_set(why, FAULT_DENIED, "its path is absolute");
    for (struct span rest = path; !span_is_absent(rest);) {
        struct span name = span_split(&rest, '/');
        if (name.size == 0 || span_is(name, "."))
            continue;
        if (span_is(name, ".."))
            return failure_set(why, FAULT_DENIED, "there is a .. in its path");
        if (name.size >= WORKSPACE_NAME_SIZE || size + name.size + 2 > WORKSPACE_PATH_SIZE)
            return failure_set(why, FAULT_TOO_LARGE, "its path is too long");
        if (++depth > u->limits.depth)
            return failure_set(why, FAULT_TOO_LARGE, "it lies deeper than %zu directories",
                               u->limits.depth);
        if (size > 0)
            out[size++] = '/';
        memcpy(out + size, name.data, name.size);
        size += name.size;
    }
    out[size] = '\0';
    return 0;
}

// Splits off the last name; "" is the root itself.
static const char *split_name(char path[WORKSPACE_PATH_SIZE])
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return NULL;
    *slash = '\0';
    return slash + 1;
}

static int open_directory(struct unpack *u, const char *path, struct failure *why)
{
    struct workspace_path at = {.root = u->root};
    if (u->dir.fd >= 0 && strcmp(path, u->dir_asked) == 0)
        return 0;
    directory_close(&u->dir);
    snprintf(at.rest, sizeof at.rest, "%s", path);
    snprintf(u->dir_asked, sizeof u->dir_asked, "%s", path);
    return directory_open(u->ws, &at, DIRECTORY_CREATE, &u->dir, why);
}

// Opens the directory that a member lies in and keeps its own name.
static int open_parent(struct unpack *u, char path[WORKSPACE_PATH_SIZE], struct failure *why)
{
    const char *name = split_name(path);
    snprintf(u->name, sizeof u->name, "%s", name != NULL ? name : path);
    return open_directory(u, name != NULL ? path : "", why);
}

static int make_directory(struct unpack *u, const char *path, const struct tar_member *m,
                          struct failure *why)
{
    int rc = open_directory(u, path, why);
    if (rc == 0 && path[0] != '\0') {
        // The owner's bits are kept set: its own content must still go in.
        int fd = openat(u->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            return failure_errno(why, "open");
        rc = fchmod(fd, (m->mode & 0777) | 0700) == 0 || errno == EPERM
                 ? 0
                 : failure_errno(why, "set the mode");
        close(fd);
    }
    return rc;
}

static int start_file(struct unpack *u, const struct tar_member *m, struct failure *why)
{
    struct stat st;
    if (u->limits.bytes - u->counts.bytes < m->size)
        return failure_set(why, FAULT_TOO_LARGE,
                           "with it the files have more than %" PRIu64 " bytes", u->limits.bytes);
    if (fstatat(u->dir.fd, u->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        return failure_set(why, FAULT_CONFLICT, "a directory of that name is in its place");
    u->mode = m->mode & 0777;
    u->mtime_s = m->mtime_s;
    return replacement_open(&u->file, u->dir.fd, why);
}

// Would the target, seen from the link's directory, step out of the root? Its text is looked at
// only so that no useless link is made; opening anything through it is contained anyway.
static bool steps_out(const struct directory *dir, struct span target)
{
    int64_t depth = dir->path[0] != '\0' ? 1 : 0;
    for (const char *c = dir->path; *c != '\0'; c++)
        depth += *c == '/';
    for (struct span rest = target; !span_is_absent(rest);) {
        struct span name = span_split(&rest, '/');
        if (span_is(name, ".."))
            depth--;
        else if (name.size > 0 && !span_is(name, "."))
            depth++;
        if (depth < 0)
            return true;
    }
    return false;
}

static bool is_within_root(enum workspace_root root, struct span target)
{
    struct span name = span_from_string(workspace_root_name(root));
    struct directory at_root = {.fd = -1};
    return span_starts_with(target, name) &&
           (target.size == name.size || target.data[name.size] == '/') &&
           !steps_out(&at_root, span_slice(target, name.size, target.size));
}

// Puts a link that stands under its temporary name into its place.
static int commit_link(struct unpack *u, struct replacement *link, struct failure *why)
{
    link->made = true;
    int rc = replacement_commit(link, u->name, why);
    // Two names of one file: the rename did nothing, so the temporary one is still there.
    if (rc == 0)
        unlinkat(link->dir_fd, link->name, 0);
    replacement_close(link);
    return rc;
}

static int make_symlink(struct unpack *u, struct span target, struct failure *why)
{
    struct replacement link;
    char text[WORKSPACE_PATH_SIZE];
    bool absolute = target.size > 0 && target.data[0] == '/';
    if (target.size == 0 || !span_copy_string(target, text, sizeof text))
        return failure_set(why, FAULT_INVALID, "its target is empty or too long");
    if (absolute ? !is_within_root(u->root, target) : steps_out(&u->dir, target))
        return failure_set(why, FAULT_DENIED, "its target %.100s is outside %s", text,
                           workspace_root_name(u->root));
    replacement_name(&link, u->dir.fd);
    if (symlinkat(text, link.dir_fd, link.name) != 0)
        return failure_errno(why, "make the link");
    return commit_link(u, &link, why);
}

static int make_hardlink(struct unpack *u, struct span target, struct failure *why)
{
    struct workspace_path at = {.root = u->root};
    struct directory from;
    struct stat st;
    struct replacement link;
    char path[WORKSPACE_PATH_SIZE];
    int rc = clean_path(u, target, path, why);
    if (rc != 0)
        return failure_prefix(why, "its target");
    const char *name = split_name(path);
    snprintf(at.rest, sizeof at.rest, "%s", name != NULL ? path : "");
    rc = directory_open(u->ws, &at, DIRECTORY_MUST_EXIST, &from, why);
    if (rc != 0)
        return failure_prefix(why, "its target");
    name = name != NULL ? name : path;
    replacement_name(&link, u->dir.fd);
    if (fstatat(from.fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        rc = failure_set(why, FAULT_NOT_FOUND, "its target is no file in the archive's root");
    else if (linkat(from.fd, name, link.dir_fd, link.name, 0) != 0)
        rc = failure_errno(why, "link");
    directory_close(&from);
    return rc == 0 ? commit_link(u, &link, why) : rc;
}

static int take_kind(struct unpack *u, const struct tar_member *m, struct failure *why)
{
    char path[WORKSPACE_PATH_SIZE];
    int rc = clean_path(u, m->path, path, why);
    if (rc != 0)
        return rc;
    if (m->kind == TAR_DIRECTORY)
        return make_directory(u, path, m, why);
    if (m->kind == TAR_OTHER)
        return failure_set(why, FAULT_DENIED,
                           "members of type '%c' (devices, FIFOs, sparse files) are not taken",
                           m->type >= ' ' && m->type < 0x7f ? m->type : '?');
    if (path[0] == '\0')
        return failure_set(why, FAULT_INVALID, "it has no name");
    rc = open_parent(u, path, why);
    if (rc != 0)
        return rc;
    if (m->kind == TAR_FILE)
        return start_file(u, m, why);
    u->counts.files++;
    return m->kind == TAR_SYMLINK ? make_symlink(u, m->target, why)
                                  : make_hardlink(u, m->target, why);
}

static int take_member(void *ctx, const struct tar_member *m, struct failure *why)
{
    struct unpack *u = ctx;
    int rc;
    if (++u->members > u->limits.members)
        rc = failure_set(why, FAULT_TOO_LARGE, "the archive has more than %" PRIu64 " members",
                         u->limits.members);
    else
        rc = take_kind(u, m, why);
    if (rc != 0)
        failure_prefix(why, "member \"%.*s\"", SPAN_ARGS(span_slice(m->path, 0, 150)));
    return rc;
}

static int take_content(void *ctx, struct span bytes, struct failure *why)
{
    struct unpack *u = ctx;
    u->counts.bytes += bytes.size;
    int rc = replacement_write(&u->file, bytes, why);
    return rc == 0 ? 0 : failure_prefix(why, "member \"%.100s\"", u->name);
}

// Not synced: an upload that a crash cuts off is sent again, and syncing each of many small files
// would take most of the time.
static int end_file(void *ctx, struct failure *why)
{
    struct unpack *u = ctx;
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = u->mtime_s}};
    int rc = replacement_set_mode(&u->file, u->mode, why);
    if (rc == 0) {
        (void)futimens(u->file.fd, times);
        rc = replacement_commit(&u->file, u->name, why);
    }
    replacement_close(&u->file);
    u->counts.files++;
    return rc == 0 ? 0 : failure_prefix(why, "member \"%.100s\"", u->name);
}

struct unpack *unpack_new(const struct workspace *ws, enum workspace_root root,
                          const struct unpack_limits *limits)
{
    static const struct tar_ops ops = {take_member, take_content, end_file};
    struct unpack *u = memory_new(sizeof *u);
    u->ws = ws;
    u->root = root;
    u->limits = *limits;
    u->dir.fd = u->file.fd = -1;
    u->tar = tar_new(&ops, u);
    return u;
}

void unpack_free(struct unpack *u)
{
    if (u == NULL)
        return;
    replacement_close(&u->file);
    directory_close(&u->dir);
    tar_free(u->tar);
    free(u);
}

int unpack_feed(struct unpack *u, struct span bytes, struct failure *why)
{
    return tar_feed(u->tar, bytes, why);
}

int unpack_finish(struct unpack *u, struct unpack_counts *out, struct failure *why)
{
    int rc = tar_finish(u->tar, why);
    if (rc == 0)
        *out = u->counts;
    return rc;
}
