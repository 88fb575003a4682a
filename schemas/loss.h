// SPDX-License-Identifier: Apache-2.0
//
// The closed table of what flattening may lose. A schema that passes without a row of it accepts
// exactly the instances that it accepted before. Nothing here is ever silent: each row is counted
// and noted, and what a model can use is told in a description.
#ifndef WRIST_SCHEMAS_LOSS_H
#define WRIST_SCHEMAS_LOSS_H

// name, does it narrow (refuse what was valid), text
#define LOSS_TABLE(X)                                                                              \
    X(RECURSION, false, "recursion unrolled to a depth and closed with an open schema")            \
    X(EXPANSION, false, "references past the expansion budget became open schemas")                \
    X(DEPTH, false, "levels past the depth limit became open schemas")                             \
    X(REMOTE, false, "a reference to another document became an open schema")                      \
    X(DANGLING, false, "a reference to nothing became an open schema")                             \
    X(DYNAMIC, false, "a reference whose target depends on the way became an open schema")         \
    X(TOLD, false, "a constraint the provider has no word for is told in the description")         \
    X(ONE_OF, false, "oneOf became anyOf where its branches overlap")                              \
    X(ROOT_UNION, false, "alternatives at the root became one object")                             \
    X(TUPLE, false, "items by position became one schema for all items")                           \
    X(OPENED, false, "a closed object was opened: the provider cannot close it")                   \
    X(NEVER, false, "a property that no value fits was left out")                                  \
    X(REPAIRED, false, "a malformed keyword was mended or left out")                               \
    X(ANY_AS_UNION, true, "any value is shown as a union of types")                                \
    X(STRICT, true, "a strict mode closes objects and asks for every property")                    \
    X(RENAMED, false, "a property was renamed; the map leads back")

enum loss {
#define X(name, narrows, text) LOSS_##name,
    LOSS_TABLE(X)
#undef X
        LOSS_COUNT
};

const char *loss_name(enum loss row); // "RECURSION"

#endif
