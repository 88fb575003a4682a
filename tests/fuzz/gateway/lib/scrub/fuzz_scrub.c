// SPDX-License-Identifier: Apache-2.0
// However the bytes are cut, the same comes out.
// The first two bytes choose the cuts, the rest is repeated past the window.
#include <assert.h>

#include "gateway/lib/scrub/scrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int append(void *owner, struct span bytes)
{
    return buffer_append(owner, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer text, whole, pieces;
    if (size < 3 || size > 8192)
        return 0;
    size_t step = (size_t)data[0] * 64 + data[1] + 1;
    buffer_init(&text, 1 << 20);
    buffer_init(&whole, 1 << 23);
    buffer_init(&pieces, 1 << 23);
    do {
        assert(buffer_append(&text, span_of(data + 2, size - 2)) == 0);
    } while (size > 1024 && buffer_size(&text) < 80000);
    assert(scrub_text(buffer_span(&text), &whole, NULL) == 0);
    struct scrub *s = scrub_new(append, &pieces);
    for (size_t at = 0; at < buffer_size(&text); at += step)
        assert(scrub_push(s, span_slice(buffer_span(&text), at, at + step)) == 0);
    assert(scrub_finish(s) == 0);
    assert(span_equals(buffer_span(&whole), buffer_span(&pieces)));
    scrub_free(s);
    buffer_fini(&text);
    buffer_fini(&whole);
    buffer_fini(&pieces);
    return 0;
}
