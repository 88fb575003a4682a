// SPDX-License-Identifier: Apache-2.0
//
// Would this provider take this schema? Answered offline, from the same tables as the flattener's.
#ifndef WRIST_SCHEMAS_CHECK_H
#define WRIST_SCHEMAS_CHECK_H

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "schemas/provider.h"

struct finding {
    bool refused;        // else the provider ignores it, or may mind
    struct span pointer; // JSON pointer into the schema
    struct span rule;
};

enum { FINDINGS_MAX = 100 };

struct findings {
    struct arena *arena; // owned
    struct finding list[FINDINGS_MAX];
    unsigned count;
    unsigned refused; // all of them, also past the list
};

// A failure only where the source cannot be read. Free with findings_free.
int check_schema(struct span source, const struct provider *p, struct findings **out,
                 struct failure *why);
int check_result(struct span source, struct findings **out, struct failure *why); // for Gemini
int check_names(struct span source, const struct provider *p, struct findings **out,
                struct failure *why); // {"names": […]}
void findings_free(struct findings *f);

#endif
