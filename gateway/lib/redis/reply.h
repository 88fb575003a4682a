// SPDX-License-Identifier: Apache-2.0
//
// What a Redis server answers, as a tree of plain values, read from its bytes as they come. Bounded
// in size and depth: a server is not trusted with our memory.
#ifndef WRIST_GATEWAY_LIB_REDIS_REPLY_H
#define WRIST_GATEWAY_LIB_REDIS_REPLY_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

enum reply_kind { REPLY_NIL, REPLY_STATUS, REPLY_ERROR, REPLY_INTEGER, REPLY_TEXT, REPLY_ARRAY };

struct redis_reply {
    enum reply_kind kind;
    int64_t integer;
    struct span text; // of STATUS, ERROR and TEXT; a NUL stands behind it
    struct redis_reply **elements;
    size_t count;
};

static inline bool reply_is_text(const struct redis_reply *r, const char *text)
{
    return (r->kind == REPLY_TEXT || r->kind == REPLY_STATUS) && span_is(r->text, text);
}
// An element, or NULL where it is no array or too short.
static inline const struct redis_reply *reply_at(const struct redis_reply *r, size_t index)
{
    return r->kind == REPLY_ARRAY && index < r->count ? r->elements[index] : NULL;
}
// Its text; absent where there is none.
struct span reply_text_at(const struct redis_reply *r, size_t index);
int64_t reply_integer_at(const struct redis_reply *r, size_t index); // 0 where there is none

struct reply_reader;
struct reply_reader *reply_reader_new(size_t limit_bytes); // of one reply
void reply_reader_free(struct reply_reader *r);
int reply_reader_feed(struct reply_reader *r, struct span bytes, struct failure *why);
// The next whole reply, valid until the next call; *out is NULL where bytes are missing.
int reply_reader_next(struct reply_reader *r, const struct redis_reply **out, struct failure *why);

#endif
