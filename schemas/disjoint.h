// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_SCHEMAS_DISJOINT_H
#define WRIST_SCHEMAS_DISJOINT_H

#include "schemas/flattener.h"

// Sure that no value fits two branches: by type, or by the value of a property that all require.
bool alternatives_are_disjoint(struct flattener *f, const struct alternatives *any);

#endif
