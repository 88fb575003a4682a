// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/base/memory.h"

#include <stdlib.h>
#include <string.h>

static void *or_abort(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

// malloc and memset: glibc's calloc does not use the thread's cache of freed blocks.
void *memory_new(size_t size)
{
    void *p = or_abort(malloc(size > 0 ? size : 1));
    return memset(p, 0, size);
}

void *memory_new_array(size_t count, size_t size)
{
    return or_abort(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *memory_resize(void *old, size_t count, size_t size)
{
    return or_abort(reallocarray(old, count > 0 ? count : 1, size > 0 ? size : 1));
}

char *memory_copy_string(const char *text)
{
    return or_abort(strdup(text));
}

char *memory_copy_span(struct span s)
{
    char *copy = memory_new(s.size + 1);
    if (s.size > 0)
        memcpy(copy, s.data, s.size);
    return copy;
}

void memory_wipe(void *secret, size_t size)
{
    explicit_bzero(secret, size);
}

void memory_free_at(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
