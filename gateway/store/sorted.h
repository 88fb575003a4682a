// SPDX-License-Identifier: Apache-2.0
// Names ordered by a time, as a Redis sorted set: one score a name, the least first.
#ifndef WRIST_GATEWAY_STORE_SORTED_H
#define WRIST_GATEWAY_STORE_SORTED_H

#include <stdint.h>

#include "gateway/lib/base/span.h"

struct sorted;

struct sorted *sorted_new(void);
void sorted_free(struct sorted *s);
void sorted_set(struct sorted *s, const char *name, int64_t score); // adds or moves
void sorted_remove(struct sorted *s, const char *name);
bool sorted_has(const struct sorted *s, const char *name);
// The name with the least score, NULL in an empty set; valid until it is removed.
const char *sorted_first(const struct sorted *s, int64_t *score);

#endif
