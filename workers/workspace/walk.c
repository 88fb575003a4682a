// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/memory.h"
#include "workers/workspace/ignore.h"
#include "workers/workspace/replace.h"

struct walker {
    const struct walk_options *options;
    struct walk_report *report;
    struct ignore *rules; // the innermost set
    size_t begin;         // bytes of `path` before the part below the start
    size_t size;
    char path[WORKSPACE_PATH_SIZE];
};

// The names of one directory, each behind a byte with its type, each with a NUL.
struct entries {
    struct buffer bytes;
    size_t *at; // owned: where each begins
    size_t count, capacity;
};

enum { NAMES_BYTES_MAX = 64 << 20 };

static void note_passed_over(struct walker *w, size_t *counter)
{
    if (w->report->unreadable + w->report->too_deep == 0)
        snprintf(w->report->example, sizeof w->report->example, "%.*s",
                 SPAN_ARGS(span_of(w->path, w->size)));
    ++*counter;
    if (w->options->passed_over != NULL)
        w->options->passed_over(w->options->ctx, span_of(w->path, w->size));
}

static bool is_temporary(const char *name)
{
    return strncmp(name, ".wrist-", 7) == 0 && strlen(name) == 39;
}

static unsigned char type_of(int dir_fd, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return DT_UNKNOWN;
    return (unsigned char)IFTODT(st.st_mode);
}

static bool add_entry(struct entries *e, unsigned char type, const char *name)
{
    if (e->count == WALK_ENTRIES_MAX)
        return false;
    if (e->count == e->capacity) {
        e->capacity = e->capacity > 0 ? e->capacity * 2 : 64;
        e->at = memory_resize(e->at, e->capacity, sizeof *e->at);
    }
    size_t at = buffer_size(&e->bytes);
    if (buffer_append_char(&e->bytes, (char)type) != 0 ||
        buffer_append(&e->bytes, span_of(name, strlen(name) + 1)) != 0)
        return false;
    e->at[e->count++] = at;
    return true;
}

static const char *entry_name(const struct entries *e, size_t i)
{
    return buffer_span(&e->bytes).data + e->at[i] + 1;
}

static int compare_entries(const void *a, const void *b, void *ctx)
{
    const char *bytes = ctx;
    return strcmp(bytes + *(const size_t *)a + 1, bytes + *(const size_t *)b + 1);
}

static void load_entries(struct walker *w, DIR *dir, struct entries *e)
{
    int fd = dirfd(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_temporary(name))
            continue;
        unsigned char type = type_of(fd, entry);
        if (!w->options->everything &&
            ((type != DT_REG && type != DT_DIR) || (type == DT_DIR && strcmp(name, ".git") == 0)))
            continue;
        if (!add_entry(e, type, name)) {
            note_passed_over(w, &w->report->too_deep);
            break;
        }
    }
    if (w->options->sorted && e->count > 1)
        qsort_r(e->at, e->count, sizeof *e->at, compare_entries,
                (void *)(uintptr_t)buffer_span(&e->bytes).data);
}

static int walk_directory(struct walker *w, int fd, int depth, struct failure *why);

static int walk_subdirectory(struct walker *w, int parent_fd, const char *name, int depth,
                             struct failure *why)
{
    struct span below = span_of(w->path + w->begin, w->size - w->begin);
    if (w->options->enter != NULL && !w->options->enter(w->options->ctx, below))
        return 0;
    if (depth + 1 == WALK_DEPTH_MAX) {
        note_passed_over(w, &w->report->too_deep);
        return 0;
    }
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        return walk_directory(w, fd, depth + 1, why);
    if (errno == EACCES || errno == EPERM || errno == EMFILE || errno == EIO)
        note_passed_over(w, &w->report->unreadable);
    return 0; // it went away, or is something else by now
}

static int walk_entry(struct walker *w, int fd, unsigned char type, const char *name, int depth,
                      struct failure *why)
{
    size_t before = w->size;
    int size =
        snprintf(w->path + before, sizeof w->path - before, "%s%s", before > 0 ? "/" : "", name);
    int rc = 0;
    if (size < 0 || (size_t)size >= sizeof w->path - before) {
        w->path[before] = '\0';
        note_passed_over(w, &w->report->too_deep);
        return 0;
    }
    w->size = before + (size_t)size;
    struct span path = span_of(w->path, w->size);
    struct walk_file file = {fd, name, type, path, span_slice(path, w->begin, path.size)};
    bool left_out = !w->options->include_ignored && ignore_covers(w->rules, path, type == DT_DIR);
    if (!left_out && (type != DT_DIR || w->options->everything))
        rc = w->options->file(w->options->ctx, &file, why);
    if (!left_out && type == DT_DIR && rc == 0)
        rc = walk_subdirectory(w, fd, name, depth, why);
    w->size = before;
    w->path[before] = '\0';
    return rc;
}

// Takes over `fd`.
static int walk_directory(struct walker *w, int fd, int depth, struct failure *why)
{
    struct entries e = {0};
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return failure_errno(why, "list a directory");
    }
    buffer_init(&e.bytes, NAMES_BYTES_MAX);
    load_entries(w, dir, &e);
    struct ignore *outer = w->rules;
    if (!w->options->include_ignored)
        w->rules = ignore_push(outer, fd, w->size > 0 ? w->size + 1 : 0);
    int rc = w->options->go_on(w->options->ctx, why);
    for (size_t i = 0; rc == 0 && i < e.count; i++) {
        const char *name = entry_name(&e, i);
        rc = walk_entry(w, fd, (unsigned char)name[-1], name, depth, why);
    }
    ignore_pop(w->rules, outer);
    w->rules = outer;
    buffer_fini(&e.bytes);
    free(e.at);
    closedir(dir);
    return rc;
}

// The rules of the directories above the start hold below it as well.
static void push_rules_above(const struct workspace *ws, const struct directory *start,
                             struct walker *w)
{
    struct workspace_path path = {.root = start->root};
    struct directory above;
    for (size_t size = 0; size < strlen(start->path); size++) {
        if (size > 0 && start->path[size] != '/')
            continue;
        memcpy(path.rest, start->path, size);
        path.rest[size] = '\0';
        if (directory_open(ws, &path, DIRECTORY_MUST_EXIST, &above, NULL) != 0)
            return;
        w->rules = ignore_push(w->rules, above.fd, size > 0 ? size + 1 : 0);
        directory_close(&above);
    }
}

int walk(const struct workspace *ws, const struct directory *start,
         const struct walk_options *options, struct walk_report *report, struct failure *why)
{
    struct walker w = {.options = options, .report = report};
    *report = (struct walk_report){0};
    w.size = strlen(start->path);
    memcpy(w.path, start->path, w.size);
    w.begin = w.size > 0 ? w.size + 1 : 0;
    int fd = openat(start->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failure_errno(why, "list %.200s", start->path[0] != '\0' ? start->path : ".");
    if (!options->include_ignored)
        push_rules_above(ws, start, &w);
    int rc = walk_directory(&w, fd, 0, why);
    ignore_pop(w.rules, NULL);
    return rc;
}
