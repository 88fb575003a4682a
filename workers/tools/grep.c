// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/grep.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "workers/workspace/file.h"

static int go_on(void *ctx, struct failure *why)
{
    return search_time_check(&((struct grep *)ctx)->time, why);
}

static bool enter(void *ctx, struct span below)
{
    const struct grep *g = ctx;
    return g->glob.count == 0 || g->glob_negated || search_may_hold(&g->glob, below);
}

static bool is_asked_for(const struct grep *g, struct span below)
{
    if (g->glob.count > 0 && pattern_set_matches(&g->glob, below) == g->glob_negated)
        return false;
    return g->kind.count == 0 || pattern_set_matches(&g->kind, below);
}

static int take_file(void *ctx, const struct walk_file *file, struct failure *why)
{
    struct grep *g = ctx;
    char shown[WORKSPACE_SHOWN_SIZE];
    if (!is_asked_for(g, file->below))
        return 0;
    int rc = search_time_check(&g->time, why);
    if (rc != 0)
        return rc;
    int fd =
        openat(file->dir_fd, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        g->unreadable += errno != ENOENT;
        return 0;
    }
    workspace_path_show(g->root, file->path.data, shown);
    return grep_file(g, fd, shown, why);
}

static int search_below(struct grep *g, const struct directory *start, bool include_ignored,
                        struct walk_report *report, struct failure *why)
{
    const struct walk_options options = {
        .include_ignored = include_ignored,
        .sorted = true,
        .file = take_file,
        .enter = enter,
        .go_on = go_on,
        .ctx = g,
    };
    g->root = start->root;
    return walk(g->env->workspace, start, &options, report, why);
}

static int search_one(struct grep *g, struct span path, struct failure *why)
{
    struct file f;
    int rc = file_open(g->env->workspace, path, FILE_READ, &f, why);
    if (rc == 0) {
        g->root = f.dir.root;
        int fd = f.fd;
        f.fd = -1; // grep_file closes it
        rc = grep_file(g, fd, f.shown, why);
    }
    file_close(&f);
    return rc;
}

// A directory where the path names one, else a file. `why` tells of the file then, whose message
// is the better one for a path that does not exist.
static int search_path(struct grep *g, const struct arguments *args, struct walk_report *report,
                       struct failure *why)
{
    struct span path =
        argument_given(args, "path") ? argument_text(args, "path") : SPAN_LITERAL(".");
    struct directory start = {.fd = -1};
    struct workspace_path at;
    int rc = workspace_path_parse(g->env->workspace, path, &at, why);
    if (rc != 0)
        return rc;
    if (directory_open(g->env->workspace, &at, DIRECTORY_MUST_EXIST, &start, NULL) != 0)
        return search_one(g, path, why);
    rc = search_below(g, &start, argument_boolean(args, "include_ignored"), report, why);
    directory_close(&start);
    return rc;
}

static enum grep_mode mode_of(struct span name)
{
    return span_is(name, "content") ? GREP_CONTENT
           : span_is(name, "count") ? GREP_COUNT
                                    : GREP_FILES;
}

static int parse_filters(struct grep *g, const struct arguments *args, struct failure *why)
{
    struct span glob = argument_text(args, "glob");
    struct span kind = argument_text(args, "type");
    int rc = 0;
    if (!span_is_absent(glob)) {
        g->glob_negated = glob.data[0] == '!';
        glob = span_slice(glob, g->glob_negated ? 1 : 0, glob.size);
        rc = pattern_set_parse(glob, &g->glob, why);
        if (rc != 0)
            failure_prefix(why, "argument \"glob\"");
    }
    if (rc == 0 && !span_is_absent(kind))
        rc = pattern_set_parse(span_from_string(search_type_pattern(kind)), &g->kind, why);
    return rc;
}

static size_t context_of(const struct arguments *args, const char *side)
{
    const char *name = argument_given(args, side) ? side : "context";
    return (size_t)argument_integer(args, name);
}

static int plan(struct grep *g, const struct arguments *args, struct failure *why)
{
    const struct regex_options options = {
        .case_insensitive = argument_boolean(args, "case_insensitive"),
        .multiline = argument_boolean(args, "multiline"),
    };
    g->mode = mode_of(argument_text(args, "output_mode"));
    g->before = context_of(args, "context_before");
    g->after = context_of(args, "context_after");
    g->head_limit = (size_t)argument_integer(args, "head_limit");
    g->scan = (struct scan){.multiline = options.multiline, .go_on = go_on, .ctx = g};
    int rc = parse_filters(g, args, why);
    if (rc == 0)
        rc = regex_compile(argument_text(args, "pattern"), &options, &g->scan.re, why);
    if (rc != 0 && g->scan.re == NULL)
        failure_prefix(why, "argument \"pattern\"");
    return rc;
}

int grep_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
             struct failure *why)
{
    struct grep g = {.env = env, .out = &out->text};
    struct walk_report report = {0};
    buffer_init(&g.file, GREP_FILE_BYTES);
    int rc = plan(&g, args, why);
    if (rc == 0) {
        search_time_start(&g.time, env);
        rc = search_path(&g, args, &report, why);
    }
    if (rc == 0 || rc == FAULT_TIMEOUT) {
        grep_put_notes(&g, &report);
        rc = 0;
    }
    regex_free(g.scan.re);
    pattern_set_fini(&g.glob);
    pattern_set_fini(&g.kind);
    buffer_fini(&g.file);
    return rc;
}
