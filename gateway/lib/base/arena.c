// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"

enum { FIRST_BLOCK = 1024, LARGEST_BLOCK = 64 * 1024, ALIGNMENT = 16 };

struct block {
    struct block *next;
    size_t size; // of bytes[]
    size_t used;
    _Alignas(ALIGNMENT) char bytes[];
};

struct arena {
    struct block *blocks; // owned; the newest first, the first one last
    size_t limit;
    size_t used;
};

struct arena *arena_new(size_t limit_bytes)
{
    struct arena *a = memory_new(sizeof *a);
    a->limit = limit_bytes;
    return a;
}

static struct block *add_block(struct arena *a, size_t needed);

struct arena *arena_new_sized(size_t limit_bytes, size_t first_bytes)
{
    struct arena *a = arena_new(limit_bytes);
    (void)add_block(a, first_bytes);
    return a;
}

void arena_reset(struct arena *a)
{
    struct block *b = a->blocks;
    while (b != NULL && b->next != NULL) {
        struct block *next = b->next;
        free(b);
        b = next;
    }
    a->blocks = b;
    if (b != NULL)
        b->used = 0;
    a->used = 0;
}

void arena_free(struct arena *a)
{
    if (a == NULL)
        return;
    arena_reset(a);
    free(a->blocks);
    free(a);
}

static struct block *add_block(struct arena *a, size_t needed)
{
    size_t size = a->blocks != NULL ? a->blocks->size * 2 : FIRST_BLOCK - sizeof(struct block);
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (size < needed)
        size = needed;
    struct block *b = malloc(sizeof *b + size);
    if (b == NULL)
        return NULL;
    *b = (struct block){.next = a->blocks, .size = size};
    a->blocks = b;
    return b;
}

static void *take(struct arena *a, size_t size)
{
    if (size > a->limit || a->used > a->limit - size)
        return NULL;
    size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct block *b = a->blocks;
    if (b == NULL || b->size - b->used < rounded)
        b = add_block(a, rounded);
    if (b == NULL)
        return NULL;
    void *p = b->bytes + b->used;
    b->used += rounded;
    a->used += rounded;
    return p;
}

void *arena_try_alloc(struct arena *a, size_t size)
{
    void *p = take(a, size);
    return p != NULL ? memset(p, 0, size) : NULL;
}

void *arena_alloc_raw(struct arena *a, size_t size)
{
    void *p = take(a, size);
    if (p == NULL)
        abort();
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    void *p = arena_try_alloc(a, size);
    if (p == NULL)
        abort();
    return p;
}

struct span arena_copy(struct arena *a, struct span s)
{
    if (s.data == NULL)
        return s;
    char *copy = take(a, s.size + 1);
    if (copy == NULL)
        return SPAN_NONE;
    memcpy(copy, s.data, s.size);
    copy[s.size] = '\0';
    return span_of(copy, s.size);
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_alloc(a, (size_t)(size > 0 ? size : 0) + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}
