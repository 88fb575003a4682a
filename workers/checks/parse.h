// SPDX-License-Identifier: Apache-2.0
//
// Parsers of what tools print. Each reads a stream in pieces cut anywhere, in bounded memory, and
// fills a report. Their input comes from programs of the workspace, so it may be anything.
#ifndef WRIST_WORKERS_CHECKS_PARSE_H
#define WRIST_WORKERS_CHECKS_PARSE_H

#include "gateway/lib/base/buffer.h"
#include "workers/checks/report.h"

enum { PARSE_LINE_BYTES = 256 << 10 }; // of a longer line only this much is looked at

// Cuts a stream into lines.
struct lines {
    struct buffer part; // of a line that is not complete
};
void lines_init(struct lines *l);
void lines_fini(struct lines *l);
void lines_feed(struct lines *l, struct span bytes, void (*line)(void *owner, struct span text),
                void *owner);
void lines_end(struct lines *l, void (*line)(void *owner, struct span text), void *owner);

struct parser {
    const char *name;
    void *(*make)(struct report *out); // the report is borrowed
    void (*feed)(void *parser, struct span bytes);
    void (*finish)(void *parser); // the end of the stream; frees
};
extern const struct parser parser_gotest;      // go test -json
extern const struct parser parser_junit;       // JUnit XML: pytest, ctest, meson, node
extern const struct parser parser_cargo;       // cargo --message-format=json, libtest's lines
extern const struct parser parser_diagnostics; // path:line:col: text, and tsc's path(line,col)
extern const struct parser parser_lint_json;   // ruff's lines, eslint's array
extern const struct parser parser_summary;     // TAP and the totals of node, jest, mocha, unittest

#endif
