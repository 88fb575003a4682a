// SPDX-License-Identifier: Apache-2.0
//
// JSON values as JSON Schema compares them: 1.0 equals 1, objects have no order.
#ifndef WRIST_SCHEMAS_VALUE_H
#define WRIST_SCHEMAS_VALUE_H

#include "gateway/lib/json/json.h"

uint64_t value_hash(const struct json *j, int node);
bool value_equal(const struct json *j, int a, int b);
unsigned value_type(const struct json *j, int node); // one TYPE_ bit; 1.0 is an integer
// The value as written, without white space between its parts.
int value_write(const struct json *j, int node, struct buffer *out);
uint64_t hash_bytes(uint64_t seed, struct span bytes); // seeded per process

// A set of values by content, in an open table.
struct value_set {
    const struct json *j;
    int *slots;
    uint32_t slot_count;
};

struct value_set value_set_new(const struct json *j, struct arena *arena, size_t count);
bool value_set_has(const struct value_set *s, int node);
bool value_set_add(struct value_set *s, int node); // tells whether it was new

#endif
