// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/text.h"

size_t text_whole_chars(struct span text)
{
    size_t back = 0;
    while (back < 4 && back < text.size) {
        unsigned char c = (unsigned char)text.data[text.size - back - 1];
        if ((c & 0xc0) != 0x80) {
            size_t size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
            return size > back + 1 ? text.size - back - 1 : text.size;
        }
        back++;
    }
    return text.size;
}

size_t text_find(struct span text, struct span needle, size_t from)
{
    if (from > text.size)
        return text.size;
    const char *at = memmem(text.data + from, text.size - from, needle.data, needle.size);
    return at != NULL ? (size_t)(at - text.data) : text.size;
}

size_t text_line_of(struct span text, size_t at)
{
    size_t line = 1;
    const char *from = text.data, *end = text.data + at;
    while ((from = memchr(from, '\n', (size_t)(end - from))) != NULL) {
        from++;
        line++;
    }
    return line;
}
