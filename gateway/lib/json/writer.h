// SPDX-License-Identifier: Apache-2.0
//
// Writes compact JSON into a buffer: commas and escapes are its job, nesting is the caller's. The
// first failure (the buffer's limit) sticks and is told by json_writer_finish.
#ifndef WRIST_GATEWAY_LIB_JSON_WRITER_H
#define WRIST_GATEWAY_LIB_JSON_WRITER_H

#include "gateway/lib/base/buffer.h"

struct json_writer {
    struct buffer *out; // borrowed
    bool comma;         // the next value needs one
    int fault;
};

void json_writer_init(struct json_writer *w, struct buffer *out);
int json_writer_finish(const struct json_writer *w); // 0, or the first fault

void json_object_open(struct json_writer *w);
void json_object_close(struct json_writer *w);
void json_array_open(struct json_writer *w);
void json_array_close(struct json_writer *w);
void json_write_key(struct json_writer *w, const char *key); // escaped
void json_write_key_span(struct json_writer *w, struct span key);

// Any bytes: what is not valid UTF-8 becomes U+FFFD, one for each maximal bad part.
void json_write_string(struct json_writer *w, struct span text);
void json_write_i64(struct json_writer *w, int64_t value);
void json_write_u64(struct json_writer *w, uint64_t value);
void json_write_double(struct json_writer *w, double value); // finite; shortest that reads back
void json_write_bool(struct json_writer *w, bool value);
void json_write_null(struct json_writer *w);
// Bytes that are one JSON value already; not checked.
void json_write_raw(struct json_writer *w, struct span json);

// key and value in one; a NULL or absent text is left out.
void json_write_member(struct json_writer *w, const char *key, struct span text);
void json_write_member_string(struct json_writer *w, const char *key, const char *text);
void json_write_member_i64(struct json_writer *w, const char *key, int64_t value);
void json_write_member_bool(struct json_writer *w, const char *key, bool value);

// Only the escaped text between the quotes, for streams of text that arrive in pieces cut anywhere:
// incomplete UTF-8 at the end of `text` is left unread. Returns 0 or FAULT_TOO_LARGE; *used tells
// how much of `text` was taken.
int json_escape_some(struct buffer *out, struct span text, size_t *used);

#endif
