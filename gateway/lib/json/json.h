// SPDX-License-Identifier: Apache-2.0
//
// JSON as a tree of tokens over the source bytes. Nothing is copied or re-serialised: a node names
// a range of the source, so ids, numbers and arguments can be forwarded exactly as they came. The
// source is borrowed and must outlive the document; it need not end with a NUL.
//
// Strict RFC 8259 and valid UTF-8. Escaped lone surrogates are well-formed here; duplicate keys are
// kept, and json_object_duplicate finds them.
#ifndef WRIST_GATEWAY_LIB_JSON_JSON_H
#define WRIST_GATEWAY_LIB_JSON_JSON_H

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"
#include "gateway/lib/json/token.h"

enum json_type {
    JSON_ABSENT, // the type of JSON_NONE
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

// A token of a document, by index; 0 is the root. Every function that takes a node accepts
// JSON_NONE and answers as for something absent, so look-ups can be chained unchecked.
enum { JSON_ROOT = 0, JSON_NONE = -1 };

struct json_limits {
    size_t bytes;  // of the source
    size_t tokens; // 16 bytes each
    size_t depth;
};
// 64 MiB, 4 Mi tokens, depth 512: for what our own side wrote. Peers get tighter ones.
extern const struct json_limits json_limits_default;

struct json; // a parsed document; owns its tokens, borrows its source

// FAULT_PARSE with line, column and what was expected; FAULT_TOO_LARGE past a limit. The whole
// source must be one value, with white space around it at most.
int json_parse(struct span source, const struct json_limits *limits, struct json **out,
               struct failure *why);
void json_free(struct json *j);
static inline struct span json_source(const struct json *j);
static inline size_t json_size(const struct json *j); // every node is below it

static inline enum json_type json_type(const struct json *j, int node);
// The node's exact bytes in the source (a string with its quotes, an object with its braces).
static inline struct span json_raw(const struct json *j, int node);

// Children. An object's children are its values; the key stands beside each.
static inline int json_first(const struct json *j, int node);
static inline int json_next(const struct json *j, int node);
// Children of an array or object, else 0. Like json_at and json_get it walks: not in a loop.
size_t json_count(const struct json *j, int node);
// The key of a value inside an object, as in the source without its quotes (escapes kept);
// absent elsewhere.
static inline struct span json_key_raw(const struct json *j, int node);
// Where this member begins in the source: at its key's quote, or at an array element itself.
size_t json_member_start(const struct json *j, int node);
int json_parent(const struct json *j, int node);

#define JSON_EACH(child, j, node)                                                                  \
    for (int child = json_first(j, node); child != JSON_NONE; child = json_next(j, child))

// The last member with this key (as a person would read it, so "na\u006de" is "name").
int json_get(const struct json *j, int node, const char *key);
int json_get_span(const struct json *j, int node, struct span key);
int json_at(const struct json *j, int node, size_t index); // of an array
// A member whose key stands twice in this object, or JSON_NONE. Linear.
int json_object_duplicate(const struct json *j, int node);
// An RFC 6901 pointer to the node, for messages.
int json_pointer(const struct json *j, int node, struct buffer *out);

// Values. Each returns false, and leaves *out, where the node has another type or does not fit.
bool json_bool(const struct json *j, int node, bool *out);
// Integral values only, however written: 5.0 and 5e0 are 5.
bool json_i64(const struct json *j, int node, int64_t *out);
bool json_double(const struct json *j, int node, double *out); // finite only
// Unescaped UTF-8. Lone surrogates become U+FFFD. \u0000 becomes a NUL byte.
bool json_string(const struct json *j, int node, struct buffer *out);
bool json_string_arena(const struct json *j, int node, struct arena *arena, struct span *out);
bool json_string_is(const struct json *j, int node, const char *text);
// A string without escapes, straight from the source; false where it has any.
bool json_string_plain(const struct json *j, int node, struct span *out);

// Unescapes what stands between two quotes; the same rules as json_string.
bool json_unescape(struct span raw, struct buffer *out);

// What walking a document asks at every step.

static inline struct span json_source(const struct json *j)
{
    return j->source;
}

static inline size_t json_size(const struct json *j)
{
    return j->count;
}

static inline enum json_type json_type(const struct json *j, int node)
{
    return token_exists(j, node) ? (enum json_type)j->tokens[node].type : JSON_ABSENT;
}

static inline struct span json_raw(const struct json *j, int node)
{
    if (!token_exists(j, node))
        return SPAN_NONE;
    const struct token *t = &j->tokens[node];
    return span_of(j->source.data + t->start, t->end - t->start);
}

// The child whose tokens begin at `at`: its value, where a key stands there.
static inline int token_child(const struct json *j, uint32_t at, uint32_t parent)
{
    if (at >= j->count || j->tokens[at].parent != parent)
        return JSON_NONE;
    return (int)(at + (j->tokens[at].type == TOKEN_KEY));
}

static inline int json_first(const struct json *j, int node)
{
    return token_exists(j, node) ? token_child(j, (uint32_t)node + 1, (uint32_t)node) : JSON_NONE;
}

static inline int json_next(const struct json *j, int node)
{
    if (!token_exists(j, node) || j->tokens[node].parent == TOKEN_NO_PARENT)
        return JSON_NONE;
    return token_child(j, j->tokens[node].after, j->tokens[node].parent);
}

static inline const struct token *token_key(const struct json *j, int node)
{
    if (!token_exists(j, node) || node == 0 || j->tokens[node - 1].type != TOKEN_KEY)
        return NULL;
    return &j->tokens[node - 1];
}

static inline struct span token_between_quotes(const struct json *j, const struct token *t)
{
    return span_of(j->source.data + t->start + 1, t->end - t->start - 2);
}

static inline struct span json_key_raw(const struct json *j, int node)
{
    const struct token *key = token_key(j, node);
    return key != NULL ? token_between_quotes(j, key) : SPAN_NONE;
}

#endif
