// SPDX-License-Identifier: Apache-2.0
//
// What a run of tests, a linter or a compiler had to say: counts, and the failures in the order
// they came, bounded. Parsers fill it; the verdict follows from it and from how the program ended.
#ifndef WRIST_WORKERS_CHECKS_REPORT_H
#define WRIST_WORKERS_CHECKS_REPORT_H

#include <stdint.h>

#include "gateway/lib/base/span.h"

enum {
    REPORT_FAILURES_MAX = 200, // kept; all are counted
    REPORT_NAME_BYTES = 300,
    REPORT_MESSAGE_BYTES = 800,
};

enum finding_kind { FINDING_TEST, FINDING_ERROR, FINDING_WARNING };

struct finding {
    enum finding_kind kind;
    char *name;    // owned: of the test, or the rule; "" for none
    char *suite;   // owned: package, class or binary; "" for none
    char *file;    // owned; "" where unknown
    int64_t line;  // 0 where unknown
    char *message; // owned
};

struct report {
    int64_t passed, failed, skipped; // tests
    int64_t errors, warnings;        // of compilers and linters
    bool counted;                    // a format was recognised, so that 0 means 0
    struct finding *findings;        // owned
    size_t count;
};

void report_init(struct report *r);
void report_fini(struct report *r);

struct finding_text {
    enum finding_kind kind;
    struct span name, suite, file, message; // absent where unknown
    int64_t line;
};
// Counts it (failed, errors or warnings) and keeps it while there is room. Without a file the first
// place that the message names is taken.
void report_add(struct report *r, const struct finding_text *text);

// The first "some/file.ext:12" in the text.
bool place_find(struct span text, struct span *file, int64_t *line);

enum verdict {
    VERDICT_PASSED,
    VERDICT_FAILED,
    VERDICT_BUILD_ERROR,
    VERDICT_NO_TESTS, // nothing ran
    VERDICT_UNPARSED, // it failed, or said nothing that could be counted
    VERDICT_CRASH,
    VERDICT_TIMEOUT,
    VERDICT_NOT_RUN, // no such program
};
const char *verdict_name(enum verdict v);

enum check_kind { CHECK_TESTS, CHECK_LINT, CHECK_TYPES, CHECK_SCRIPT };

struct ending {
    bool timed_out;
    int exit_code; // 128 + n where signal n ended it
};
enum verdict report_judge(const struct report *r, enum check_kind kind,
                          const struct ending *ending);

#endif
