// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/mcp/header_value.h"

#include "gateway/lib/base/encode.h"
#include "gateway/lib/json/utf8.h"

#define MARK_OPEN  "=?base64?"
#define MARK_CLOSE "?="

static bool is_marked(struct span s)
{
    struct span open = SPAN_LITERAL(MARK_OPEN), close = SPAN_LITERAL(MARK_CLOSE);
    return s.size >= open.size + close.size && span_starts_with(s, open) &&
           span_equals(span_slice(s, s.size - close.size, s.size), close);
}

static bool is_plain(struct span s)
{
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] != '\t' && (s.data[i] < 0x20 || s.data[i] > 0x7e))
            return false;
    }
    return true;
}

int mcp_header_decode(struct span value, struct arena *arena, struct span *out, struct failure *why)
{
    value = span_trim(value);
    if (!is_plain(value))
        return failure_set(why, FAULT_INVALID, "the header has characters that need base64");
    if (!is_marked(value)) {
        *out = value;
        return 0;
    }
    struct span text =
        span_slice(value, sizeof MARK_OPEN - 1, value.size - (sizeof MARK_CLOSE - 1));
    char *bytes = arena_try_alloc(arena, text.size + 1);
    size_t size = 0;
    if (bytes == NULL)
        return failure_set(why, FAULT_TOO_LARGE, "the header is too long");
    if (!base64_decode(text, bytes, &size))
        return failure_set(why, FAULT_INVALID, "the header's base64 is not valid");
    *out = span_of(bytes, size);
    if (!utf8_is_valid(*out))
        return failure_set(why, FAULT_INVALID, "the header's base64 holds no UTF-8");
    return 0;
}

int mcp_header_encode(struct span value, struct buffer *out)
{
    bool edges = span_trim(value).size != value.size;
    if (is_plain(value) && !edges && !is_marked(value))
        return buffer_append(out, value);
    char *room;
    int fault = buffer_append_string(out, MARK_OPEN);
    if (fault == 0)
        fault = buffer_reserve(out, base64_size(value.size) + 1, &room);
    if (fault != 0)
        return fault;
    buffer_commit(out, base64_encode(value, room));
    return buffer_append_string(out, MARK_CLOSE);
}
