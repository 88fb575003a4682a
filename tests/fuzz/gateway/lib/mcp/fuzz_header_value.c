// SPDX-License-Identifier: Apache-2.0
#include <assert.h>

#include "gateway/lib/mcp/header_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(1 << 20);
    struct span plain, again;
    if (size < 65536 && mcp_header_decode(span_of(data, size), arena, &plain, NULL) == 0) {
        struct buffer out;
        buffer_init(&out, 1 << 18);
        assert(mcp_header_encode(plain, &out) == 0);
        assert(mcp_header_decode(buffer_span(&out), arena, &again, NULL) == 0);
        assert(span_equals(plain, again));
        buffer_fini(&out);
    }
    arena_free(arena);
    return 0;
}
