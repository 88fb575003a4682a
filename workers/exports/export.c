// SPDX-License-Identifier: Apache-2.0
#include "workers/exports/export.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/scrub/scrub.h"
#include "workers/exports/archive.h"
#include "workers/exports/content.h"

enum { PIECE = 64 << 10, HEADERS_MAX = 64 << 10 };

// --- looking ------------------------------------------------------------------------------------

// The type of an open file; NULL where it cannot be read.
static const char *type_of(int fd, const char *name)
{
    char head[CONTENT_HEAD];
    ssize_t n = pread(fd, head, sizeof head, 0);
    if (n < 0)
        return NULL;
    return content_type(span_of(head, (size_t)n), (size_t)n < sizeof head, name);
}

static int judge_type(const struct export *e, const char *type, const char *shown,
                      struct failure *why)
{
    if (content_is_listed(e->limits.types, type))
        return 0;
    return failure_set(why, FAULT_DENIED,
                       "%.300s is %s, which may not leave this sandbox; what may: %.200s", shown,
                       type, e->limits.types);
}

static int judge_size(const struct export *e, uint64_t bytes, struct failure *why)
{
    if (bytes <= e->limits.bytes)
        return 0;
    return failure_set(why, FAULT_TOO_LARGE,
                       "%.300s would be %" PRIu64 " bytes or more, and an export may have %" PRIu64
                       "; export a part of it",
                       e->facts.shown, bytes, e->limits.bytes);
}

static int look_at_file(struct export *e, struct failure *why)
{
    const char *name = e->file.name;
    const char *type = type_of(e->file.fd, name);
    if (type == NULL)
        return failure_errno(why, "read %.300s", e->facts.shown);
    const char *promised = content_promised(name);
    if (promised != NULL && strcmp(promised, type) != 0)
        return failure_set(why, FAULT_DENIED, "%.300s does not hold %s, as its name says, but %s",
                           e->facts.shown, promised, type);
    e->facts.type = type;
    e->facts.is_text = content_is_text(type);
    snprintf(e->facts.name, sizeof e->facts.name, "%s", name);
    e->facts.files = 1;
    e->facts.bytes = (uint64_t)e->file.st.st_size;
    int fault = judge_type(e, type, e->facts.shown, why);
    return fault != 0 ? fault : judge_size(e, e->facts.bytes, why);
}

// --- a folder: the same walk measures and sends
// ---------------------------------------------------

struct sending {
    struct export *e;
    int (*put)(void *owner, struct span bytes); // NULL: only measured
    void *owner;
    uint64_t members, files, bytes;
    size_t redacted;
    struct buffer headers;
};

static void leave_out(struct sending *s, struct span path)
{
    char rest[WORKSPACE_PATH_SIZE];
    struct export_facts *facts = &s->e->facts;
    if (s->put != NULL) // the measuring counted it
        return;
    facts->left_out++;
    if (facts->example[0] != '\0' || !span_copy_string(path, rest, sizeof rest))
        return;
    workspace_path_show(s->e->directory.root, rest, facts->example);
}

// Some ".." at the front and then names, all beneath the folder: since other links are like this
// too, whoever unpacks it never leaves what was unpacked.
static bool stays_inside(struct span below, struct span target)
{
    size_t depth = 0;
    bool went_down = false;
    for (size_t i = 0; i < below.size; i++)
        depth += below.data[i] == '/';
    if (target.size == 0 || target.data[0] == '/')
        return false;
    while (target.size > 0) {
        const char *slash = memchr(target.data, '/', target.size);
        size_t size = slash != NULL ? (size_t)(slash - target.data) : target.size;
        struct span name = span_slice(target, 0, size);
        target = span_slice(target, size + (slash != NULL), target.size);
        if (span_is(name, "..")) {
            if (went_down || depth == 0)
                return false;
            depth--;
        } else if (name.size > 0 && !span_is(name, ".")) {
            went_down = true;
        }
    }
    return true;
}

static int give(struct sending *s, struct span bytes)
{
    return s->put(s->owner, bytes);
}

static int send_header(struct sending *s, struct span path, struct span target,
                       const struct stat *st, uint64_t size, struct failure *why)
{
    buffer_clear(&s->headers);
    int fault = archive_member(&s->headers, path, target, st, size);
    if (fault != 0)
        return failure_set(why, fault, "a name is too long for an archive");
    return give(s, buffer_span(&s->headers));
}

struct reading {
    int fd;
    uint64_t left; // what of it is read: what it had when it was opened
    const struct export *e;
};

// Feeds a file's bytes to `take`. FAULT_CONFLICT where it became shorter.
static int read_all(const struct reading *r, int (*take)(void *owner, struct span bytes),
                    void *owner, struct failure *why)
{
    CLEANUP_FREE char *piece = memory_new(PIECE);
    uint64_t left = r->left;
    for (off_t at = 0; left > 0;) {
        int fault = r->e->go_on(r->e->ctx, why);
        ssize_t n = fault == 0 ? pread(r->fd, piece, left < PIECE ? left : PIECE, at) : 0;
        if (fault != 0)
            return fault;
        if (n < 0)
            return failure_errno(why, "read a file of the export");
        if (n == 0)
            return failure_set(why, FAULT_CONFLICT, "a file became shorter while it was exported");
        fault = take(owner, span_of(piece, (size_t)n));
        if (fault != 0)
            return fault;
        at += n;
        left -= (uint64_t)n;
    }
    return 0;
}

static int push(void *owner, struct span bytes)
{
    return scrub_push(owner, bytes);
}

// A text: what it is without its secrets goes to `emit`.
static int scrub_all(const struct reading *r, int (*emit)(void *owner, struct span bytes),
                     void *owner, size_t *redacted, struct failure *why)
{
    struct scrub *scrub = scrub_new(emit, owner);
    int fault = read_all(r, push, scrub, why);
    if (fault == 0)
        fault = scrub_finish(scrub);
    *redacted += scrub_found(scrub);
    scrub_free(scrub);
    return fault;
}

static int add_size(void *owner, struct span bytes)
{
    *(uint64_t *)owner += bytes.size;
    return 0;
}

struct exactly { // what goes out must have the size that the header told
    struct sending *s;
    uint64_t left;
};

static int give_exactly(void *owner, struct span bytes)
{
    struct exactly *x = owner;
    if (bytes.size > x->left)
        return FAULT_CONFLICT;
    x->left -= bytes.size;
    return give(x->s, bytes);
}

static int send_content(struct sending *s, const struct reading *r, bool is_text, uint64_t size,
                        struct failure *why)
{
    static const char zeros[ARCHIVE_BLOCK];
    struct exactly x = {s, size};
    int fault = is_text ? scrub_all(r, give_exactly, &x, &s->redacted, why)
                        : read_all(r, give_exactly, &x, why);
    if (fault == FAULT_CONFLICT || (fault == 0 && x.left > 0))
        return failure_set(why, FAULT_CONFLICT, "a file was changed while it was exported");
    return fault != 0 ? fault : give(s, span_of(zeros, archive_padding(size)));
}

static int send_file(struct sending *s, const struct walk_file *f, int fd, const struct stat *st,
                     const char *type, struct failure *why)
{
    const struct reading r = {fd, (uint64_t)st->st_size, s->e};
    bool is_text = content_is_text(type);
    uint64_t size = r.left;
    size_t unused = 0;
    int fault = 0;
    if (is_text) {
        size = 0;
        fault = scrub_all(&r, add_size, &size, &unused, why);
    }
    if (fault == 0)
        fault = send_header(s, f->below, SPAN_NONE, st, size, why);
    return fault != 0 ? fault : send_content(s, &r, is_text, size, why);
}

static int take_file(struct sending *s, const struct walk_file *f, struct failure *why)
{
    char rest[WORKSPACE_PATH_SIZE] = "", shown[WORKSPACE_SHOWN_SIZE];
    struct stat st;
    const char *type = NULL;
    int fd = openat(f->dir_fd, f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        type = type_of(fd, f->name);
    int fault = 0;
    if (type != NULL) {
        s->files++;
        s->bytes += (uint64_t)st.st_size;
        (void)span_copy_string(f->path, rest, sizeof rest);
        workspace_path_show(s->e->directory.root, rest, shown);
        fault = judge_type(s->e, type, shown, why);
        if (fault == 0)
            fault = judge_size(s->e, s->bytes, why);
        if (fault == 0 && s->put != NULL)
            fault = send_file(s, f, fd, &st, type, why);
    } else {
        leave_out(s, f->path);
    }
    if (fd >= 0)
        close(fd);
    return fault;
}

static int take_link(struct sending *s, const struct walk_file *f, struct failure *why)
{
    char target[WORKSPACE_PATH_SIZE];
    struct stat st;
    if (directory_read_link(f->dir_fd, f->name, target) != 1 ||
        fstatat(f->dir_fd, f->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(st.st_mode) ||
        !stays_inside(f->below, span_from_string(target))) {
        leave_out(s, f->path);
        return 0;
    }
    return s->put != NULL ? send_header(s, f->below, span_from_string(target), &st, 0, why) : 0;
}

static int take_directory(struct sending *s, const struct walk_file *f, struct failure *why)
{
    char path[WORKSPACE_PATH_SIZE + 1];
    struct stat st;
    if (s->put == NULL || fstatat(f->dir_fd, f->name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(st.st_mode))
        return 0;
    int size = snprintf(path, sizeof path, "%.*s/", SPAN_ARGS(f->below));
    return send_header(s, span_of(path, (size_t)size), SPAN_NONE, &st, 0, why);
}

static int take(void *ctx, const struct walk_file *f, struct failure *why)
{
    struct sending *s = ctx;
    if (++s->members > s->e->limits.members)
        return failure_set(why, FAULT_TOO_LARGE,
                           "%.300s has more than %" PRIu64 " files, folders and links; export a "
                           "part of it",
                           s->e->facts.shown, s->e->limits.members);
    switch (f->type) {
    case DT_REG:
        return take_file(s, f, why);
    case DT_DIR:
        return take_directory(s, f, why);
    case DT_LNK:
        return take_link(s, f, why);
    default:
        leave_out(s, f->path);
        return 0;
    }
}

static int walk_on(void *ctx, struct failure *why)
{
    const struct sending *s = ctx;
    return s->e->go_on(s->e->ctx, why);
}

static void passed_over(void *ctx, struct span path)
{
    leave_out(ctx, path);
}

static int walk_folder(struct sending *s, const struct workspace *ws, struct failure *why)
{
    struct walk_report report;
    const struct walk_options options = {
        .include_ignored = true,
        .everything = true,
        .sorted = true,
        .file = take,
        .go_on = walk_on,
        .passed_over = passed_over,
        .ctx = s,
    };
    return walk(ws, &s->e->directory, &options, &report, why);
}

// --- from outside
// ---------------------------------------------------------------------------------

static int look_at_folder(struct export *e, const struct workspace *ws, struct failure *why)
{
    struct sending s = {.e = e};
    const char *slash = strrchr(e->directory.path, '/');
    const char *name = slash != NULL ? slash + 1 : e->directory.path;
    e->facts.is_folder = true;
    e->facts.type = "application/x-tar";
    workspace_path_show(e->directory.root, e->directory.path, e->facts.shown);
    if (name[0] == '\0')
        name = workspace_root_name(e->directory.root) + 1;
    snprintf(e->facts.name, sizeof e->facts.name, "%.255s.tar", name);
    int fault = walk_folder(&s, ws, why);
    e->facts.files = s.files;
    e->facts.bytes = s.bytes;
    return fault;
}

int export_open(const struct workspace *ws, struct span path, const struct export_limits *limits,
                int (*go_on)(void *ctx, struct failure *why), void *ctx, struct export *out,
                struct failure *why)
{
    struct workspace_path at;
    struct failure unused;
    *out = (struct export){.file = {.dir = {.fd = -1}, .fd = -1, .lock_fd = -1},
                           .directory = {.fd = -1},
                           .limits = *limits,
                           .go_on = go_on,
                           .ctx = ctx};
    int fault = workspace_path_parse(ws, path, &at, why);
    if (fault != 0)
        return fault;
    if (directory_open(ws, &at, DIRECTORY_MUST_EXIST, &out->directory, &unused) == 0) {
        fault = look_at_folder(out, ws, why);
    } else {
        out->directory.fd = -1;
        fault = file_open(ws, path, FILE_READ, &out->file, why);
        if (fault != 0)
            return fault;
        snprintf(out->facts.shown, sizeof out->facts.shown, "%s", out->file.shown);
        fault = look_at_file(out, why);
    }
    if (fault != 0)
        export_close(out);
    return fault;
}

int export_send(struct export *e, const struct workspace *ws,
                int (*put)(void *owner, struct span bytes), void *owner, size_t *redacted,
                struct failure *why)
{
    struct sending s = {.e = e, .put = put, .owner = owner};
    int fault;
    *redacted = 0;
    if (!e->facts.is_folder) {
        const struct reading r = {e->file.fd, (uint64_t)e->file.st.st_size, e};
        return e->facts.is_text ? scrub_all(&r, put, owner, redacted, why)
                                : read_all(&r, put, owner, why);
    }
    buffer_init(&s.headers, HEADERS_MAX);
    fault = walk_folder(&s, ws, why);
    buffer_clear(&s.headers);
    if (fault == 0 && archive_end(&s.headers) == 0)
        fault = give(&s, buffer_span(&s.headers));
    buffer_fini(&s.headers);
    *redacted = s.redacted;
    return fault;
}

void export_close(struct export *e)
{
    if (e->file.fd >= 0)
        file_close(&e->file);
    if (e->directory.fd >= 0)
        directory_close(&e->directory);
    e->file.fd = e->directory.fd = -1;
}
