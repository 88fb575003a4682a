// SPDX-License-Identifier: Apache-2.0
// The command line that runs exactly the tests that failed last.
#ifndef WRIST_WORKERS_CHECKS_RERUN_H
#define WRIST_WORKERS_CHECKS_RERUN_H

#include "workers/checks/project.h"

// `last` is the structured content of the run before. Where its failures cannot be run alone (they
// were build errors, or the runner cannot) the whole line is taken: more is run, never less.
int rerun_line(const struct project *project, const char *last, const char *whole,
               struct buffer *out, struct failure *why);
void rerun_quote(struct span word, struct buffer *out); // for a shell

#endif
