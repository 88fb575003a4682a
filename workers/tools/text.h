// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_WORKERS_TOOLS_TEXT_H
#define WRIST_WORKERS_TOOLS_TEXT_H

#include "gateway/lib/base/span.h"

// How many bytes of `text` are whole UTF-8 characters: drops one that is cut off at the end.
size_t text_whole_chars(struct span text);

// The first place of `needle` at or behind `from`; text.size where there is none.
size_t text_find(struct span text, struct span needle, size_t from);

// The line (counted from 1) that the byte at `at` is in.
size_t text_line_of(struct span text, size_t at);

#endif
