// SPDX-License-Identifier: Apache-2.0
// The Bash tool between its arguments and its result; the running is workers/command's.
#ifndef WRIST_WORKERS_LINK_BASH_H
#define WRIST_WORKERS_LINK_BASH_H

#include "workers/command/command.h"
#include "workers/tools/arguments.h"

enum { BASH_OUTPUT_BYTES = 100 << 10, BASH_LINGER_MS = 200 };

struct bash_request {
    struct span line; // in the arguments' arena
    int64_t timeout_ms;
    bool in_background;
};
int bash_read(const struct arguments *arguments, struct bash_request *out, struct failure *why);
void bash_result(const struct command_result *ended, int64_t timeout_ms, struct tool_result *out);

#endif
