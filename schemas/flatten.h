// SPDX-License-Identifier: Apache-2.0
//
// Rewrites a tool's JSON Schema so that a model's provider takes it and its meaning survives.
#ifndef WRIST_SCHEMAS_FLATTEN_H
#define WRIST_SCHEMAS_FLATTEN_H

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/buffer.h"
#include "schemas/loss.h"
#include "schemas/provider.h"

enum schema_kind { SCHEMA_INPUT, SCHEMA_OUTPUT };

struct flatten_options {
    enum schema_kind kind;
    unsigned recursion_depth; // levels a recursive schema is unrolled to; 0: 3
    bool refuse_recursion;    // refuse instead of unrolling
    bool keep_keys;           // rename no property, whatever the provider's rule is
    bool notes;               // say where each loss is
};

struct flatten_note {
    enum loss row;
    struct span pointer; // into the source
    struct span text;
};

struct flatten_rename {   // of a property at the root
    struct span from, to; // UTF-8
};

enum { FLATTEN_NOTES_MAX = 200, FLATTEN_RENAMES_MAX = 256 };

// Everything in it lives in its arena.
struct flatten_result {
    struct arena *arena;
    unsigned losses[LOSS_COUNT];
    struct flatten_note *note; // where they were asked for
    unsigned note_count;       // further ones are only counted
    struct flatten_rename *rename;
    unsigned rename_count;
    struct span description; // what the root could not carry, for the tool's own; or absent
};

// Appends the rewritten schema to `out`. FAULT_PARSE or FAULT_TOO_LARGE where the source cannot be
// read (with the place), FAULT_UNSUPPORTED where a strict mode cannot say it: fall back to the mode
// without strict. *result may be NULL; else free it with flatten_result_free, also after a failure.
int flatten(struct span source, const struct provider *p, const struct flatten_options *options,
            struct buffer *out, struct flatten_result **result, struct failure *why);
void flatten_result_free(struct flatten_result *r);

#endif
