// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/base/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 256 };

void buffer_init(struct buffer *b, size_t limit)
{
    *b = (struct buffer){.limit = limit};
}

void buffer_fini(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){.limit = b->limit};
}

static void move_to_front(struct buffer *b)
{
    size_t size = buffer_size(b);
    if (b->start > 0 && size > 0)
        memmove(b->data, b->data + b->start, size);
    b->start = 0;
    b->end = size;
}

static int grow(struct buffer *b, size_t needed)
{
    size_t capacity = b->capacity > 0 ? b->capacity : FIRST_CAPACITY;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    if (capacity > b->limit && needed <= b->limit)
        capacity = b->limit;
    char *data = realloc(b->data, capacity);
    if (data == NULL)
        return FAULT_TOO_LARGE;
    b->data = data;
    b->capacity = capacity;
    return 0;
}

int buffer_reserve(struct buffer *b, size_t size, char **out)
{
    size_t content = buffer_size(b);
    if (size > b->limit || content > b->limit - size)
        return FAULT_TOO_LARGE;
    if (b->capacity - b->end < size) {
        // Moving costs at most as much as what was consumed before it, so it stays linear.
        if (b->start >= content && b->capacity - content >= size)
            move_to_front(b);
        else {
            move_to_front(b);
            int rc = b->capacity - b->end < size ? grow(b, content + size) : 0;
            if (rc != 0)
                return rc;
        }
    }
    *out = b->data != NULL ? b->data + b->end : NULL;
    return 0;
}

void buffer_commit(struct buffer *b, size_t size)
{
    assert(b->capacity - b->end >= size);
    b->end += size;
}

int buffer_append(struct buffer *b, struct span bytes)
{
    char *room;
    if (bytes.size == 0)
        return 0;
    int rc = buffer_reserve(b, bytes.size, &room);
    if (rc != 0)
        return rc;
    memcpy(room, bytes.data, bytes.size);
    b->end += bytes.size;
    return 0;
}

int buffer_append_string(struct buffer *b, const char *text)
{
    return buffer_append(b, span_from_string(text));
}

int buffer_append_char(struct buffer *b, char c)
{
    return buffer_append(b, span_of(&c, 1));
}

int buffer_vprintf(struct buffer *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    char *room;
    int rc = size < 0 ? FAULT_INTERNAL : buffer_reserve(b, (size_t)size + 1, &room);
    if (rc == 0) {
        vsnprintf(room, (size_t)size + 1, format, again);
        b->end += (size_t)size;
    }
    va_end(again);
    return rc;
}

int buffer_printf(struct buffer *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = buffer_vprintf(b, format, args);
    va_end(args);
    return rc;
}

void buffer_consume(struct buffer *b, size_t size)
{
    assert(size <= buffer_size(b));
    b->start += size;
    if (b->start == b->end)
        b->start = b->end = 0;
}

void buffer_truncate(struct buffer *b, size_t size)
{
    assert(size <= buffer_size(b));
    b->end = b->start + size;
}

void buffer_clear(struct buffer *b)
{
    b->start = b->end = 0;
}

void buffer_release(struct buffer *b)
{
    buffer_fini(b);
}
