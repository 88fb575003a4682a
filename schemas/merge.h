// SPDX-License-Identifier: Apache-2.0
//
// Inside of merging: what the files merge*.c share.
#ifndef WRIST_SCHEMAS_MERGE_H
#define WRIST_SCHEMAS_MERGE_H

#include "schemas/gather.h"

void merge_repaired(struct gathering *g, int value);     // tells that a keyword was left out
unsigned merge_read_type(struct flattener *f, int node); // 0 where it names none
unsigned types_widened(unsigned types);                  // with the integers that are numbers
void merge_type(struct gathering *g, int value);
void merge_values(struct gathering *g, const int *values, unsigned count, bool is_const);
void merge_enum(struct gathering *g, int value);
void merge_any_of(struct gathering *g, enum keyword k, int value); // and oneOf

#endif
