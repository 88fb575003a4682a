// SPDX-License-Identifier: Apache-2.0
//
// The rules of .gitignore and .ignore files. Each directory with such files has its own set, on top
// of its parent's; the deepest set with an opinion decides, in a set the last matching rule, and
// .ignore stands behind .gitignore.
#ifndef WRIST_WORKERS_WORKSPACE_IGNORE_H
#define WRIST_WORKERS_WORKSPACE_IGNORE_H

#include "gateway/lib/base/span.h"

struct ignore;

enum { IGNORE_FILE_MAX = 1 << 20, IGNORE_RULES_MAX = 20000 };

// The rules of the directory `dir_fd` on top of `parent` (may be NULL, is borrowed). `base` is how
// many bytes of a path stand before the part that these rules see. Returns `parent` where the
// directory has no rules of its own; else ignore_pop gives the parent back.
struct ignore *ignore_push(struct ignore *parent, int dir_fd, size_t base);
// As ignore_push, with the text of a file given.
struct ignore *ignore_push_text(struct ignore *parent, struct span text, size_t base);
void ignore_pop(struct ignore *top, const struct ignore *parent);

// Is this path left out? Its directories are known not to be.
bool ignore_covers(const struct ignore *top, struct span path, bool is_directory);

#endif
