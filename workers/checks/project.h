// SPDX-License-Identifier: Apache-2.0
//
// What kind of project the present directory is, and how such projects are checked. All of it is
// one table: marker files, and for each check a command line and the parsers of what it prints.
#ifndef WRIST_WORKERS_CHECKS_PROJECT_H
#define WRIST_WORKERS_CHECKS_PROJECT_H

#include "gateway/lib/base/failure.h"
#include "workers/checks/parse.h"

// In the lines $REPORT is a file that does not exist yet, for a runner's JUnit XML.
struct check_row {
    const char *line;               // for bash; NULL: this kind of project has no such check
    const struct parser *out, *err; // of stdout and stderr; NULL: not parsed
    bool writes_junit;              // to $REPORT
};

struct project {
    const char *name;     // "go", "make"
    const char *language; // several build systems may share one: "c"
    const char *markers[4];
    struct check_row checks[CHECK_SCRIPT]; // by enum check_kind
    const char *rerun; // a line with $NAMES, the failed tests; NULL: they are not run alone
};
extern const struct project project_table[];
extern const size_t project_count;

// `language` (a name or a language; "" for whichever there is). Several and none chosen is an error
// that lists them. Searched in `directory`, an fd.
int project_detect(int directory, const char *language, const struct project **out,
                   struct failure *why);

#endif
