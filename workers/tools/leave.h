// SPDX-License-Identifier: Apache-2.0
// Writes what leaves the sandbox, scrubbed of secrets. Every result passes here, once, as plain
// text: before it is escaped.
#ifndef WRIST_WORKERS_TOOLS_LEAVE_H
#define WRIST_WORKERS_TOOLS_LEAVE_H

#include "gateway/lib/json/writer.h"

void leave_string(struct json_writer *w, struct span text);
// A JSON value: each string in it, the rest as it is.
void leave_json(struct json_writer *w, struct span json);

#endif
