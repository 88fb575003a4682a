// SPDX-License-Identifier: Apache-2.0
//
// A borrowed run of bytes. It never owns and never ends with a NUL that one may count on; whoever
// hands one out says how long it lives. `data == NULL` means absent, which is not the same as
// empty.
#ifndef WRIST_GATEWAY_LIB_BASE_SPAN_H
#define WRIST_GATEWAY_LIB_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const char *data;
    size_t size;
};

#define SPAN_NONE          ((struct span){NULL, 0})
#define SPAN_LITERAL(text) ((struct span){(text), sizeof(text) - 1})
// For printf's "%.*s".
#define SPAN_ARGS(s) ((int)((s).size > 4096 ? 4096 : (s).size)), ((s).data != NULL ? (s).data : "")

static inline struct span span_of(const void *data, size_t size)
{
    return (struct span){(const char *)data, size};
}

static inline struct span span_from_string(const char *text)
{
    return (struct span){text, text != NULL ? strlen(text) : 0};
}

static inline bool span_is_absent(struct span s)
{
    return s.data == NULL;
}

static inline bool span_equals(struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool span_is(struct span a, const char *text)
{
    return span_equals(a, span_from_string(text));
}

// ASCII only: header names, tokens of the protocol.
bool span_same_nocase(const char *a, const char *b, size_t size);
static inline bool span_equals_nocase(struct span a, struct span b)
{
    return a.size == b.size && span_same_nocase(a.data, b.data, a.size);
}
bool span_starts_with(struct span s, struct span prefix);
struct span span_slice(struct span s, size_t from, size_t to); // clamped to the span
struct span span_trim(struct span s);                          // spaces and tabs at both ends
// Cuts *rest at the first `separator`: returns what stands before it, *rest becomes what follows.
// With no separator left, returns all and makes *rest absent.
struct span span_split(struct span *rest, char separator);
// Plain decimal digits only, no sign, no space, no overflow. False and *out untouched otherwise.
bool span_to_u64(struct span s, uint64_t *out);
// Copies with a closing NUL; false where it does not fit or the span holds a NUL.
bool span_copy_string(struct span s, char *out, size_t out_size);

#endif
