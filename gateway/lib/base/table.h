// SPDX-License-Identifier: Apache-2.0
//
// Keys (bytes) to pointers. Keys are copied, values are borrowed. The hash is seeded per process,
// so that a peer cannot choose keys that collide. Iteration order is unspecified.
#ifndef WRIST_GATEWAY_LIB_BASE_TABLE_H
#define WRIST_GATEWAY_LIB_BASE_TABLE_H

#include "gateway/lib/base/span.h"

struct table;

struct table *table_new(void);
void table_free(struct table *t);
size_t table_count(const struct table *t);
void *table_get(const struct table *t, struct span key);       // NULL where there is none
void table_put(struct table *t, struct span key, void *value); // replaces; value is not NULL
void *table_remove(struct table *t, struct span key);          // what stood there, or NULL

// for (size_t at = 0; table_next(t, &at, &key, &value);) … Nothing may be put meanwhile; the row
// just handed out may be removed.
bool table_next(const struct table *t, size_t *at, struct span *key, void **value);

#endif
