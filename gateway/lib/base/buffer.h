// SPDX-License-Identifier: Apache-2.0
//
// Owned bytes that grow up to a maximum set at birth. Appending past it fails with FAULT_TOO_LARGE
// and leaves the content as it was. Consuming from the front is cheap, so a buffer is also a queue
// of bytes between a source and a sink.
#ifndef WRIST_GATEWAY_LIB_BASE_BUFFER_H
#define WRIST_GATEWAY_LIB_BASE_BUFFER_H

#include <stdarg.h>

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

struct buffer {
    char *data;   // owned
    size_t start; // bytes already consumed
    size_t end;   // content is data[start, end)
    size_t capacity;
    size_t limit; // the most bytes the content may have
};

void buffer_init(struct buffer *b, size_t limit);
void buffer_fini(struct buffer *b);

static inline size_t buffer_size(const struct buffer *b)
{
    return b->end - b->start;
}
// Valid until the buffer is next written to.
static inline struct span buffer_span(const struct buffer *b)
{
    return span_of(b->data != NULL ? b->data + b->start : "", b->end - b->start);
}

int buffer_append(struct buffer *b, struct span bytes);
int buffer_append_string(struct buffer *b, const char *text);
int buffer_append_char(struct buffer *b, char c);
int buffer_printf(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
int buffer_vprintf(struct buffer *b, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
// Room for `size` more bytes at *out, to be filled and then counted with buffer_commit.
int buffer_reserve(struct buffer *b, size_t size, char **out);
void buffer_commit(struct buffer *b, size_t size);
void buffer_consume(struct buffer *b, size_t size);  // drops bytes at the front
void buffer_truncate(struct buffer *b, size_t size); // keeps the first `size` bytes
void buffer_clear(struct buffer *b);                 // keeps the memory
void buffer_release(struct buffer *b);               // gives the memory back, keeps the limit

#endif
