// SPDX-License-Identifier: Apache-2.0
//
// Server-sent events. The writer fills a buffer; the reader takes bytes cut anywhere.
#ifndef WRIST_GATEWAY_LIB_MCP_SSE_H
#define WRIST_GATEWAY_LIB_MCP_SSE_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"

// One `message` event. Line ends inside the data become several data lines (the reader joins them
// by LF), so any bytes are safe. `id` absent: none is written; it must hold no CR, LF or NUL.
int sse_write_event(struct buffer *out, struct span id, struct span data);
int sse_write_comment(struct buffer *out, struct span text); // line ends become spaces
int sse_write_retry(struct buffer *out, int64_t ms);
// For data that is streamed: begin, then pieces without line ends, then end.
int sse_write_event_begin(struct buffer *out, struct span id);
int sse_write_event_end(struct buffer *out);

// An event. The spans live until the callback returns.
struct sse_event {
    struct span type; // "message" where none was told
    struct span id;   // the last one seen, absent before the first
    struct span data; // lines joined by LF
    bool has_id;      // this event itself carried an id
};

struct sse_reader;

// `event` returns 0 to go on, or a fault that ends the reading. limit_bytes bounds one event (data,
// type and id) and a comment line's length is not counted, since it is not kept.
struct sse_reader_ops {
    int (*event)(void *owner, const struct sse_event *event);
    void (*comment)(void *owner, struct span piece); // may be NULL; a long one comes in pieces
    void (*retry)(void *owner, int64_t ms);          // may be NULL
    void (*primed)(void *owner, struct span id);     // may be NULL; an id without an event
};
struct sse_reader *sse_reader_new(size_t limit_bytes, const struct sse_reader_ops *ops,
                                  void *owner);
void sse_reader_free(struct sse_reader *r);
// 0, FAULT_TOO_LARGE, or what `event` returned. After a fault every further call returns it again.
// An event that was not closed by an empty line when the stream ends is dropped, as the standard
// wants: sse_reader_is_between_events tells whether that is so.
int sse_reader_feed(struct sse_reader *r, struct span bytes, struct failure *why);
bool sse_reader_is_between_events(const struct sse_reader *r);

#endif
