// SPDX-License-Identifier: Apache-2.0
//
// A strict mode requires every property and lets the optional ones be null, which means that they
// are left out. The server never said that they may be null.
#ifndef WRIST_SCHEMAS_OMITTED_H
#define WRIST_SCHEMAS_OMITTED_H

#include "gateway/lib/base/buffer.h"

// Appends `arguments`, an object, without the members that are null, optional in `schema` and not
// allowed to be null there, at any depth that properties, items and local references reach. What is
// kept keeps its bytes. Where it is not clear, a null stays. Fails where either is no JSON.
int nulls_omit(struct span schema, struct span arguments, struct buffer *out);

#endif
