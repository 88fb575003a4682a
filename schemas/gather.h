// SPDX-License-Identifier: Apache-2.0
//
// Inside of gathering: what gather.c and merge*.c share.
#ifndef WRIST_SCHEMAS_GATHER_H
#define WRIST_SCHEMAS_GATHER_H

#include "schemas/flattener.h"

enum { GATHER_PARTS_MAX = 256 };

struct gathering {
    struct flattener *f;
    struct view *v;
    bool root;
    struct part *queue, **tail; // parts found, in the order of their precedence
    struct part *part;          // the one being read
    int visited[GATHER_PARTS_MAX];
    unsigned visited_count;
    // Of the part being read.
    int additional, prefix, items, rest_items, if_, then, else_, exclusive_minimum,
        exclusive_maximum;
    bool has_patterns, has_bounds;
    struct span bound[KW_BOUND_END];
};

void gather_push(struct gathering *g, int node, unsigned flags);
void gather_reference(struct gathering *g, enum keyword k, int value);
void gather_keyword(struct gathering *g, enum keyword k, int value);
void gather_union(struct gathering *g, const struct alternatives *any);
void gather_begin(struct gathering *g);
void gather_end(struct gathering *g);
void gather_settle(struct gathering *g);
bool gather_is_note(enum keyword k);

#endif
