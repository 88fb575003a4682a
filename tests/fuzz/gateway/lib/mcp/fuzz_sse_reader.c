// SPDX-License-Identifier: Apache-2.0
// Whatever the stream, it tells the same in one piece and byte by byte.
#include <assert.h>

#include "gateway/lib/mcp/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_event(void *owner, const struct sse_event *e)
{
    struct buffer *out = owner;
    assert(e->data.size > 0 && e->data.size <= 200);
    buffer_append(out, e->type);
    buffer_append(out, e->id);
    buffer_append(out, e->data);
    buffer_append_char(out, e->has_id ? '!' : ';');
    return 0;
}

static void on_retry(void *owner, int64_t ms)
{
    assert(ms >= 0);
    buffer_append_char(owner, 'r');
}

static const struct sse_reader_ops ops = {on_event, NULL, on_retry, NULL};

static int read_in_pieces(struct span bytes, size_t piece, struct buffer *out)
{
    struct sse_reader *r = sse_reader_new(200, &ops, out);
    int fault = 0;
    for (size_t at = 0; at < bytes.size; at += piece)
        fault = sse_reader_feed(r, span_slice(bytes, at, at + piece), NULL);
    sse_reader_free(r);
    return fault;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer whole, bytewise;
    buffer_init(&whole, 1 << 20);
    buffer_init(&bytewise, 1 << 20);
    struct span bytes = span_of(data, size);
    int fault = read_in_pieces(bytes, size + 1, &whole);
    assert(read_in_pieces(bytes, 1, &bytewise) == fault);
    assert(span_equals(buffer_span(&whole), buffer_span(&bytewise)));
    buffer_fini(&whole);
    buffer_fini(&bytewise);
    return 0;
}
