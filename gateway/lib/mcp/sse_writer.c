// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>

#include "gateway/lib/mcp/sse.h"

int sse_write_event_begin(struct buffer *out, struct span id)
{
    int fault = 0;
    if (!span_is_absent(id)) {
        fault = buffer_append_string(out, "id: ");
        if (fault == 0)
            fault = buffer_append(out, id);
        if (fault == 0)
            fault = buffer_append_char(out, '\n');
    }
    return fault != 0 ? fault : buffer_append_string(out, "event: message\ndata: ");
}

int sse_write_event_end(struct buffer *out)
{
    return buffer_append_string(out, "\n\n");
}

static size_t line_length(struct span s)
{
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] == '\n' || s.data[i] == '\r')
            return i;
    }
    return s.size;
}

int sse_write_event(struct buffer *out, struct span id, struct span data)
{
    size_t before = buffer_size(out);
    int fault = sse_write_event_begin(out, id);
    while (fault == 0) {
        size_t line = line_length(data);
        fault = buffer_append(out, span_slice(data, 0, line));
        if (fault != 0 || line == data.size)
            break;
        bool crlf = data.data[line] == '\r' && line + 1 < data.size && data.data[line + 1] == '\n';
        data = span_slice(data, line + (crlf ? 2 : 1), data.size);
        fault = buffer_append_string(out, "\ndata: ");
    }
    if (fault == 0)
        fault = sse_write_event_end(out);
    if (fault != 0)
        buffer_truncate(out, before); // an event is written whole or not at all
    return fault;
}

int sse_write_comment(struct buffer *out, struct span text)
{
    int fault = buffer_append_char(out, ':');
    if (fault == 0 && text.size > 0)
        fault = buffer_append_char(out, ' ');
    for (size_t i = 0; i < text.size && fault == 0; i++) {
        char c = text.data[i];
        fault = buffer_append_char(out, c == '\n' || c == '\r' ? ' ' : c);
    }
    return fault != 0 ? fault : buffer_append_string(out, "\n\n");
}

int sse_write_retry(struct buffer *out, int64_t ms)
{
    return buffer_printf(out, "retry: %" PRId64 "\n\n", ms);
}
