// SPDX-License-Identifier: Apache-2.0
// Glob: the newest files first. Only as many as are shown are kept, in a heap with the oldest at
// its root; the rest is counted.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "gateway/lib/base/memory.h"
#include "workers/tools/search.h"

struct found {
    int64_t mtime_ns;
    char *path; // owned
};

struct globbing {
    struct pattern_set set;
    struct search_time time;
    struct found *heap; // owned
    size_t count, limit;
    size_t total;
};

// Is `a` shown behind `b`?
static bool is_behind(const struct found *a, const struct found *b)
{
    if (a->mtime_ns != b->mtime_ns)
        return a->mtime_ns < b->mtime_ns;
    return strcmp(a->path, b->path) > 0;
}

static void swap(struct found *a, struct found *b)
{
    struct found t = *a;
    *a = *b;
    *b = t;
}

static void sift_up(struct found *heap, size_t at)
{
    while (at > 0 && is_behind(&heap[at], &heap[(at - 1) / 2])) {
        swap(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct found *heap, size_t count, size_t at)
{
    for (;;) {
        size_t last = at, left = 2 * at + 1, right = left + 1;
        if (left < count && is_behind(&heap[left], &heap[last]))
            last = left;
        if (right < count && is_behind(&heap[right], &heap[last]))
            last = right;
        if (last == at)
            return;
        swap(&heap[at], &heap[last]);
        at = last;
    }
}

static void keep(struct globbing *g, struct found f)
{
    if (g->count < g->limit) {
        g->heap[g->count++] = f;
        sift_up(g->heap, g->count - 1);
    } else if (is_behind(&g->heap[0], &f)) {
        free(g->heap[0].path);
        g->heap[0] = f;
        sift_down(g->heap, g->count, 0);
    } else {
        free(f.path);
    }
}

static int take_file(void *ctx, const struct walk_file *file, struct failure *why)
{
    struct globbing *g = ctx;
    struct stat st;
    (void)why;
    if (!pattern_set_matches(&g->set, file->below) ||
        fstatat(file->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    g->total++;
    struct found f = {
        .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
        .path = memory_copy_span(file->path),
    };
    keep(g, f);
    return 0;
}

static bool enter(void *ctx, struct span below)
{
    return search_may_hold(&((struct globbing *)ctx)->set, below);
}

static int go_on(void *ctx, struct failure *why)
{
    return search_time_check(&((struct globbing *)ctx)->time, why);
}

static int compare_found(const void *a, const void *b)
{
    return is_behind(a, b) ? 1 : -1;
}

static void put_found(struct globbing *g, enum workspace_root root, struct buffer *out)
{
    char shown[WORKSPACE_SHOWN_SIZE];
    size_t put = 0;
    if (g->count > 1)
        qsort(g->heap, g->count, sizeof *g->heap, compare_found);
    for (; put < g->count; put++) {
        workspace_path_show(root, g->heap[put].path, shown);
        if (buffer_size(out) + strlen(shown) > SEARCH_BUDGET)
            break;
        buffer_append_string(out, shown);
        buffer_append_char(out, '\n');
    }
    if (g->total == 0)
        buffer_append_string(out, "[no files match]\n");
    else if (put < g->total)
        buffer_printf(out, "[%zu of %zu files, newest first; narrow the pattern or raise limit]\n",
                      put, g->total);
}

// An absolute pattern names its root itself: "/workspace/src/*.c".
static int open_start(const struct tool_env *env, struct span *pattern, struct span path,
                      struct directory *start, struct failure *why)
{
    struct workspace_path at;
    if (span_is_absent(path) && pattern->data[0] == '/') {
        int rc = workspace_path_parse(env->workspace, *pattern, &at, why);
        if (rc != 0)
            return rc;
        size_t skipped = pattern->size - strlen(at.rest);
        *pattern = span_slice(*pattern, skipped, pattern->size);
        path = span_from_string(workspace_root_name(at.root));
    }
    if (span_is_absent(path))
        path = SPAN_LITERAL(".");
    int rc = workspace_path_parse(env->workspace, path, &at, why);
    if (rc == 0)
        rc = directory_open(env->workspace, &at, DIRECTORY_MUST_EXIST, start, why);
    return rc;
}

static int glob_below(const struct tool_env *env, struct globbing *g, const struct directory *start,
                      bool include_ignored, struct tool_result *out, struct failure *why)
{
    struct walk_report report;
    const struct walk_options options = {
        .include_ignored = include_ignored,
        .file = take_file,
        .enter = enter,
        .go_on = go_on,
        .ctx = g,
    };
    int rc = walk(env->workspace, start, &options, &report, why);
    if (rc != 0 && rc != FAULT_TIMEOUT)
        return rc;
    put_found(g, start->root, &out->text);
    search_note_report(&report, start->root, &out->text);
    search_note_time(&g->time, &out->text);
    return 0;
}

int glob_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
             struct failure *why)
{
    struct directory start = {.fd = -1};
    struct span pattern = argument_text(args, "pattern");
    struct globbing g = {.limit = (size_t)argument_integer(args, "limit")};
    int rc = open_start(env, &pattern, argument_text(args, "path"), &start, why);
    if (rc == 0)
        rc = pattern_set_parse(pattern, &g.set, why);
    if (rc == 0) {
        g.heap = memory_new_array(g.limit, sizeof *g.heap);
        search_time_start(&g.time, env);
        rc = glob_below(env, &g, &start, argument_boolean(args, "include_ignored"), out, why);
    }
    for (size_t i = 0; i < g.count; i++)
        free(g.heap[i].path);
    free(g.heap);
    pattern_set_fini(&g.set);
    directory_close(&start);
    return rc;
}
