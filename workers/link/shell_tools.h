// SPDX-License-Identifier: Apache-2.0
// The tools for background shells between their arguments and their results; the shells are
// workers/command's.
#ifndef WRIST_WORKERS_LINK_SHELL_TOOLS_H
#define WRIST_WORKERS_LINK_SHELL_TOOLS_H

#include "workers/command/shells.h"
#include "workers/tools/arguments.h"

enum { SHELL_ANSWER_BYTES = 100 << 10 }; // the most that one BashOutput gives

void background_result(const struct shell *shell, struct tool_result *out);
// The shell that "shell_id" names, or NULL.
struct shell *shell_named(const struct shells *s, const struct arguments *arguments,
                          struct failure *why);
void bash_output_result(struct shell *shell, const struct arguments *arguments,
                        struct tool_result *out);
// A watched shell, or NULL.
struct shell *watch_process(struct shells *s, const struct arguments *arguments,
                            struct span session, struct failure *why);
int watch_events_result(const struct shell *shell, const struct arguments *arguments,
                        struct tool_result *out, struct failure *why);
void kill_shell_result(struct span id, struct tool_result *out);

#endif
