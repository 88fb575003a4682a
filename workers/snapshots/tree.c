// SPDX-License-Identifier: Apache-2.0
#include "workers/snapshots/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/memory.h"
#include "workers/workspace/walk.h"

enum { ATTRIBUTES_MAX = 64 << 10 }; // of one file

struct scan {
    struct tree *tree;
    int (*go_on)(void *ctx, struct failure *why);
    void *ctx;
    char *names, *value; // ATTRIBUTES_MAX each, owned
};

void tree_init(struct tree *t)
{
    *t = (struct tree){.arena = arena_new(TREE_BYTES_MAX)};
}

void tree_fini(struct tree *t)
{
    arena_free(t->arena);
    free(t->entries);
    *t = (struct tree){0};
}

struct tree_entry *tree_add(struct tree *t, struct span path)
{
    if (t->count == TREE_ENTRIES_MAX)
        return NULL;
    struct span copy = arena_copy(t->arena, path);
    if (span_is_absent(copy))
        return NULL;
    if (t->count == t->capacity) {
        t->capacity = t->capacity > 0 ? t->capacity * 2 : 256;
        t->entries = memory_resize(t->entries, t->capacity, sizeof *t->entries);
    }
    struct tree_entry *e = &t->entries[t->count++];
    *e = (struct tree_entry){.path = copy};
    return e;
}

static int compare_spans(struct span a, struct span b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = memcmp(a.data, b.data, common);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_entries(const void *a, const void *b)
{
    return compare_spans(((const struct tree_entry *)a)->path,
                         ((const struct tree_entry *)b)->path);
}

const struct tree_entry *tree_find(const struct tree *t, struct span path)
{
    const struct tree_entry key = {.path = path};
    if (t->count == 0)
        return NULL;
    return bsearch(&key, t->entries, t->count, sizeof key, compare_entries);
}

bool tree_is_within(struct span path, struct span folder)
{
    return span_starts_with(path, folder) &&
           (path.size == folder.size || path.data[folder.size] == '/');
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool tree_is_untouched(const struct tree_entry *before, const struct tree_entry *now)
{
    return before->type == now->type && before->inode == now->inode && before->size == now->size &&
           same_time(&before->mtime, &now->mtime) && same_time(&before->ctime, &now->ctime);
}

static enum tree_type type_of_mode(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return TREE_FILE;
    case S_IFDIR:
        return TREE_DIRECTORY;
    case S_IFLNK:
        return TREE_LINK;
    case S_IFIFO:
        return TREE_FIFO;
    default:
        return TREE_OTHER;
    }
}

static int too_many(struct failure *why)
{
    return failure_set(why, FAULT_TOO_LARGE,
                       "the workspace holds more than a snapshot can: %d entries, or %d MiB of "
                       "names; remove what is not needed",
                       TREE_ENTRIES_MAX, TREE_BYTES_MAX >> 20);
}

static bool add_attribute(struct scan *s, int fd, const char *name, struct buffer *out)
{
    ssize_t size = fgetxattr(fd, name, s->value, ATTRIBUTES_MAX);
    if (size < 0)
        return true;
    uint32_t bytes = (uint32_t)size;
    return buffer_append(out, span_of(name, strlen(name) + 1)) == 0 &&
           buffer_append(out, span_of(&bytes, sizeof bytes)) == 0 &&
           buffer_append(out, span_of(s->value, (size_t)size)) == 0;
}

static int take_attributes(struct scan *s, int fd, struct tree_entry *e, struct failure *why)
{
    ssize_t size = flistxattr(fd, s->names, ATTRIBUTES_MAX - 1);
    if (size <= 0)
        return 0;
    struct buffer all;
    buffer_init(&all, 2 * ATTRIBUTES_MAX);
    s->names[size] = '\0';
    bool fits = true;
    for (ssize_t at = 0; at < size && fits; at += (ssize_t)strlen(s->names + at) + 1)
        fits = add_attribute(s, fd, s->names + at, &all);
    if (fits && buffer_size(&all) > 0) {
        e->attributes = arena_copy(s->tree->arena, buffer_span(&all));
        fits = !span_is_absent(e->attributes);
    }
    buffer_fini(&all);
    return fits ? 0 : too_many(why);
}

static int take_target(struct scan *s, const struct walk_file *f, struct tree_entry *e,
                       struct failure *why)
{
    char target[WORKSPACE_PATH_SIZE];
    ssize_t size = readlinkat(f->dir_fd, f->name, target, sizeof target);
    if (size < 0 || (size_t)size == sizeof target) {
        e->type = TREE_HIDDEN;
        return 0;
    }
    e->target = arena_copy(s->tree->arena, span_of(target, (size_t)size));
    return span_is_absent(e->target) ? too_many(why) : 0;
}

// The content is opened only to see that it can be, and for the attributes.
static int take_openable(struct scan *s, const struct walk_file *f, struct tree_entry *e,
                         struct failure *why)
{
    int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
                (e->type == TREE_DIRECTORY ? O_DIRECTORY : 0);
    int fd = openat(f->dir_fd, f->name, flags);
    if (fd < 0) {
        e->type = TREE_HIDDEN;
        return 0;
    }
    int fault = take_attributes(s, fd, e, why);
    close(fd);
    return fault;
}

static int take_entry(void *ctx, const struct walk_file *f, struct failure *why)
{
    struct scan *s = ctx;
    struct stat st;
    if (fstatat(f->dir_fd, f->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0; // it went away
    struct tree_entry *e = tree_add(s->tree, f->path);
    if (e == NULL)
        return too_many(why);
    e->type = type_of_mode(st.st_mode);
    e->mode = st.st_mode & 07777;
    e->mtime = st.st_mtim;
    e->ctime = st.st_ctim;
    e->inode = st.st_ino;
    e->size = e->type == TREE_FILE ? (uint64_t)st.st_size : 0;
    if (e->type == TREE_LINK)
        return take_target(s, f, e, why);
    if (e->type == TREE_FILE || e->type == TREE_DIRECTORY)
        return take_openable(s, f, e, why);
    return 0;
}

static int go_on(void *ctx, struct failure *why)
{
    const struct scan *s = ctx;
    return s->go_on(s->ctx, why);
}

// A directory that cannot be gone through stands in the tree already, as the last but for what was
// found in it.
static void hide(void *ctx, struct span path)
{
    const struct scan *s = ctx;
    for (size_t i = s->tree->count; i > 0; i--) {
        struct tree_entry *e = &s->tree->entries[i - 1];
        if (span_equals(e->path, path)) {
            e->type = TREE_HIDDEN;
            return;
        }
    }
}

int tree_scan(const struct workspace *ws, struct tree *out,
              int (*ask)(void *ctx, struct failure *why), void *ctx, struct failure *why)
{
    struct scan s = {.tree = out, .go_on = ask, .ctx = ctx};
    struct directory start;
    struct walk_report report;
    const struct workspace_path root = {.root = WORKSPACE_MAIN};
    const struct walk_options options = {
        .include_ignored = true,
        .everything = true,
        .file = take_entry,
        .go_on = go_on,
        .passed_over = hide,
        .ctx = &s,
    };
    int fault = directory_open(ws, &root, DIRECTORY_MUST_EXIST, &start, why);
    if (fault != 0)
        return fault;
    s.names = memory_new(ATTRIBUTES_MAX);
    s.value = memory_new(ATTRIBUTES_MAX);
    fault = walk(ws, &start, &options, &report, why);
    free(s.names);
    free(s.value);
    directory_close(&start);
    if (fault == 0 && out->count > 1)
        qsort(out->entries, out->count, sizeof *out->entries, compare_entries);
    return fault;
}
