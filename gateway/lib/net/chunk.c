// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/net/chunk.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"

enum { KEPT = 64 };
static char *kept[KEPT]; // owned; one thread uses them
static size_t kept_count;

void chunk_lend(struct buffer *b)
{
    if (b->data != NULL || b->limit < CHUNK_SIZE)
        return;
    b->data = kept_count > 0 ? kept[--kept_count] : memory_resize(NULL, 1, CHUNK_SIZE);
    b->capacity = CHUNK_SIZE;
    b->start = b->end = 0;
}

void chunk_take_back(struct buffer *b)
{
    if (b->capacity == CHUNK_SIZE && kept_count < KEPT) {
        kept[kept_count++] = b->data;
        *b = (struct buffer){.limit = b->limit};
    } else {
        buffer_release(b);
    }
}
