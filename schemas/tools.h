// SPDX-License-Identifier: Apache-2.0
//
// A whole `tools/list` result for one provider, and the way back for calls.
#ifndef WRIST_SCHEMAS_TOOLS_H
#define WRIST_SCHEMAS_TOOLS_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/json/json.h"
#include "schemas/names.h"

struct tool_map; // owns the names; for the calls of whoever got this list

// Rewrites the `tools` of a tools/list result; all else keeps its bytes. A schema that cannot be
// read or, in a strict mode, be said takes the form without strict, else an open object, and the
// tool's description says why. *map is always set when 0 is returned. FAULT_PARSE where the list is
// no JSON object with tools.
int tools_rewrite(struct span result, const struct provider *p, struct buffer *out,
                  struct tool_map **map, struct failure *why);
void tool_map_free(struct tool_map *map);

// The server's name for the one that the provider uses; the same where it was not renamed.
struct span tool_map_name(const struct tool_map *map, struct span provider_name);
// The server's key for a top-level argument of a tool (by the provider's name).
struct span tool_map_argument(const struct tool_map *map, struct span provider_name,
                              struct span key);
// Writes the arguments of a call (a node of `j`) as the server wants them: keys mapped back and,
// where a strict mode had made optional properties nullable, nulls left out that the server's
// schema does not take. False where they stay as they are; then nothing was written.
bool tool_map_arguments(const struct tool_map *map, struct span provider_name, const struct json *j,
                        int arguments, struct buffer *out);

#endif
