// SPDX-License-Identifier: Apache-2.0
//
// One HTTP/1.1 message after the other out of a run of bytes, in steps: a head, then pieces of
// body, then the end. llhttp reads; this holds what it does not: bounds, bare line feeds, folded
// lines, and that nobody above is called from inside it.
//
// Body bytes are handed out in place: what chunking adds is squeezed out of the caller's buffer.
#ifndef WRIST_GATEWAY_LIB_HTTP_H1_PARSER_H
#define WRIST_GATEWAY_LIB_HTTP_H1_PARSER_H

#include <llhttp.h>

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/buffer.h"
#include "gateway/lib/http/exchange.h"

enum h1_event {
    H1_MORE, // needs more bytes
    H1_HEAD, // the head is complete, see h1_parser_take_head
    H1_BODY, // .body
    H1_END,  // the message is complete; h1_parser_next before the next step
    H1_BAD,  // .error
};

struct h1_error {
    int status; // what a server answers
    const char *text;
};

struct h1_limits {
    size_t head_bytes, header_count;
};

struct h1_piece {
    uint32_t at, size; // in head->text
};

struct h1_parser {
    llhttp_t http;
    const struct h1_limits *limits; // borrowed
    struct buffer text;             // target, names and values; empty between heads
    struct h1_piece *pieces;        // owned; target, then name and value in turn
    uint32_t piece_count, piece_capacity;
    bool is_open;                       // the last piece may go on
    bool in_head, in_line, line_was_cr; // where the line scan stands
    bool request_line_done, paused_at_end;
    char first_byte;                     // tells an unknown method from what is no HTTP at all
    bool bodyless;                       // a response that has no body whatever its head says
    size_t head_size, line_size, spaces; // the last in the request line
    uint64_t body_total, overhead;       // body bytes, and bytes of framing around them
    char *body;
    size_t body_size;
    struct h1_error error;
};

void h1_parser_init(struct h1_parser *p, llhttp_type_t type, const struct h1_limits *limits);
void h1_parser_fini(struct h1_parser *p);
// Takes some of `bytes` (*used) and says what happened.
enum h1_event h1_parser_step(struct h1_parser *p, char *bytes, size_t size, size_t *used);
void h1_parser_next(struct h1_parser *p); // after H1_END
enum h1_event
h1_parser_finish(struct h1_parser *p); // the peer ended: H1_END, H1_MORE (idle), H1_BAD
bool h1_parser_has_begun(const struct h1_parser *p); // a byte of the present head has come

struct h1_head {
    struct span target; // absent in responses
    struct http_header *headers;
    size_t header_count;
};
// Moves the head into the arena, names in lower case. FAULT_TOO_LARGE past the arena's limit.
int h1_parser_take_head(struct h1_parser *p, struct arena *arena, struct h1_head *out);
int64_t h1_parser_content_length(const struct h1_parser *p); // -1: not told or chunked
bool h1_parser_keeps_alive(const struct h1_parser *p);

#endif
