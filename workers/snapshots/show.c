// SPDX-License-Identifier: Apache-2.0
// The list of snapshots, and what differs between one and another or the present.
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "workers/snapshots/compare.h"
#include "workers/snapshots/line_diff.h"
#include "workers/snapshots/snapshots.h"
#include "workers/workspace/directory.h"

enum {
    FILE_BYTES_MAX = 4 << 20, // of a file that is shown line by line
    DIFF_BUDGET = 200 << 10,  // of text in one answer
    PATHS_SHOWN = 500,
    BINARY_PROBE = 8000,
};

int snapshots_list(const struct snapshots *s, struct buffer *out, struct failure *why)
{
    struct pack *p = NULL;
    int fault = pack_open(s->pack_fd, PACK_READ, &p, why);
    if (fault != 0)
        return fault;
    for (size_t i = pack_list_count(p); fault == 0 && i > 0; i--) {
        struct snapshot one;
        char made[CLOCK_TEXT_SIZE];
        snapshot_init(&one);
        fault = snapshot_load(p, i - 1, &one, why);
        clock_format_wall(one.created_ms, made);
        if (fault == 0)
            buffer_printf(out, "%s  %s  %" PRIu64 " files, %" PRIu64 " bytes%s%s\n", one.name, made,
                          one.files, one.bytes, one.description[0] != '\0' ? "  " : "",
                          one.description);
        snapshot_fini(&one);
    }
    if (fault == 0 && pack_list_count(p) == 0)
        buffer_append_string(out, "[no snapshots yet]\n");
    else if (fault == 0)
        buffer_printf(out, "[they take %" PRIu64 " bytes of the disk]\n", pack_bytes(p));
    pack_close(p);
    return fault;
}

struct showing {
    const struct snapshots *s;
    struct pack *pack;
    struct snapshot before, after;
    bool is_now; // `after` is the present, not a snapshot
    bool names_only;
    struct buffer *names, *diffs;
    size_t found, cut;
};

static int take_digest(void *ctx, struct tree_entry *e, struct failure *why)
{
    struct showing *w = ctx;
    return snapshots_digest(w->s, e, why);
}

static int read_present(const struct showing *w, const struct tree_entry *e, struct span *out,
                        struct failure *why)
{
    struct directory dir;
    const char *name;
    struct stat st;
    int fault = snapshots_place(w->s, e->path, &dir, &name, why);
    if (fault != 0)
        return fault;
    int fd = openat(dir.fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    directory_close(&dir);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES_MAX) {
        if (fd >= 0)
            close(fd);
        return failure_set(why, FAULT_CONFLICT, "it changed meanwhile");
    }
    char *bytes = memory_new((size_t)st.st_size + 1);
    ssize_t n = 0, got = 0;
    while (got < st.st_size && (n = read(fd, bytes + got, (size_t)(st.st_size - got))) > 0)
        got += n;
    close(fd);
    *out = span_of(bytes, (size_t)got);
    return 0;
}

// Empty for what is not there. The caller frees the data.
static int read_side(const struct showing *w, const struct tree_entry *e, bool is_now,
                     struct span *out, struct failure *why)
{
    *out = span_of(memory_new(1), 0);
    if (e == NULL || e->type != TREE_FILE)
        return 0;
    free((void *)(uintptr_t)out->data);
    *out = SPAN_NONE;
    if (is_now)
        return read_present(w, e, out, why);
    const struct pack_item *item = pack_find(w->pack, e->digest);
    char *bytes = NULL;
    int fault = item == NULL ? failure_set(why, FAULT_IO, "its content is missing")
                             : pack_read(w->pack, item, FILE_BYTES_MAX, &bytes, why);
    if (fault == 0)
        *out = span_of(bytes, (size_t)item->size);
    return fault;
}

static bool is_binary(struct span s)
{
    size_t probe = s.size < BINARY_PROBE ? s.size : BINARY_PROBE;
    return probe > 0 && memchr(s.data, '\0', probe) != NULL;
}

static void show_lines(struct showing *w, const struct tree_entry *before,
                       const struct tree_entry *after, struct failure *why)
{
    struct span old = SPAN_NONE, new = SPAN_NONE;
    struct span path = before != NULL ? before->path : after->path;
    size_t start = buffer_size(w->diffs);
    int fault = read_side(w, before, false, &old, why);
    if (fault == 0)
        fault = read_side(w, after, w->is_now, &new, why);
    buffer_append_string(w->diffs, before != NULL ? "--- a/" : "--- /dev/null");
    if (before != NULL)
        snapshots_show_path(path, w->diffs);
    buffer_append_string(w->diffs, after != NULL ? "\n+++ b/" : "\n+++ /dev/null");
    if (after != NULL)
        snapshots_show_path(path, w->diffs);
    buffer_append_char(w->diffs, '\n');
    if (fault != 0)
        buffer_printf(w->diffs, "[not shown: %s]\n", why->text);
    else if (is_binary(old) || is_binary(new))
        buffer_printf(w->diffs, "[binary, %zu bytes before, %zu after]\n", old.size, new.size);
    else if (line_diff(old, new, w->diffs) != 0) {
        buffer_truncate(w->diffs, start);
        w->cut++;
    }
    free((void *)(uintptr_t)old.data);
    free((void *)(uintptr_t) new.data);
}

static bool is_file(const struct tree_entry *e)
{
    return e == NULL || e->type == TREE_FILE;
}

static int show_one(void *ctx, enum difference d, const struct tree_entry *before,
                    const struct tree_entry *after, struct failure *why)
{
    struct showing *w = ctx;
    struct failure mine = {0};
    const struct tree_entry *e = after != NULL ? after : before;
    bool only_time = d == DIFFERENCE_METADATA && before->mode == after->mode &&
                     span_equals(before->attributes, after->attributes);
    if (only_time)
        return 0; // touched; there is nothing to see
    if (w->found++ < PATHS_SHOWN) {
        buffer_printf(w->names, "%c ", difference_letter(d));
        snapshots_show_path(e->path, w->names);
        if (d == DIFFERENCE_METADATA && before->mode != after->mode)
            buffer_printf(w->names, " (mode %04o, was %04o)", after->mode, before->mode);
        buffer_append_string(w->names, e->type == TREE_DIRECTORY ? "/\n" : "\n");
    }
    bool has_lines = d != DIFFERENCE_METADATA && is_file(before) && is_file(after);
    if (has_lines && !w->names_only && buffer_size(w->diffs) < DIFF_BUDGET - 1024)
        show_lines(w, before, after, &mine);
    else if (has_lines && !w->names_only)
        w->cut++;
    return w->s->go_on(w->s->ctx, why);
}

static void put_answer(const struct showing *w, struct buffer *out)
{
    if (w->found == 0)
        buffer_append_string(out, "no differences\n");
    buffer_append(out, buffer_span(w->names));
    if (w->found > PATHS_SHOWN)
        buffer_printf(out, "[and %zu more]\n", w->found - PATHS_SHOWN);
    if (buffer_size(w->diffs) > 0)
        buffer_append_char(out, '\n');
    buffer_append(out, buffer_span(w->diffs));
    if (w->cut > 0)
        buffer_printf(out, "[of %zu files the lines are not shown: it would be too much]\n",
                      w->cut);
}

static int load_side(const struct showing *w, struct span name, struct snapshot *out,
                     struct failure *why)
{
    size_t index = 0;
    int fault = snapshot_find(w->pack, name, &index, why);
    return fault != 0 ? fault : snapshot_load(w->pack, index, out, why);
}

int snapshots_diff(const struct snapshots *s, struct span name, struct span to, bool names_only,
                   struct buffer *out, struct failure *why)
{
    struct buffer names, diffs;
    struct showing w = {.s = s,
                        .is_now = span_is_absent(to),
                        .names_only = names_only,
                        .names = &names,
                        .diffs = &diffs};
    const struct comparison c = {&w.before.tree, &w.after.tree, take_digest, show_one, &w};
    buffer_init(&names, PATHS_SHOWN * (WORKSPACE_PATH_SIZE + 64));
    buffer_init(&diffs, DIFF_BUDGET);
    snapshot_init(&w.before);
    snapshot_init(&w.after);
    int fault = pack_open(s->pack_fd, PACK_READ, &w.pack, why);
    if (fault == 0)
        fault = load_side(&w, name, &w.before, why);
    if (fault == 0)
        fault = w.is_now ? snapshots_scan(s, &w.after.tree, why) : load_side(&w, to, &w.after, why);
    if (fault == 0)
        fault = compare_trees(&c, why);
    if (fault == 0)
        put_answer(&w, out);
    snapshot_fini(&w.before);
    snapshot_fini(&w.after);
    pack_close(w.pack);
    buffer_fini(&names);
    buffer_fini(&diffs);
    return fault;
}
