// SPDX-License-Identifier: Apache-2.0
// One pass over the source, without recursion: the stack is the chain of parents in the tokens.
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/utf8.h"

const struct json_limits json_limits_default = {
    .bytes = 64U << 20, .tokens = 4U << 20, .depth = 512};

// What a source of some size is given room for at first.
enum { BYTES_A_TOKEN = 10, FIRST_MOST = 4096 };

enum expect {
    EXPECT_VALUE,         // any value
    EXPECT_FIRST_KEY,     // behind "{": a key or "}"
    EXPECT_KEY,           // behind "," in an object
    EXPECT_FIRST_ELEMENT, // behind "[": a value or "]"
    EXPECT_SEPARATOR,     // behind a value: "," or the close of what it stands in
    EXPECT_END,           // behind the root
};

struct parser {
    struct json *j;
    const char *at, *end;
    size_t capacity, depth;
    uint32_t open; // the innermost open container, or TOKEN_NO_PARENT
    const struct json_limits *limits;
    struct failure *why;
};

// Line and character of a place in the source, counted from 1.
static void locate(struct span source, const char *at, size_t *line, size_t *column)
{
    *line = *column = 1;
    for (const char *p = source.data; p < at; p++) {
        if (*p == '\n') {
            (*line)++;
            *column = 1;
        } else if (((unsigned char)*p & 0xc0) != 0x80) {
            (*column)++;
        }
    }
}

static int fail(struct parser *p, enum fault fault, const char *text)
{
    size_t line, column;
    locate(p->j->source, p->at, &line, &column);
    return failure_set(p->why, fault, "line %zu, column %zu: %s", line, column, text);
}

static int expected(struct parser *p, const char *what)
{
    char text[120];
    unsigned char c = p->at < p->end ? (unsigned char)*p->at : 0;
    if (p->at == p->end)
        snprintf(text, sizeof text, "the text ends where %s was expected", what);
    else if (c > ' ' && c < 0x7f)
        snprintf(text, sizeof text, "expected %s, found '%c'", what, c);
    else
        snprintf(text, sizeof text, "expected %s, found byte 0x%02x", what, c);
    return fail(p, FAULT_PARSE, text);
}

static int grow(struct parser *p)
{
    size_t most = p->limits->tokens < TOKEN_NO_PARENT ? p->limits->tokens : TOKEN_NO_PARENT - 1;
    if (p->capacity >= most)
        return fail(p, FAULT_TOO_LARGE, "more values than are taken");
    size_t likely = p->j->source.size / BYTES_A_TOKEN + 8;
    size_t capacity = p->capacity > 0 ? p->capacity * 2 : likely < FIRST_MOST ? likely : FIRST_MOST;
    if (capacity > most)
        capacity = most;
    struct token *tokens = realloc(p->j->tokens, capacity * sizeof *tokens);
    if (tokens == NULL)
        return fail(p, FAULT_TOO_LARGE, "out of memory");
    p->j->tokens = tokens;
    p->capacity = capacity;
    return 0;
}

static inline int add(struct parser *p, unsigned type, const char *start, bool escaped)
{
    struct json *j = p->j;
    if (j->count == p->capacity && grow(p) != 0)
        return FAULT_TOO_LARGE;
    j->tokens[j->count] = (struct token){
        .start = (uint32_t)(start - j->source.data),
        .end = (uint32_t)(p->at - j->source.data),
        .after = j->count + 1,
        .type = type & 15U,
        .escaped = escaped,
        .parent = p->open & TOKEN_NO_PARENT,
    };
    j->count++;
    return 0;
}

static inline void skip_space(struct parser *p)
{
    const char *at = p->at;
    while (at < p->end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    p->at = at;
}

// Bytes at the front of these eight that are neither quote, backslash, control nor past ASCII.
static inline unsigned plain_bytes(const char *at)
{
    const uint64_t ones = 0x0101010101010101U, highs = ones * 0x80;
    uint64_t word;
    memcpy(&word, at, sizeof word);
    word = le64toh(word);
    uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
    // A borrow only reaches bytes behind the first hit, so the first one is exact.
    uint64_t found = ((word - ones * 0x20) | (quote - ones) | (slash - ones) | word) & highs;
    return found == 0 ? 8 : (unsigned)__builtin_ctzll(found) / 8;
}

static int scan_escape(struct parser *p)
{
    const char *at = p->at + 1;
    if (at < p->end && *at == 'u') {
        for (int i = 1; i <= 4; i++) {
            char c = at + i < p->end ? at[i] : '\0';
            bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
            if (!hex)
                return fail(p, FAULT_PARSE, "\\u needs four hexadecimal digits");
        }
        p->at = at + 5;
        return 0;
    }
    if (at == p->end || *at == '\0' || strchr("\"\\/bfnrt", *at) == NULL)
        return fail(p, FAULT_PARSE, "an escape that JSON does not know");
    p->at = at + 1;
    return 0;
}

// From the opening quote to behind the closing one.
static int scan_string(struct parser *p, bool *escaped)
{
    *escaped = false;
    const char *at = p->at + 1;
    for (;;) {
        unsigned plain = 8;
        while (plain == 8 && p->end - at >= 8) {
            plain = plain_bytes(at);
            at += plain;
        }
        unsigned char c = at < p->end ? (unsigned char)*at : 0;
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            at++;
            continue;
        }
        p->at = at;
        if (c == '"') {
            p->at++;
            return 0;
        }
        if (at == p->end)
            return fail(p, FAULT_PARSE, "the text ends inside a string");
        if (c == '\\') {
            *escaped = true;
            if (scan_escape(p) != 0)
                return FAULT_PARSE;
            at = p->at;
            continue;
        }
        if (c < 0x20)
            return fail(p, FAULT_PARSE, "a control character inside a string must be escaped");
        struct utf8_step step = utf8_step(at, p->end);
        if (!step.valid)
            return fail(p, FAULT_PARSE, "bytes that are not UTF-8");
        at += step.size;
    }
}

static inline bool is_digit(const struct parser *p, const char *at)
{
    return at < p->end && *at >= '0' && *at <= '9';
}

static int scan_number(struct parser *p)
{
    const char *at = p->at + (*p->at == '-');
    if (!is_digit(p, at)) {
        p->at = at;
        return expected(p, "a digit");
    }
    if (*at == '0')
        at++;
    else
        while (is_digit(p, at))
            at++;
    for (int part = 0; part < 2; part++) {
        bool fraction = part == 0;
        if (at == p->end || !(fraction ? *at == '.' : (*at | 0x20) == 'e'))
            continue;
        at++;
        if (!fraction && at < p->end && (*at == '+' || *at == '-'))
            at++;
        if (!is_digit(p, at)) {
            p->at = at;
            return expected(p, "a digit");
        }
        while (is_digit(p, at))
            at++;
    }
    p->at = at;
    return 0;
}

static int scan_word(struct parser *p, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0)
        return expected(p, "a value");
    p->at += size;
    return 0;
}

static int take_scalar(struct parser *p, enum json_type type, const char *word)
{
    const char *start = p->at;
    bool escaped = false;
    int rc = type == JSON_STRING   ? scan_string(p, &escaped)
             : type == JSON_NUMBER ? scan_number(p)
                                   : scan_word(p, word);
    if (rc == 0)
        rc = add(p, type, start, escaped);
    if (rc != 0)
        return rc;
    return p->open == TOKEN_NO_PARENT ? EXPECT_END : EXPECT_SEPARATOR;
}

static int take_open(struct parser *p, enum json_type type)
{
    if (p->depth == p->limits->depth)
        return fail(p, FAULT_TOO_LARGE, "nested more deeply than is taken");
    p->depth++;
    p->at++;
    if (add(p, type, p->at - 1, false) != 0)
        return FAULT_TOO_LARGE;
    p->open = p->j->count - 1;
    return type == JSON_OBJECT ? EXPECT_FIRST_KEY : EXPECT_FIRST_ELEMENT;
}

static int take_close(struct parser *p)
{
    struct token *t = &p->j->tokens[p->open];
    p->at++;
    p->depth--;
    t->end = (uint32_t)(p->at - p->j->source.data);
    t->after = p->j->count;
    p->open = t->parent;
    return p->open == TOKEN_NO_PARENT ? EXPECT_END : EXPECT_SEPARATOR;
}

static int take_value(struct parser *p)
{
    switch (p->at < p->end ? *p->at : '\0') {
    case '"':
        return take_scalar(p, JSON_STRING, NULL);
    case '{':
        return take_open(p, JSON_OBJECT);
    case '[':
        return take_open(p, JSON_ARRAY);
    case 't':
        return take_scalar(p, JSON_TRUE, "true");
    case 'f':
        return take_scalar(p, JSON_FALSE, "false");
    case 'n':
        return take_scalar(p, JSON_NULL, "null");
    case '-':
        return take_scalar(p, JSON_NUMBER, NULL);
    default:
        return is_digit(p, p->at) ? take_scalar(p, JSON_NUMBER, NULL) : expected(p, "a value");
    }
}

static int take_key(struct parser *p, bool may_close)
{
    const char *start = p->at;
    bool escaped;
    if (may_close && p->at < p->end && *p->at == '}')
        return take_close(p);
    if (p->at == p->end || *p->at != '"')
        return expected(p, may_close ? "a key or '}'" : "a key");
    int rc = scan_string(p, &escaped);
    if (rc == 0)
        rc = add(p, TOKEN_KEY, start, escaped);
    if (rc != 0)
        return rc;
    skip_space(p);
    if (p->at == p->end || *p->at != ':')
        return expected(p, "':'");
    p->at++;
    return EXPECT_VALUE;
}

static int take_separator(struct parser *p)
{
    bool object = p->j->tokens[p->open].type == JSON_OBJECT;
    char c = p->at < p->end ? *p->at : '\0';
    if (c == ',') {
        p->at++;
        return object ? EXPECT_KEY : EXPECT_VALUE;
    }
    if (c == (object ? '}' : ']'))
        return take_close(p);
    return expected(p, object ? "',' or '}'" : "',' or ']'");
}

static int step(struct parser *p, int expect)
{
    skip_space(p);
    switch (expect) {
    case EXPECT_FIRST_KEY:
        return take_key(p, true);
    case EXPECT_KEY:
        return take_key(p, false);
    case EXPECT_FIRST_ELEMENT:
        return p->at < p->end && *p->at == ']' ? take_close(p) : take_value(p);
    case EXPECT_SEPARATOR:
        return take_separator(p);
    default:
        return take_value(p);
    }
}

static int parse(struct parser *p)
{
    int expect = EXPECT_VALUE;
    while (expect >= 0 && expect != EXPECT_END)
        expect = step(p, expect);
    if (expect < 0)
        return expect;
    skip_space(p);
    return p->at == p->end ? 0 : expected(p, "nothing after the value");
}

int json_parse(struct span source, const struct json_limits *limits, struct json **out,
               struct failure *why)
{
    *out = NULL;
    if (limits == NULL)
        limits = &json_limits_default;
    if (source.size > limits->bytes || source.size >= UINT32_MAX)
        return failure_set(why, FAULT_TOO_LARGE, "%zu bytes of JSON, at most %zu are taken",
                           source.size, limits->bytes);
    if (source.data == NULL)
        source = span_of("", 0);
    struct json *j = memory_new(sizeof *j);
    j->source = source;
    struct parser p = {.j = j,
                       .at = source.data,
                       .end = source.data + source.size,
                       .open = TOKEN_NO_PARENT,
                       .limits = limits,
                       .why = why};
    int rc = parse(&p);
    if (rc != 0) {
        json_free(j);
        return rc;
    }
    *out = j;
    return 0;
}

void json_free(struct json *j)
{
    if (j == NULL)
        return;
    free(j->tokens);
    free(j);
}
