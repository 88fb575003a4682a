// SPDX-License-Identifier: Apache-2.0
//
// The unified diff of two texts, line by line, in time bounded by what it costs at most.
#ifndef WRIST_WORKERS_SNAPSHOTS_LINE_DIFF_H
#define WRIST_WORKERS_SNAPSHOTS_LINE_DIFF_H

#include "gateway/lib/base/buffer.h"

enum { LINE_DIFF_LINES_MAX = 200000 }; // of one side

// Hunks with three lines around them. FAULT_TOO_LARGE where the output's limit is reached, or a
// side has too many lines; what fits has been written. Texts that differ much are shown as one
// removed and one added block.
int line_diff(struct span before, struct span after, struct buffer *out);

#endif
