// SPDX-License-Identifier: Apache-2.0
#include "workers/checks/parse.h"

void lines_init(struct lines *l)
{
    buffer_init(&l->part, PARSE_LINE_BYTES);
}

void lines_fini(struct lines *l)
{
    buffer_fini(&l->part);
}

// What does not fit is dropped; the stream goes on.
static void keep(struct lines *l, struct span bytes)
{
    (void)buffer_append(&l->part, span_slice(bytes, 0, l->part.limit - buffer_size(&l->part)));
}

static void tell(struct span text, void (*line)(void *owner, struct span text), void *owner)
{
    if (text.size > 0 && text.data[text.size - 1] == '\r')
        text.size--;
    line(owner, text);
}

void lines_feed(struct lines *l, struct span bytes, void (*line)(void *owner, struct span text),
                void *owner)
{
    const char *end;
    while ((end = memchr(bytes.data, '\n', bytes.size)) != NULL) {
        size_t size = (size_t)(end - bytes.data);
        struct span text = span_slice(bytes, 0, size);
        bytes = span_slice(bytes, size + 1, bytes.size);
        if (buffer_size(&l->part) == 0) {
            tell(span_slice(text, 0, l->part.limit), line, owner);
            continue;
        }
        keep(l, text);
        tell(buffer_span(&l->part), line, owner);
        buffer_clear(&l->part);
    }
    keep(l, bytes);
}

void lines_end(struct lines *l, void (*line)(void *owner, struct span text), void *owner)
{
    if (buffer_size(&l->part) > 0)
        tell(buffer_span(&l->part), line, owner);
    buffer_clear(&l->part);
}
