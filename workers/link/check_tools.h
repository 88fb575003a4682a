// SPDX-License-Identifier: Apache-2.0
// run_tests and its kin between their arguments and their results; the work is workers/checks'.
#ifndef WRIST_WORKERS_LINK_CHECK_TOOLS_H
#define WRIST_WORKERS_LINK_CHECK_TOOLS_H

#include "gateway/lib/json/json.h"
#include "workers/checks/check.h"
#include "workers/command/command.h"
#include "workers/tools/arguments.h"

// What the last run_tests (or run_failing_tests) found: structured content, owned; NULL before.
struct last_tests {
    char *structured;
};

enum { CHECK_SPARE_MS = 5000 }; // past the check's own deadline, when the supervisor ends it all

struct check_request {
    struct check_task task;
    char *language, *script; // owned
};
int check_read(const struct tool *tool, const struct arguments *arguments,
               const struct last_tests *last, struct check_request *out, struct failure *why);
void check_request_fini(struct check_request *r);

// The command's output is the result, unless it is not one: then *out says what happened. True: it
// is in `json` as it came. Tests are remembered in *last, where it is not NULL.
bool check_result(const struct command_result *ended, struct last_tests *last,
                  struct tool_result *out);
int last_failures_result(const struct last_tests *last, const struct arguments *arguments,
                         struct tool_result *out, struct failure *why);

#endif
