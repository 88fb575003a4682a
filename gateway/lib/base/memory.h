// SPDX-License-Identifier: Apache-2.0
//
// Allocators for small control objects of fixed size: they abort when there is no memory. Any size
// that a peer chooses goes through a `struct buffer` instead, whose maximum is set at birth.
#ifndef WRIST_GATEWAY_LIB_BASE_MEMORY_H
#define WRIST_GATEWAY_LIB_BASE_MEMORY_H

#include <stddef.h>

#include "gateway/lib/base/span.h"

void *memory_new(size_t size); // zeroed
void *memory_new_array(size_t count, size_t size);
void *memory_resize(void *old, size_t count, size_t size);
char *memory_copy_string(const char *text);
char *memory_copy_span(struct span s); // with a closing NUL
void memory_wipe(void *secret, size_t size);

// CLEANUP(fd_close) int fd = …; the function gets the variable's address.
#define CLEANUP(function) __attribute__((cleanup(function)))
#define CLEANUP_FREE      CLEANUP(memory_free_at)
void memory_free_at(void *pointer_to_pointer);

#define ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
