// SPDX-License-Identifier: Apache-2.0
//
// The memory store's disk: a file of lines, appended as things change and written anew once most of
// it is old. What a crash cut off at its end is ignored. Lines reach the kernel, not the platter,
// before they count: they outlive the process, and a machine that goes down takes its sandboxes
// with it.
#ifndef WRIST_GATEWAY_STORE_JOURNAL_H
#define WRIST_GATEWAY_STORE_JOURNAL_H

#include "gateway/lib/base/buffer.h"

struct journal;

struct journal_ops {
    void (*line)(void *owner, struct span line);       // while it is opened, in order
    int (*write_all)(void *owner, struct buffer *out); // every live line, each with its end
};

// The directory's fd is borrowed. CONFLICT: another process has this journal open.
int journal_open(int directory, const struct journal_ops *ops, void *owner, struct journal **out,
                 struct failure *why);
void journal_close(struct journal *j);
bool journal_was_empty(const struct journal *j);
// `line` without its end. What fails is taken back, so that no half line stands in the middle.
int journal_append(struct journal *j, struct span line, struct failure *why);
// Writes the file anew when it has many more lines than are `live`; failing keeps the old one.
int journal_compact(struct journal *j, size_t live, struct failure *why);

#endif
