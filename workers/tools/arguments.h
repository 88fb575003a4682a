// SPDX-License-Identifier: Apache-2.0
//
// The arguments of one call, checked against the tool's parameter rows. A wrong type is an error
// that says which argument, what came and what is right; nothing is converted or ignored.
#ifndef WRIST_WORKERS_TOOLS_ARGUMENTS_H
#define WRIST_WORKERS_TOOLS_ARGUMENTS_H

#include "workers/tools/tool.h"

struct argument {
    bool given;
    int64_t number;    // an integer, or 0 and 1 for a boolean
    struct span text;  // a string, unescaped, in the arena
    struct span *list; // of `number` strings, in the arena
};

struct arguments {
    const struct tool *tool;
    struct arena *arena;                    // owned
    struct argument value[TOOL_PARAMS_MAX]; // in the order of the tool's rows
};

enum { ARGUMENTS_BYTES_MAX = 40 << 20 }; // all unescaped strings of one call

int arguments_parse(struct arguments *a, const struct tool *tool, const struct json *doc, int args,
                    struct failure *why);
void arguments_fini(struct arguments *a);

// The name is one of the tool's rows; anything else is a bug and aborts. Absent ones give the row's
// fallback; an absent string without one gives an absent span.
bool argument_given(const struct arguments *a, const char *name);
struct span argument_text(const struct arguments *a, const char *name);
int64_t argument_integer(const struct arguments *a, const char *name);
const struct span *argument_strings(const struct arguments *a, const char *name, size_t *count);
bool argument_boolean(const struct arguments *a, const char *name);

#endif
