// SPDX-License-Identifier: Apache-2.0
//
// The schemas of a document that lead back to themselves (Tarjan's components, without recursion).
#ifndef WRIST_SCHEMAS_CYCLES_H
#define WRIST_SCHEMAS_CYCLES_H

#include "schemas/document.h"

struct cycles;

struct cycles *cycles_find(struct document *d);
void cycles_free(struct cycles *c);
bool cycles_has(const struct cycles *c, int node);

#endif
