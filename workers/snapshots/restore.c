// SPDX-License-Identifier: Apache-2.0
// Makes the workspace what a snapshot says: first what is too much goes, then folders, then what
// they hold, then the folders' modes and times. A file is made beside its place and renamed, so
// that each is the old or the new one; calling again goes on where a failure left it.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "workers/snapshots/compare.h"
#include "workers/snapshots/snapshots.h"
#include "workers/workspace/directory.h"
#include "workers/workspace/replace.h"

enum { SHOWN_CHANGES = 100, SCANS_MAX = 64, SPARE_BYTES = 1 << 20 };

struct change {
    enum difference kind;
    const struct tree_entry *now, *then; // NULL where it is not there
};

struct restore {
    const struct snapshots *s;
    struct pack *pack;
    struct snapshot then;
    struct tree now;
    struct change *changes; // owned, in the order of paths
    size_t count, capacity;
    size_t counts[DIFFERENCE_METADATA + 1];
    uint64_t bytes; // to be written
};

static int take_digest(void *ctx, struct tree_entry *e, struct failure *why)
{
    struct restore *r = ctx;
    return snapshots_digest(r->s, e, why);
}

static int note_change(void *ctx, enum difference kind, const struct tree_entry *now,
                       const struct tree_entry *then, struct failure *why)
{
    struct restore *r = ctx;
    (void)why;
    if (r->count == r->capacity) {
        r->capacity = r->capacity > 0 ? r->capacity * 2 : 64;
        r->changes = memory_resize(r->changes, r->capacity, sizeof *r->changes);
    }
    r->changes[r->count++] = (struct change){kind, now, then};
    r->counts[kind]++;
    if (then != NULL && then->type == TREE_FILE && kind != DIFFERENCE_METADATA)
        r->bytes += then->size;
    return 0;
}

// Never through a link that took the name's place meanwhile.
static int set_mode(int dir_fd, const char *name, mode_t type, mode_t mode)
{
    char path[48];
    struct stat st;
    int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int rc = fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type ? chmod(path, mode) : -1;
    close(fd);
    return rc;
}

// --- folders that nobody may enter ---------------------------------------------------------------

static bool open_up(const struct snapshots *s, const struct tree_entry *e)
{
    struct directory dir;
    const char *name;
    struct failure why;
    if (snapshots_place(s, e->path, &dir, &name, &why) != 0)
        return false;
    struct stat st;
    bool opened = fstatat(dir.fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode) &&
                  (st.st_mode & 0700) != 0700 &&
                  set_mode(dir.fd, name, st.st_mode & S_IFMT, (st.st_mode & 07777) | 0700) == 0;
    directory_close(&dir);
    return opened;
}

// Its owner may open what it closed; only below that can be seen what else there is.
static bool open_hidden(struct restore *r)
{
    bool opened = false;
    for (size_t i = 0; i < r->now.count; i++) {
        const struct tree_entry *e = &r->now.entries[i];
        const struct tree_entry *then = tree_find(&r->then.tree, e->path);
        if (then != NULL && then->type == TREE_HIDDEN)
            continue; // it was closed then, and stays as it is
        bool closed =
            e->type == TREE_HIDDEN || (e->type == TREE_DIRECTORY && (e->mode & 0700) != 0700);
        opened = (closed && open_up(r->s, e)) || opened;
    }
    return opened;
}

static int look(struct restore *r, struct failure *why)
{
    for (int i = 0;; i++) {
        tree_init(&r->now);
        int fault = snapshots_scan(r->s, &r->now, why);
        if (fault != 0 || i == SCANS_MAX || !open_hidden(r))
            return fault;
        tree_fini(&r->now);
    }
}

// --- single steps --------------------------------------------------------------------------------

static int gone(const struct change *c, const char *doing, struct failure *why)
{
    const struct tree_entry *e = c->then != NULL ? c->then : c->now;
    return failure_errno(why, "%s %.200s", doing, e->path.data);
}

static int remove_one(struct restore *r, const struct change *c, struct failure *why)
{
    struct directory dir;
    const char *name;
    int fault = snapshots_place(r->s, c->now->path, &dir, &name, why);
    if (fault != 0)
        return fault;
    int flags = c->now->type == TREE_DIRECTORY ? AT_REMOVEDIR : 0;
    if (unlinkat(dir.fd, name, flags) != 0 && errno != ENOENT)
        fault = gone(c, "remove", why);
    directory_close(&dir);
    return fault;
}

static void set_attributes(int fd, struct span attributes)
{
    while (attributes.size > 0) {
        struct span name = span_of(attributes.data, strnlen(attributes.data, attributes.size));
        uint32_t size;
        if (attributes.size < name.size + 1 + sizeof size)
            return;
        memcpy(&size, attributes.data + name.size + 1, sizeof size);
        const char *value = attributes.data + name.size + 1 + sizeof size;
        attributes = span_slice(attributes, name.size + 1 + sizeof size, attributes.size);
        if (attributes.size < size)
            return;
        // The kernel's own (security.*) are not ours to set.
        (void)fsetxattr(fd, name.data, value, size, 0);
        attributes = span_slice(attributes, size, attributes.size);
    }
}

static bool holds(struct span attributes, const char *wanted)
{
    while (attributes.size > 0) {
        size_t name = strnlen(attributes.data, attributes.size) + 1;
        uint32_t size;
        if (attributes.size < name + sizeof size)
            return false;
        if (strcmp(attributes.data, wanted) == 0)
            return true;
        memcpy(&size, attributes.data + name, sizeof size);
        attributes = span_slice(attributes, name + sizeof size + size, attributes.size);
    }
    return false;
}

static void remove_attributes(int fd, struct span now, struct span then)
{
    while (now.size > 0) {
        size_t name = strnlen(now.data, now.size) + 1;
        uint32_t size;
        if (now.size < name + sizeof size)
            return;
        if (!holds(then, now.data))
            (void)fremovexattr(fd, now.data);
        memcpy(&size, now.data + name, sizeof size);
        now = span_slice(now, name + sizeof size + size, now.size);
    }
}

static int set_metadata(int fd, const struct tree_entry *then, const struct change *c,
                        struct failure *why)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, then->mtime};
    set_attributes(fd, then->attributes);
    if (fchmod(fd, then->mode) != 0)
        return gone(c, "set the mode of", why);
    return futimens(fd, times) == 0 ? 0 : gone(c, "set the time of", why);
}

static int make_file(struct restore *r, const struct change *c, int dir_fd, const char *name,
                     struct failure *why)
{
    struct replacement file;
    const struct pack_item *content = pack_find(r->pack, c->then->digest);
    if (content == NULL)
        return failure_set(why, FAULT_IO, "the content of %.200s is not in the snapshot",
                           c->then->path.data);
    int fault = replacement_open(&file, dir_fd, why);
    if (fault == 0)
        fault = pack_copy(r->pack, content, file.fd, why);
    if (fault == 0)
        fault = set_metadata(file.fd, c->then, c, why);
    if (fault == 0)
        fault = replacement_commit(&file, name, why);
    replacement_close(&file);
    return fault;
}

static int make_link(const struct change *c, int dir_fd, const char *name, struct failure *why)
{
    struct replacement link;
    replacement_name(&link, dir_fd);
    CLEANUP_FREE char *target = memory_copy_span(c->then->target);
    if (symlinkat(target, dir_fd, link.name) != 0)
        return gone(c, "make the link", why);
    link.made = true;
    int fault = replacement_commit(&link, name, why);
    replacement_close(&link);
    return fault;
}

static int make_folder(const struct change *c, int dir_fd, const char *name, struct failure *why)
{
    if (mkdirat(dir_fd, name, 0700) != 0 && errno != EEXIST)
        return gone(c, "make the directory", why);
    return 0; // its mode and attributes come last
}

static int settle_fifo(const struct change *c, int dir_fd, const char *name, struct failure *why)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, c->then->mtime};
    if (set_mode(dir_fd, name, S_IFIFO, c->then->mode) != 0 ||
        utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) != 0)
        return gone(c, "set mode and time of", why);
    return 0;
}

static int make_fifo(const struct change *c, int dir_fd, const char *name, struct failure *why)
{
    if (mkfifoat(dir_fd, name, 0600) != 0 && errno != EEXIST)
        return gone(c, "make the FIFO", why);
    return settle_fifo(c, dir_fd, name, why);
}

static int make_one(struct restore *r, const struct change *c, struct failure *why)
{
    struct directory dir;
    const char *name;
    int fault = snapshots_place(r->s, c->then->path, &dir, &name, why);
    if (fault != 0)
        return fault;
    switch (c->then->type) {
    case TREE_FILE:
        fault = make_file(r, c, dir.fd, name, why);
        break;
    case TREE_DIRECTORY:
        fault = make_folder(c, dir.fd, name, why);
        break;
    case TREE_LINK:
        fault = make_link(c, dir.fd, name, why);
        break;
    case TREE_FIFO:
        fault = make_fifo(c, dir.fd, name, why);
        break;
    default:
        break; // sockets and devices are not made
    }
    directory_close(&dir);
    return fault;
}

static int settle_open(const struct change *c, int dir_fd, const char *name, struct failure *why)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return gone(c, "open", why);
    if (c->now != NULL)
        remove_attributes(fd, c->now->attributes, c->then->attributes);
    int fault = set_metadata(fd, c->then, c, why);
    close(fd);
    return fault;
}

// Mode, time and attributes of what is there with the right content.
static int settle(struct restore *r, const struct change *c, struct failure *why)
{
    struct directory dir;
    const char *name;
    int fault = snapshots_place(r->s, c->then->path, &dir, &name, why);
    if (fault != 0)
        return fault;
    if (c->then->type == TREE_FILE || c->then->type == TREE_DIRECTORY)
        fault = settle_open(c, dir.fd, name, why);
    else if (c->then->type == TREE_FIFO)
        fault = settle_fifo(c, dir.fd, name, why);
    directory_close(&dir);
    return fault;
}

// --- the order of steps --------------------------------------------------------------------------

// From the end: what lies in a directory goes before the directory.
static int remove_extras(struct restore *r, struct failure *why)
{
    int fault = 0;
    for (size_t i = r->count; fault == 0 && i > 0; i--) {
        const struct change *c = &r->changes[i - 1];
        if (c->kind == DIFFERENCE_REMOVED || c->kind == DIFFERENCE_TYPE)
            fault = remove_one(r, c, why);
    }
    return fault;
}

// A directory sorts before what lies in it.
static int make_all(struct restore *r, struct failure *why)
{
    int fault = 0;
    for (size_t i = 0; fault == 0 && i < r->count; i++) {
        const struct change *c = &r->changes[i];
        if (c->kind == DIFFERENCE_ADDED || c->kind == DIFFERENCE_TYPE ||
            c->kind == DIFFERENCE_CONTENT)
            fault = make_one(r, c, why);
        else if (c->kind == DIFFERENCE_METADATA && c->then->type != TREE_DIRECTORY)
            fault = settle(r, c, why);
        if (fault == 0)
            fault = r->s->go_on(r->s->ctx, why);
    }
    return fault;
}

// All directories, since the steps before opened and touched them; the innermost first.
static int settle_folders(struct restore *r, struct failure *why)
{
    int fault = 0;
    for (size_t i = r->then.tree.count; fault == 0 && i > 0; i--) {
        const struct tree_entry *then = &r->then.tree.entries[i - 1];
        const struct change c = {DIFFERENCE_METADATA, tree_find(&r->now, then->path), then};
        if (then->type == TREE_DIRECTORY)
            fault = settle(r, &c, why);
    }
    return fault;
}

// Contents are written beside what they replace, so both stand on the disk for a while.
static int check_room(const struct restore *r, struct failure *why)
{
    struct statvfs disk;
    if (fstatvfs(workspace_root_fd(r->s->workspace, WORKSPACE_MAIN), &disk) != 0)
        return 0;
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (r->bytes + SPARE_BYTES <= room)
        return 0;
    return failure_set(why, FAULT_QUOTA,
                       "the disk has %" PRIu64 " bytes left, restoring writes %" PRIu64
                       "; nothing was changed. Remove files, or set keep_current to false",
                       room, r->bytes);
}

static int keep_current(struct restore *r, struct failure *why)
{
    struct snapshot current;
    snapshot_init(&current);
    current.created_ms = clock_wall_ms(r->s->clock);
    span_copy_string(SPAN_LITERAL(SNAPSHOT_BEFORE_RESTORE), current.name, sizeof current.name);
    snprintf(current.description, sizeof current.description, "before restoring %s", r->then.name);
    int fault = snapshots_scan(r->s, &current.tree, why);
    if (fault == 0)
        fault = snapshots_keep(r->s, r->pack, &current, why);
    if (fault != 0)
        failure_prefix(why, "the present state cannot be kept (keep_current: false goes without "
                            "that); nothing was changed");
    snapshot_fini(&current);
    return fault;
}

static void tell(const struct restore *r, bool kept, struct buffer *out)
{
    size_t shown = 0;
    size_t all = r->count - r->counts[DIFFERENCE_METADATA];
    buffer_printf(
        out,
        "restored %s: %zu made, %zu removed, %zu changed back, %zu with only mode, time or "
        "attributes set back\n",
        r->then.name, r->counts[DIFFERENCE_ADDED], r->counts[DIFFERENCE_REMOVED],
        r->counts[DIFFERENCE_CONTENT] + r->counts[DIFFERENCE_TYPE], r->counts[DIFFERENCE_METADATA]);
    for (size_t i = 0; i < r->count && shown < SHOWN_CHANGES; i++) {
        const struct change *c = &r->changes[i];
        if (c->kind == DIFFERENCE_METADATA)
            continue;
        buffer_printf(out, "%c ", difference_letter(c->kind));
        snapshots_show_path(c->then != NULL ? c->then->path : c->now->path, out);
        buffer_append_char(out, '\n');
        shown++;
    }
    if (shown < all)
        buffer_printf(out, "[and %zu more]\n", all - shown);
    if (kept)
        buffer_append_string(out, "[what was there before is kept as " SNAPSHOT_BEFORE_RESTORE
                                  "; read files again before you edit them]\n");
}

static int carry_out(struct restore *r, struct failure *why)
{
    int fault = remove_extras(r, why);
    if (fault == 0)
        fault = make_all(r, why);
    if (fault == 0)
        fault = settle_folders(r, why);
    if (fault != 0)
        failure_prefix(why, "restored in part; the same call goes on");
    return fault;
}

static int restore_tree(struct restore *r, bool keep, struct buffer *out, struct failure *why)
{
    const struct comparison c = {.before = &r->now,
                                 .after = &r->then.tree,
                                 .digest = NULL, // a snapshot has them all
                                 .found = note_change,
                                 .ctx = r};
    int fault = keep ? keep_current(r, why) : 0;
    if (fault == 0)
        fault = look(r, why);
    for (size_t i = 0; fault == 0 && i < r->now.count; i++) {
        struct tree_entry *e = &r->now.entries[i];
        const struct tree_entry *then = tree_find(&r->then.tree, e->path);
        if (e->type == TREE_FILE && then != NULL && then->type == TREE_FILE &&
            then->size == e->size && !tree_is_untouched(then, e))
            fault = take_digest(r, e, why);
    }
    if (fault == 0)
        fault = compare_trees(&c, why);
    if (fault == 0)
        fault = check_room(r, why);
    if (fault == 0)
        fault = carry_out(r, why);
    if (fault != 0)
        return fault;
    if (keep)
        snapshots_forget_older(r->pack, SPAN_LITERAL(SNAPSHOT_BEFORE_RESTORE));
    tell(r, keep, out);
    return 0;
}

int snapshots_restore(const struct snapshots *s, struct span name, bool keep, struct buffer *out,
                      struct failure *why)
{
    struct restore r = {.s = s};
    size_t index = 0;
    snapshot_init(&r.then);
    int fault = pack_open(s->pack_fd, PACK_WRITE, &r.pack, why);
    if (fault == 0)
        fault = snapshot_find(r.pack, name, &index, why);
    if (fault == 0)
        fault = snapshot_load(r.pack, index, &r.then, why);
    if (fault == 0)
        fault = restore_tree(&r, keep, out, why);
    snapshot_fini(&r.then);
    tree_fini(&r.now);
    free(r.changes);
    pack_close(r.pack);
    return fault;
}
