// SPDX-License-Identifier: Apache-2.0
//
// What the linter or compiler of a file's language says about that one file, for the answer of the
// Write or Edit that changed it. The body of a command's process, like check.h; prints text.
#ifndef WRIST_WORKERS_CHECKS_FILE_CHECK_H
#define WRIST_WORKERS_CHECKS_FILE_CHECK_H

#include "workers/command/setup.h"

enum {
    FILE_CHECK_OUTPUT_BYTES = 16 << 10,
    FILE_CHECK_SHOWN = 20, // findings
};

// By its name: is there anything that could look at it?
bool file_check_knows(struct span path);

struct file_check_task {
    const struct command_identity *who; // borrowed, as all of this
    const char *path;                   // relative to the workspace
    int64_t timeout_ms;
};
// Nothing is printed where nothing was found, or where what would look is not installed.
int file_check_run(void *task);

#endif
