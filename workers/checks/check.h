// SPDX-License-Identifier: Apache-2.0
//
// One run_tests, run_lint, run_typecheck, run_script or run_failing_tests. It is the body of a
// command's process (workers/command): it runs as the command's user, in the workspace, starts the
// tools below itself, and prints the CallToolResult as JSON. A verdict is only as honest as the
// project's tests: they run as the same user.
#ifndef WRIST_WORKERS_CHECKS_CHECK_H
#define WRIST_WORKERS_CHECKS_CHECK_H

#include "workers/checks/project.h"
#include "workers/command/setup.h"

enum {
    CHECK_OUTPUT_BYTES = 2 << 20, // of the JSON
    CHECK_FAILURES_SHOWN = 50,
};

struct check_task {
    const struct command_identity *who; // borrowed, as all of this
    enum check_kind kind;
    const char *language; // "" for whichever there is
    const char *script;   // of CHECK_SCRIPT
    const char *last;     // structured content of the last tests, whose failures run again; or NULL
    int64_t timeout_ms;
    bool detail; // show the output also where it is not needed
};
int check_run(void *task); // a struct check_task; the process's exit code

#endif
