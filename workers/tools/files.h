// SPDX-License-Identifier: Apache-2.0
// Read, Write and Edit.
#ifndef WRIST_WORKERS_TOOLS_FILES_H
#define WRIST_WORKERS_TOOLS_FILES_H

#include "workers/tools/arguments.h"
#include "workers/workspace/file.h"

enum {
    READ_LINES_DEFAULT = 2000,
    READ_BUDGET = 256 << 10, // bytes of text in one answer
    READ_LINE_SHOWN = 2000,  // bytes of one line
    EDIT_FILE_MAX = 32 << 20,
};

int read_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
             struct failure *why);
int write_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
              struct failure *why);
int edit_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
             struct failure *why);

// What Write and Edit share: the file opened and locked, and the reader's knowledge of it checked.
// `action` is the verb of a refusal ("overwrite", "edit").
struct change {
    const struct tool_env *env;
    struct file file;
    struct line_style {
        size_t lf;   // line ends that are LF alone
        size_t crlf; // line ends that are CR LF
        bool bom;    // begins with the UTF-8 byte order mark
    } style;
};
int change_open(struct change *c, const struct tool_env *env, struct span path,
                enum file_intent intent, struct failure *why);
void change_close(struct change *c);
// `content` is what the file holds now, NULL where it was only digested.
int change_check_read(const struct change *c, const unsigned char digest[TOOL_DIGEST_SIZE],
                      const char *action, struct failure *why);
// `text` has a mark that the scrubber left where the file has a secret: it would take its place.
int change_refuse_mark(const struct change *c, const char *argument, struct failure *why);
// Writes, and notes that the reader knows the new content.
int change_commit(struct change *c, struct span content, struct failure *why);

// Feeds an open file to `piece` in order; checks for cancel and deadline on the way.
int file_each_piece(const struct tool_env *env, const struct file *f,
                    int (*piece)(void *ctx, struct span bytes, struct failure *why), void *ctx,
                    struct failure *why);
void line_style_add(struct line_style *style, struct span bytes, bool at_start, char before);

#endif
