// SPDX-License-Identifier: Apache-2.0
//
// Finds Edit's old_string in a file. A LF in it also matches the file's CR LF, since Read does not
// show the CR; all other bytes must be equal.
#ifndef WRIST_WORKERS_TOOLS_MATCH_H
#define WRIST_WORKERS_TOOLS_MATCH_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/span.h"

struct match {
    size_t from, to; // in the file
    bool crlf;       // at least one of its line ends is CR LF
};

// The next match at or behind `from`; false where there is none. `old` is not empty.
bool match_next(struct span text, struct span old, size_t from, struct match *out);

// Why there is no match, as well as it can be told: line numbers in the string, other white space,
// other case, or where its first line stands. Appends one sentence, or nothing.
void match_explain_miss(struct span text, struct span old, struct buffer *out);

#endif
