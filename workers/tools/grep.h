// SPDX-License-Identifier: Apache-2.0
// The parts of Grep: what is asked (grep.c), one file (grep_file.c), the answer (grep_answer.c).
#ifndef WRIST_WORKERS_TOOLS_GREP_H
#define WRIST_WORKERS_TOOLS_GREP_H

#include "workers/tools/scan.h"
#include "workers/tools/search.h"

enum grep_mode { GREP_FILES, GREP_CONTENT, GREP_COUNT };

struct grep {
    const struct tool_env *env;
    struct search_time time;
    struct scan scan;
    struct pattern_set glob, kind; // count 0: not asked for
    bool glob_negated;
    enum grep_mode mode;
    size_t before, after; // lines of context
    size_t head_limit;
    enum workspace_root root;

    struct buffer file; // the content of the current file, reused
    struct buffer *out; // borrowed
    size_t lines_put;
    bool full;     // head_limit or the budget is used up: from here on only counted
    bool separate; // a "--" is due before the next group
    size_t files, files_matched, matches;
    size_t binary, too_large, unreadable;
};

enum { GREP_FILE_BYTES = 16 << 20 }; // at once; longer files are searched in pieces of that size

// Searches one open file; closes it. `shown` is how it is named in the answer.
int grep_file(struct grep *g, int fd, const char *shown, struct failure *why);

// The current file on its way into the answer.
struct grep_sheet {
    const char *shown;
    struct span text;
    size_t line; // the number of the line that begins at `counted`
    size_t counted;
    size_t put_to;     // behind the last line put out
    size_t after_left; // lines of context still due behind the last match
    size_t matches;
};
void grep_put_hit(struct grep *g, struct grep_sheet *s, const struct scan_hit *hit);
// Context that is still due at the end of a text; counts the text's lines.
void grep_put_rest(struct grep *g, struct grep_sheet *s);
void grep_put_file(struct grep *g, const struct grep_sheet *s);
void grep_put_notes(struct grep *g, const struct walk_report *report);

#endif
