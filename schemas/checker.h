// SPDX-License-Identifier: Apache-2.0
//
// Inside of checking: what check.c and check_node.c share.
#ifndef WRIST_SCHEMAS_CHECKER_H
#define WRIST_SCHEMAS_CHECKER_H

#include "schemas/check.h"
#include "schemas/document.h"

struct checker_place {
    enum keyword keyword; // under which the schema stands
    unsigned depth;
};

struct checker {
    const struct provider *p;
    struct document *d;
    const struct json *j;
    struct findings *out;
    struct checker_place place;
    size_t property_count, enum_count, optional_count, union_count, text_size;
};

void checker_find(struct checker *c, int node, bool refused, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void checker_root(struct checker *c);
void checker_schema(struct checker *c, int node, bool root);
void checker_object(struct checker *c, int node, unsigned types, bool root);
void checker_node(struct checker *c, int node, unsigned types, bool root, bool is_union);
void checker_siblings(struct checker *c, int node);

#endif
