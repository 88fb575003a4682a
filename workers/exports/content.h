// SPDX-License-Identifier: Apache-2.0
//
// What a file is, by its first bytes, and by its name where they are text.
#ifndef WRIST_WORKERS_EXPORTS_CONTENT_H
#define WRIST_WORKERS_EXPORTS_CONTENT_H

#include "gateway/lib/base/span.h"

enum { CONTENT_HEAD = 4096 }; // bytes that are looked at

// A media type. `is_whole`: nothing follows `head`, so that a character cut at its end is none.
const char *content_type(struct span head, bool is_whole, const char *name);
bool content_is_text(const char *type);
// The type that a name promises and that can be told from the bytes, or NULL.
const char *content_promised(const char *name);
// Whether a list as "text/*,image/png" has the type. "" and "*" have all.
bool content_is_listed(const char *list, const char *type);

#endif
