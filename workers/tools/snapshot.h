// SPDX-License-Identifier: Apache-2.0
// snapshot_create, snapshot_list, snapshot_restore, snapshot_diff.
#ifndef WRIST_WORKERS_TOOLS_SNAPSHOT_H
#define WRIST_WORKERS_TOOLS_SNAPSHOT_H

#include "workers/tools/arguments.h"

int snapshot_create_run(const struct tool_env *env, const struct arguments *args,
                        struct tool_result *out, struct failure *why);
int snapshot_list_run(const struct tool_env *env, const struct arguments *args,
                      struct tool_result *out, struct failure *why);
int snapshot_restore_run(const struct tool_env *env, const struct arguments *args,
                         struct tool_result *out, struct failure *why);
int snapshot_diff_run(const struct tool_env *env, const struct arguments *args,
                      struct tool_result *out, struct failure *why);

#endif
