// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_WORKERS_TOOLS_EXPORT_H
#define WRIST_WORKERS_TOOLS_EXPORT_H

#include "workers/tools/arguments.h"

enum { EXPORT_ANSWER_BYTES = 1 << 20 }; // of what is given in an answer

int export_run(const struct tool_env *env, const struct arguments *args, struct tool_result *out,
               struct failure *why);

#endif
