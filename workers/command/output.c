// SPDX-License-Identifier: Apache-2.0
#include "workers/command/output.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"

void output_init(struct output *o, size_t limit_bytes)
{
    size_t half = limit_bytes / 2 > 0 ? limit_bytes / 2 : 1;
    *o = (struct output){.half = half, .head = memory_new(half), .tail = memory_new(half)};
}

void output_fini(struct output *o)
{
    free(o->head);
    free(o->tail);
    *o = (struct output){0};
}

static void tail_add(struct output *o, struct span bytes)
{
    if (bytes.size > o->half) // only its end can survive
        bytes = span_slice(bytes, bytes.size - o->half, bytes.size);
    size_t first = o->half - o->tail_next;
    if (first > bytes.size)
        first = bytes.size;
    memcpy(o->tail + o->tail_next, bytes.data, first);
    memcpy(o->tail, bytes.data + first, bytes.size - first);
    o->tail_next = (o->tail_next + bytes.size) % o->half;
    o->tail_size = o->tail_size + bytes.size < o->half ? o->tail_size + bytes.size : o->half;
}

void output_add(struct output *o, struct span bytes)
{
    if (bytes.size == 0)
        return;
    o->total += bytes.size;
    size_t room = o->half - o->head_size;
    size_t first = bytes.size < room ? bytes.size : room;
    memcpy(o->head + o->head_size, bytes.data, first);
    o->head_size += first;
    if (first < bytes.size)
        tail_add(o, span_slice(bytes, first, bytes.size));
}

bool output_is_cut(const struct output *o)
{
    return o->total > o->head_size + o->tail_size;
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

// Bytes of a character that begins in the last three bytes and does not end there.
static size_t unfinished(struct span s)
{
    for (size_t back = 1; back <= 3 && back <= s.size; back++) {
        unsigned char c = (unsigned char)s.data[s.size - back];
        if (is_continuation((char)c))
            continue;
        size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return length > back ? back : 0;
    }
    return 0;
}

static char tail_at(const struct output *o, size_t index)
{
    return o->tail[(o->tail_next + o->half - o->tail_size + index) % o->half];
}

static int tail_write(const struct output *o, size_t skip, struct buffer *out)
{
    size_t from = (o->tail_next + o->half - o->tail_size + skip) % o->half;
    size_t size = o->tail_size - skip;
    size_t first = o->half - from < size ? o->half - from : size;
    int fault = buffer_append(out, span_of(o->tail + from, first));
    return fault != 0 ? fault : buffer_append(out, span_of(o->tail, size - first));
}

int output_write(const struct output *o, struct buffer *out)
{
    struct span head = span_of(o->head, o->head_size);
    if (!output_is_cut(o)) {
        int fault = buffer_append(out, head);
        return fault != 0 ? fault : tail_write(o, 0, out);
    }
    head.size -= unfinished(head);
    size_t skip = 0;
    while (skip < 3 && skip < o->tail_size && is_continuation(tail_at(o, skip)))
        skip++;
    uint64_t cut = o->total - head.size - (o->tail_size - skip);
    int fault = buffer_append(out, head);
    if (fault == 0)
        fault = buffer_printf(
            out, "%s[... %" PRIu64 " of %" PRIu64 " bytes of output left out here ...]\n",
            head.size > 0 && head.data[head.size - 1] == '\n' ? "" : "\n", cut, o->total);
    return fault != 0 ? fault : tail_write(o, skip, out);
}
