// SPDX-License-Identifier: Apache-2.0
// What a check says to the model: the verdict first, then the failures, then the end of the output
// where that is needed; and the same as structured content.
#ifndef WRIST_WORKERS_CHECKS_ANSWER_H
#define WRIST_WORKERS_CHECKS_ANSWER_H

#include "workers/checks/report.h"
#include "workers/tools/tool.h"

struct answer {
    enum check_kind kind;
    const char *project;
    struct span line;
    const struct report *report; // borrowed
    struct ending ending;
    struct span output; // of both streams, its middle cut
    bool detail;
    int64_t ms, timeout_ms;
};
void answer_write(const struct answer *a, struct tool_result *out);

#endif
