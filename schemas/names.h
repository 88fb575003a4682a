// SPDX-License-Identifier: Apache-2.0
//
// Names of tools as providers take them, and the way back.
#ifndef WRIST_SCHEMAS_NAMES_H
#define WRIST_SCHEMAS_NAMES_H

#include "gateway/lib/base/arena.h"
#include "schemas/provider.h"

struct tool_name {
    struct span from; // as the server has it, UTF-8
    struct span to;   // as the provider gets it
};

bool name_fits(struct span name, const struct name_rule *rule);
// Fills `to` of each row. A legal name stays; another gets its bad characters replaced and a hash
// of the original, so that it is the same in every request. No two rows get the same, but for rows
// that are equal already, which are told apart by their place.
void names_map(struct tool_name *rows, size_t count, const struct provider *p, struct arena *arena);

// A top-level property key that Anthropic takes; `key` is JSON text.
bool name_is_plain_key(struct span key);
// A legal name made of any text, with a hash of it, and of `salt` where that is not 0.
struct span name_make(struct span text, const struct name_rule *rule, unsigned salt,
                      struct arena *arena);

#endif
