// SPDX-License-Identifier: Apache-2.0
//
// An outputSchema beside results in which results.h renames the key "$ref": its properties of that
// name get the same name, as do keys in enum and const, and nullable is said as JSON Schema says
// it, so that a client that validates still accepts the result.
#ifndef WRIST_SCHEMAS_OUTPUT_KEYS_H
#define WRIST_SCHEMAS_OUTPUT_KEYS_H

#include "gateway/lib/base/buffer.h"

// Appends the schema with its properties renamed; the keyword $ref stays. Fails where it is no
// JSON.
int output_keys_rename(struct span schema, struct buffer *out);

#endif
