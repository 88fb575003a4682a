// SPDX-License-Identifier: Apache-2.0
// Runs one command line to its end or its deadline and feeds what it prints to parsers as it comes,
// whatever its size.
#ifndef WRIST_WORKERS_CHECKS_RUN_H
#define WRIST_WORKERS_CHECKS_RUN_H

#include "workers/checks/parse.h"
#include "workers/command/output.h"
#include "workers/command/setup.h"

enum { RUN_SHOWN_BYTES = 64 << 10 };

struct run {
    const struct command_identity *who; // borrowed, as all of this
    const char *line;
    const struct parser *out, *err; // NULL: not parsed
    struct report *report;
    struct output *shown; // gets both streams
    int64_t timeout_ms;
};
int run_line(const struct run *run, struct ending *out, struct failure *why);

#endif
