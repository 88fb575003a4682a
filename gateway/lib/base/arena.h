// SPDX-License-Identifier: Apache-2.0
//
// Memory of one exchange, freed at once. What it hands out is never freed singly. Bounded: past the
// limit, arena_try_alloc returns NULL; arena_alloc, for small fixed sizes, aborts.
#ifndef WRIST_GATEWAY_LIB_BASE_ARENA_H
#define WRIST_GATEWAY_LIB_BASE_ARENA_H

#include "gateway/lib/base/span.h"

struct arena;

struct arena *arena_new(size_t limit_bytes);
// With room for this much from the start, which arena_reset keeps.
struct arena *arena_new_sized(size_t limit_bytes, size_t first_bytes);
void arena_free(struct arena *a);
void arena_reset(struct arena *a); // all content gone, the first block is kept

void *arena_alloc(struct arena *a, size_t size);     // zeroed, aligned to 16
void *arena_try_alloc(struct arena *a, size_t size); // NULL past the limit; for sizes a peer chose
void *arena_alloc_raw(struct arena *a, size_t size); // not zeroed, for what is filled at once
// A copy with a closing NUL behind it; absent past the limit, or where `s` is absent.
struct span arena_copy(struct arena *a, struct span s);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
