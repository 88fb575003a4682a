// SPDX-License-Identifier: Apache-2.0
//
// URI references as `$id` and `$ref` carry them (RFC 3986 §5.2). Nothing is ever fetched: a URI is
// only a name by which parts of one document refer to each other.
#ifndef WRIST_SCHEMAS_URI_H
#define WRIST_SCHEMAS_URI_H

#include "gateway/lib/base/arena.h"

// `reference` against `base`, without its fragment. Lives in the arena, or is one of the arguments.
struct span uri_resolve(struct arena *arena, struct span base, struct span reference);
// What stands behind the '#', percent-decoded once; absent where there is no '#'. False where an
// escape is broken.
bool uri_fragment(struct arena *arena, struct span reference, struct span *out);
// Cuts the fragment off.
struct span uri_without_fragment(struct span uri);

#endif
