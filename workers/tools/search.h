// SPDX-License-Identifier: Apache-2.0
// Glob and Grep.
#ifndef WRIST_WORKERS_TOOLS_SEARCH_H
#define WRIST_WORKERS_TOOLS_SEARCH_H

#include "workers/tools/arguments.h"
#include "workers/workspace/pattern.h"
#include "workers/workspace/walk.h"

enum {
    GLOB_LIMIT_DEFAULT = 100,
    GLOB_LIMIT_MAX = 10000,
    GREP_HEAD_DEFAULT = 500,
    GREP_CONTEXT_MAX = 100,
    GREP_LINE_SHOWN = 500,             // bytes of one line
    SEARCH_BUDGET = 256 << 10,         // bytes of text in one answer
    SEARCH_TIME_US = 20 * 1000 * 1000, // then what was found is given, and that it is not all
};

int glob_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
             struct failure *why);
int grep_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
             struct failure *why);

// Kinds of files by name ("c", "py"), ends with NULL, and the pattern of each ("*.{c,h}").
extern const char *const search_type_names[];
const char *search_type_pattern(struct span name);

// The end of a search: FAULT_TIMEOUT once its time is over.
struct search_time {
    const struct tool_env *env;
    int64_t end_us;
    bool over;
};
void search_time_start(struct search_time *t, const struct tool_env *env);
int search_time_check(struct search_time *t, struct failure *why);

// Whether the directory `below` can hold a match of a pattern with this literal beginning.
bool search_may_hold(const struct pattern_set *set, struct span below);

// The notes that stand at the end of an answer, each in brackets on its own line.
void search_note_report(const struct walk_report *report, enum workspace_root root,
                        struct buffer *out);
void search_note_time(const struct search_time *t, struct buffer *out);

#endif
