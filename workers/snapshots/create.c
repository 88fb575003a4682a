// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "workers/snapshots/snapshots.h"
#include "workers/workspace/directory.h"

enum { SHOWN_HIDDEN = 5 };

int snapshots_scan(const struct snapshots *s, struct tree *out, struct failure *why)
{
    return tree_scan(s->workspace, out, s->go_on, s->ctx, why);
}

int snapshots_place(const struct snapshots *s, struct span path, struct directory *dir,
                    const char **name, struct failure *why)
{
    struct workspace_path above = {.root = WORKSPACE_MAIN};
    const char *slash = memrchr(path.data, '/', path.size);
    size_t size = slash != NULL ? (size_t)(slash - path.data) : 0;
    if (size >= sizeof above.rest)
        return failure_set(why, FAULT_TOO_LARGE, "a path is too long");
    memcpy(above.rest, path.data, size);
    above.rest[size] = '\0';
    *name = slash != NULL ? slash + 1 : path.data;
    return directory_open(s->workspace, &above, DIRECTORY_MUST_EXIST, dir, why);
}

static int open_file(const struct snapshots *s, const struct tree_entry *e, struct failure *why)
{
    struct directory dir;
    const char *name;
    if (snapshots_place(s, e->path, &dir, &name, why) != 0)
        return -1;
    int fd = openat(dir.fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error = errno;
    directory_close(&dir);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    errno = fd >= 0 ? EINVAL : error;
    failure_errno(why, "open %.200s", e->path.data);
    return -1;
}

static int digest_of(const struct snapshots *s, int fd, struct tree_entry *e, struct failure *why)
{
    enum { PIECE = 64 << 10, CHECK = 64 };
    CLEANUP_FREE char *piece = memory_new(PIECE);
    struct sha256 *sum = sha256_start();
    ssize_t n;
    int fault = 0;
    for (size_t count = 1; fault == 0 && (n = read(fd, piece, PIECE)) > 0; count++) {
        sha256_update(sum, span_of(piece, (size_t)n));
        if (count % CHECK == 0)
            fault = s->go_on(s->ctx, why);
    }
    sha256_finish(sum, e->digest);
    e->has_digest = fault == 0;
    return fault;
}

int snapshots_digest(const struct snapshots *s, struct tree_entry *e, struct failure *why)
{
    int fd = open_file(s, e, why);
    if (fd < 0)
        return why->fault;
    int fault = digest_of(s, fd, e, why);
    close(fd);
    return fault;
}

// A file that went away or cannot be read any more is hidden: restoring leaves it alone.
static int keep_file(const struct snapshots *s, struct pack *p, struct tree_entry *e,
                     struct failure *why)
{
    int fd = open_file(s, e, why);
    if (fd < 0) {
        e->type = TREE_HIDDEN;
        return 0;
    }
    int fault = pack_add(p, fd, e->digest, &e->size, s->go_on, s->ctx, why);
    close(fd);
    e->has_digest = fault == 0;
    return fault;
}

// The newest snapshot knows the digests of what has not changed since.
static void load_known(const struct pack *p, struct snapshot *out)
{
    if (pack_list_count(p) > 0 && snapshot_load(p, pack_list_count(p) - 1, out, NULL) != 0) {
        snapshot_fini(out);
        snapshot_init(out);
    }
}

int snapshots_keep(const struct snapshots *s, struct pack *p, struct snapshot *snapshot,
                   struct failure *why)
{
    struct snapshot known;
    struct buffer list;
    int fault = 0;
    snapshot_init(&known);
    load_known(p, &known);
    for (size_t i = 0; fault == 0 && i < snapshot->tree.count; i++) {
        struct tree_entry *e = &snapshot->tree.entries[i];
        if (e->type != TREE_FILE)
            continue;
        const struct tree_entry *before = tree_find(&known.tree, e->path);
        if (before != NULL && before->has_digest && tree_is_untouched(before, e) &&
            pack_find(p, before->digest) != NULL) {
            memcpy(e->digest, before->digest, sizeof e->digest);
            e->has_digest = true;
        } else {
            fault = keep_file(s, p, e, why);
        }
        snapshot->files += e->type == TREE_FILE;
        snapshot->bytes += e->type == TREE_FILE ? e->size : 0;
    }
    snapshot_fini(&known);
    if (fault == 0) {
        fault = snapshot_write(snapshot, &list);
        if (fault != 0)
            failure_set(why, FAULT_TOO_LARGE, "the workspace has too many names for a snapshot");
        else
            fault = pack_add_list(p, buffer_span(&list), why);
        buffer_fini(&list);
    }
    if (fault != 0)
        pack_undo(p);
    return fault;
}

// --- what is not wanted any more -----------------------------------------------------------------

static void want_digests(const struct pack *p, struct table *wanted)
{
    for (size_t i = 0; i < pack_list_count(p); i++) {
        struct snapshot s;
        snapshot_init(&s);
        if (snapshot_load(p, i, &s, NULL) == 0)
            for (size_t at = 0; at < s.tree.count; at++)
                if (s.tree.entries[at].has_digest)
                    table_put(wanted, span_of(s.tree.entries[at].digest, SHA256_SIZE), wanted);
        snapshot_fini(&s);
    }
}

static bool is_wanted(void *ctx, const struct pack_item *item)
{
    return table_get(ctx, span_of(item->digest, sizeof item->digest)) != NULL;
}

void snapshots_forget_older(struct pack *p, struct span name)
{
    snapshot_drop_older(p, name);
    struct table *wanted = table_new();
    want_digests(p, wanted);
    pack_keep_only(p, is_wanted, wanted);
    table_free(wanted);
}

// --- the call ------------------------------------------------------------------------------------

// Letters, digits, dot, dash and underscore: it is said in lines and given as an argument.
static int check_name(struct span name, struct failure *why)
{
    bool good = name.size > 0 && name.size < SNAPSHOT_NAME_SIZE && name.data[0] != '.' &&
                name.data[0] != '-';
    for (size_t i = 0; good && i < name.size; i++) {
        char c = name.data[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '-' || c == '_';
    }
    return good ? 0
                : failure_set(why, FAULT_INVALID,
                              "a snapshot's name has 1 to %d letters, digits, '.', '-' and '_', "
                              "and begins with none of '.' and '-'",
                              SNAPSHOT_NAME_SIZE - 1);
}

static int check_free(const struct pack *p, struct span name, bool replace, struct failure *why)
{
    size_t index;
    struct failure none;
    bool taken = snapshot_find(p, name, &index, &none) == 0;
    if (taken && !replace)
        return failure_set(why, FAULT_CONFLICT,
                           "there is a snapshot \"%.*s\" already; choose another name, or set "
                           "replace",
                           SPAN_ARGS(name));
    if (!taken && pack_list_count(p) >= SNAPSHOTS_MAX)
        return failure_set(why, FAULT_QUOTA,
                           "there are %d snapshots, more are not kept; replace one of them",
                           SNAPSHOTS_MAX);
    return 0;
}

void snapshots_show_path(struct span path, struct buffer *out)
{
    for (size_t i = 0; i < path.size; i++) {
        unsigned char c = (unsigned char)path.data[i];
        if (c < ' ' || c == '\\' || c == 0x7f)
            buffer_printf(out, "\\x%02x", c);
        else
            buffer_append_char(out, (char)c);
    }
}

static void tell_hidden(const struct tree *t, struct buffer *out)
{
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (t->entries[i].type != TREE_HIDDEN || ++count > SHOWN_HIDDEN)
            continue;
        buffer_append_string(out, "[not in it, since it cannot be read: ");
        snapshots_show_path(t->entries[i].path, out);
        buffer_append_string(out, "]\n");
    }
    if (count > SHOWN_HIDDEN)
        buffer_printf(out, "[and %zu more]\n", count - SHOWN_HIDDEN);
}

int snapshots_create(const struct snapshots *s, struct span name, struct span description,
                     bool replace, struct buffer *out, struct failure *why)
{
    struct pack *p = NULL;
    struct snapshot made;
    snapshot_init(&made);
    made.created_ms = clock_wall_ms(s->clock);
    span_copy_string(description, made.description, sizeof made.description);
    int fault = check_name(name, why);
    if (fault == 0)
        fault = pack_open(s->pack_fd, PACK_WRITE, &p, why);
    if (fault == 0)
        fault = check_free(p, name, replace, why);
    if (fault == 0)
        fault = snapshots_scan(s, &made.tree, why);
    if (fault == 0) {
        span_copy_string(name, made.name, sizeof made.name);
        uint64_t before = pack_bytes(p);
        fault = snapshots_keep(s, p, &made, why);
        if (fault == 0 && replace) // the new one is the newest of its name; the one before it goes
            snapshots_forget_older(p, name);
        uint64_t now = pack_bytes(p);
        if (fault == 0)
            buffer_printf(out,
                          "snapshot %s: %" PRIu64 " files, %" PRIu64 " bytes; it takes %" PRIu64
                          " bytes of the disk\n",
                          made.name, made.files, made.bytes, now > before ? now - before : 0);
        if (fault == 0)
            tell_hidden(&made.tree, out);
    }
    pack_close(p);
    snapshot_fini(&made);
    return fault;
}
