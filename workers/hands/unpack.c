// SPDX-License-Identifier: Apache-2.0
#include "workers/hands/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "workers/hands/tar.h"
#include "workers/workspace/directory.h"

struct unpack {
    const struct workspace *workspace;
    enum workspace_root root;
    int (*next)(void *ctx, struct span *piece);
    void *ctx;
    struct span piece, left; // the present piece, and what of it is unread
    struct unpack_counts *counts;
    uint64_t members;
    struct tar_override override;
    struct tar_member member;
};

// At most `most` bytes that lie ready; absent at the stream's end.
static int take(struct unpack *u, uint64_t most, struct span *out)
{
    while (u->left.size == 0) {
        int fault = u->next(u->ctx, &u->piece);
        if (fault != 0)
            return fault;
        u->left = u->piece;
        if (span_is_absent(u->piece)) {
            *out = SPAN_NONE;
            return 0;
        }
    }
    *out = span_slice(u->left, 0, most < u->left.size ? (size_t)most : u->left.size);
    u->left = span_slice(u->left, out->size, u->left.size);
    return 0;
}

static int broken_off(struct failure *why)
{
    return failure_set(why, FAULT_INVALID, "the tar stream ends in the middle");
}

static int read_whole(struct unpack *u, char *to, size_t size, struct failure *why)
{
    for (size_t at = 0; at < size;) {
        struct span bytes;
        int fault = take(u, size - at, &bytes);
        if (fault != 0 || span_is_absent(bytes))
            return broken_off(why);
        memcpy(to + at, bytes.data, bytes.size);
        at += bytes.size;
    }
    return 0;
}

static int skip(struct unpack *u, uint64_t size, struct failure *why)
{
    while (size > 0) {
        struct span bytes;
        int fault = take(u, size, &bytes);
        if (fault != 0 || span_is_absent(bytes))
            return broken_off(why);
        size -= bytes.size;
    }
    return 0;
}

static uint64_t padding(uint64_t size)
{
    return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;
}

static int write_all(int fd, struct span bytes)
{
    while (bytes.size > 0) {
        ssize_t size = write(fd, bytes.data, bytes.size);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return -1;
        bytes = span_slice(bytes, (size_t)size, bytes.size);
    }
    return 0;
}

static int copy_content(struct unpack *u, int fd, struct failure *why)
{
    for (uint64_t left = u->member.size; left > 0;) {
        struct span bytes;
        int fault = take(u, left, &bytes);
        if (fault != 0 || span_is_absent(bytes))
            return broken_off(why);
        if (write_all(fd, bytes) != 0)
            return failure_errno(why, "write %s", u->member.name);
        left -= bytes.size;
        u->counts->bytes += bytes.size;
    }
    return skip(u, padding(u->member.size), why);
}

static void directory_close_at(struct directory *d)
{
    if (d->fd >= 0)
        directory_close(d);
}

// Opens the directory `rest` beneath the root, making it where it is missing.
static int open_folder(struct unpack *u, struct span rest, struct directory *out,
                       struct failure *why)
{
    struct workspace_path path = {.root = u->root};
    if (!span_copy_string(rest, path.rest, sizeof path.rest))
        return failure_set(why, FAULT_INVALID, "the member's name is too long");
    return directory_open(u->workspace, &path, DIRECTORY_CREATE, out, why);
}

static int unpack_file(struct unpack *u, const char *name, struct failure *why)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash != NULL ? slash + 1 : name;
    CLEANUP(directory_close_at) struct directory folder = {.fd = -1};
    int fault =
        open_folder(u, span_of(name, slash != NULL ? (size_t)(slash - name) : 0), &folder, why);
    if (fault != 0)
        return fault;
    // A new file in any case: what stood there may be a link, or be open elsewhere.
    if (unlinkat(folder.fd, base, 0) != 0 && errno != ENOENT)
        return failure_errno(why, "replace %s", name);
    int fd = openat(folder.fd, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return failure_errno(why, "make %s", name);
    fault = copy_content(u, fd, why);
    if (fault == 0 && fchmod(fd, u->member.mode | S_IRUSR | S_IWUSR) != 0)
        fault = failure_errno(why, "set the mode of %s", name);
    if (close(fd) != 0 && fault == 0)
        fault = failure_errno(why, "write %s", name);
    u->counts->files += fault == 0;
    return fault;
}

static int unpack_member(struct unpack *u, struct failure *why)
{
    char name[TAR_NAME_SIZE];
    unsigned depth;
    int fault = tar_name_clean(u->member.name, name, &depth, why);
    if (fault != 0)
        return fault;
    if (depth > UNPACK_DEPTH_MAX)
        return failure_set(why, FAULT_TOO_LARGE, "%s lies more than %d levels deep", name,
                           UNPACK_DEPTH_MAX);
    if (u->member.kind == TAR_DIRECTORY) {
        CLEANUP(directory_close_at) struct directory made = {.fd = -1};
        return open_folder(u, span_from_string(name), &made, why);
    }
    if (depth == 0)
        return failure_set(why, FAULT_INVALID, "a tar member has no name");
    if (u->member.size > UNPACK_BYTES_MAX - u->counts->bytes)
        return failure_set(why, FAULT_TOO_LARGE, "the upload has more than %llu bytes",
                           (unsigned long long)UNPACK_BYTES_MAX);
    return unpack_file(u, name, why);
}

static int read_extension(struct unpack *u, struct failure *why)
{
    uint64_t size = u->member.size;
    if (size > TAR_EXTENSION_MAX)
        return failure_set(why, FAULT_TOO_LARGE, "an extended tar header is too large");
    CLEANUP_FREE char *content = memory_new((size_t)size + 1);
    int fault = read_whole(u, content, (size_t)size, why);
    if (fault == 0)
        fault = skip(u, padding(size), why);
    if (fault != 0)
        return fault;
    struct span all = span_of(content, (size_t)size);
    return u->member.kind == TAR_PAX ? tar_pax_parse(all, &u->override, why)
                                     : tar_long_name_parse(all, &u->override, why);
}

static int take_member(struct unpack *u, struct failure *why)
{
    switch (u->member.kind) {
    case TAR_PAX:
    case TAR_LONG_NAME:
        return read_extension(u, why);
    case TAR_IGNORED:
        if (u->member.size > TAR_EXTENSION_MAX)
            return failure_set(why, FAULT_TOO_LARGE, "an extended tar header is too large");
        return skip(u, u->member.size + padding(u->member.size), why);
    default:
        break;
    }
    tar_override_apply(&u->override, &u->member);
    u->override = (struct tar_override){0};
    if (++u->members > UNPACK_MEMBERS_MAX)
        return failure_set(why, FAULT_TOO_LARGE, "the upload has more than %d members",
                           UNPACK_MEMBERS_MAX);
    if (u->member.kind == TAR_LINK)
        return failure_set(why, FAULT_DENIED, "%s is a link; upload files and directories only",
                           u->member.name);
    if (u->member.kind == TAR_SPECIAL)
        return failure_set(why, FAULT_DENIED, "%s is neither a file nor a directory",
                           u->member.name);
    return unpack_member(u, why);
}

int unpack_run(const struct workspace *ws, enum workspace_root root,
               int (*next)(void *ctx, struct span *piece), void *ctx, struct unpack_counts *counts,
               struct failure *why)
{
    CLEANUP_FREE struct unpack *u = memory_new(sizeof *u);
    *u = (struct unpack){.workspace = ws, .root = root, .next = next, .ctx = ctx, .counts = counts};
    if (!workspace_has_root(ws, root))
        return failure_set(why, FAULT_NOT_FOUND, "this sandbox has no such folder");
    for (;;) {
        char block[TAR_BLOCK];
        int fault = read_whole(u, block, sizeof block, why);
        if (fault == 0)
            fault = tar_header_parse((const unsigned char *)block, &u->member, why);
        if (fault == 0 && u->member.kind == TAR_END)
            break;
        if (fault == 0)
            fault = take_member(u, why);
        if (fault != 0)
            return fault;
    }
    for (struct span rest = SPAN_LITERAL(""); !span_is_absent(rest);) // padding after the end
        if (take(u, UINT64_MAX, &rest) != 0)
            return broken_off(why);
    return 0;
}
