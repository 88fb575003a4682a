// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/pattern.h"

#include <ctype.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"

// One character of UTF-8, or one byte where it is none. Returns its length.
static size_t take_char(struct span s, size_t at, uint32_t *out)
{
    unsigned char first = (unsigned char)s.data[at];
    size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    uint32_t value = size == 1 ? first : first & (0x7fu >> size);
    if (size > s.size - at)
        size = 1;
    for (size_t i = 1; i < size; i++) {
        unsigned char c = (unsigned char)s.data[at + i];
        if ((c & 0xc0) != 0x80) {
            *out = first;
            return 1;
        }
        value = value << 6 | (c & 0x3f);
    }
    *out = size == 1 ? first : value;
    return size;
}

struct class_name {
    const char *name;
    int (*is)(int c);
};

static const struct class_name class_names[] = {
    {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank},
    {"digit", isdigit}, {"lower", islower}, {"punct", ispunct},
    {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
};

// At "[:name:]": whether `c` is in it; moves *at behind it. False and *at unmoved where it is none.
static bool take_named_class(struct span p, size_t *at, uint32_t c, bool *in)
{
    for (size_t i = 0; i < ARRAY_COUNT(class_names); i++) {
        struct span name = span_from_string(class_names[i].name);
        size_t end = *at + 2 + name.size;
        if (p.data[*at] != '[' || end + 2 > p.size || p.data[*at + 1] != ':' ||
            !span_equals(span_slice(p, *at + 2, end), name) || p.data[end] != ':' ||
            p.data[end + 1] != ']')
            continue;
        *in = *in || (c < 128 && class_names[i].is((int)c) != 0);
        *at = end + 2;
        return true;
    }
    return false;
}

static size_t take_class_char(struct span p, size_t at, uint32_t *out)
{
    if (p.data[at] == '\\' && at + 1 < p.size)
        return 1 + take_char(p, at + 1, out);
    return take_char(p, at, out);
}

// At '[': whether `c` is in the class; *end is behind its ']'. *end is 0 where it is not closed:
// then the bracket is an ordinary character.
static bool class_contains(struct span p, size_t at, uint32_t c, size_t *end)
{
    bool in = false;
    *end = 0;
    at++;
    bool negated = at < p.size && (p.data[at] == '!' || p.data[at] == '^');
    if (negated)
        at++;
    for (bool first = true; at < p.size; first = false) {
        if (p.data[at] == ']' && !first) {
            *end = at + 1;
            return in != negated;
        }
        if (take_named_class(p, &at, c, &in))
            continue;
        uint32_t low, high;
        at += take_class_char(p, at, &low);
        high = low;
        if (at + 1 < p.size && p.data[at] == '-' && p.data[at + 1] != ']')
            at += 1 + take_class_char(p, at + 1, &high);
        in = in || (c >= low && c <= high);
    }
    return false;
}

// Matches one character of the path at `t` with the pattern's item at `p`: not for stars.
static bool match_one(struct span pattern, size_t *p, struct span path, size_t *t)
{
    uint32_t c, want;
    size_t size = take_char(path, *t, &c), end;
    size_t at = *p;
    char item = pattern.data[at];
    if (item == '?' && c != '/') {
        *p = at + 1;
        *t += size;
        return true;
    }
    if (item == '[') {
        bool in = class_contains(pattern, at, c, &end);
        if (end > 0) {
            *p = end;
            *t += size;
            return in && c != '/';
        }
    }
    if (item == '\\' && at + 1 < pattern.size)
        at++;
    else if (item == '?')
        return false;
    size_t taken = take_char(pattern, at, &want);
    if (want != c)
        return false;
    *p = at + taken;
    *t += size;
    return true;
}

enum { NOWHERE = SIZE_MAX };

// Where to go on when what follows a star does not match: the last `*` first, then the last `**`.
// Earlier ones need no second try, since the last one can take whatever they would have taken.
struct retry {
    size_t p, t;
};

// At "**": is it a whole segment? Then it stands for any number of segments.
static bool is_double_star(struct span pattern, size_t p)
{
    return p + 1 < pattern.size && pattern.data[p + 1] == '*' &&
           (p == 0 || pattern.data[p - 1] == '/') &&
           (p + 2 == pattern.size || pattern.data[p + 2] == '/');
}

static bool retry_star(struct retry *star, struct span path, size_t *p, size_t *t)
{
    uint32_t c;
    if (star->p == NOWHERE || star->t >= path.size || path.data[star->t] == '/')
        return false;
    star->t += take_char(path, star->t, &c);
    *p = star->p;
    *t = star->t;
    return true;
}

static bool retry_segments(struct retry *deep, struct retry *star, struct span path, size_t *p,
                           size_t *t)
{
    if (deep->p == NOWHERE)
        return false;
    const char *slash = memchr(path.data + deep->t, '/', path.size - deep->t);
    if (slash == NULL)
        return false;
    deep->t = (size_t)(slash - path.data) + 1;
    star->p = NOWHERE;
    *p = deep->p;
    *t = deep->t;
    return true;
}

bool pattern_matches(struct span pattern, struct span path)
{
    struct retry star = {NOWHERE, 0}, deep = {NOWHERE, 0};
    size_t p = 0, t = 0;
    for (;;) {
        if (p < pattern.size && pattern.data[p] == '*') {
            if (is_double_star(pattern, p)) {
                if (p + 2 == pattern.size)
                    return t < path.size || p == 0; // "a/**" is what is below a, not a itself
                deep = (struct retry){p + 3, t};
                star.p = NOWHERE;
                p += 3;
                continue;
            }
            while (p < pattern.size && pattern.data[p] == '*' && !is_double_star(pattern, p))
                p++;
            star = (struct retry){p, t};
            continue;
        }
        if (p == pattern.size && t == path.size)
            return true;
        if (p < pattern.size && t < path.size && match_one(pattern, &p, path, &t))
            continue;
        if (!retry_star(&star, path, &p, &t) && !retry_segments(&deep, &star, path, &p, &t))
            return false;
    }
}

struct expansion {
    struct pattern_set *set;
    size_t capacity;
    size_t bytes; // of all alternatives
};

enum { EXPANDED_BYTES_MAX = 1 << 20 };

static int add_alternative(struct expansion *e, struct span text, struct failure *why)
{
    struct pattern_set *s = e->set;
    e->bytes += text.size;
    if (s->count == PATTERN_ALTERNATIVES_MAX || e->bytes > EXPANDED_BYTES_MAX)
        return failure_set(why, FAULT_INVALID, "the braces make more than %d alternatives",
                           PATTERN_ALTERNATIVES_MAX);
    if (s->count == e->capacity) {
        e->capacity = e->capacity > 0 ? e->capacity * 2 : 4;
        s->pattern = memory_resize(s->pattern, e->capacity, sizeof *s->pattern);
        s->has_slash = memory_resize(s->has_slash, e->capacity, sizeof *s->has_slash);
    }
    s->has_slash[s->count] = memchr(text.data, '/', text.size) != NULL;
    s->pattern[s->count++] = span_of(memory_copy_span(text), text.size);
    return 0;
}

// Behind a class that begins at `at`, or behind the bracket where it is not closed.
static size_t skip_class(struct span text, size_t at)
{
    size_t end;
    class_contains(text, at, 0, &end);
    return end > 0 ? end : at + 1;
}

// The first brace at or behind `at`; text.size where there is none.
static size_t find_brace(struct span text, size_t at)
{
    while (at < text.size && text.data[at] != '{') {
        if (text.data[at] == '\\')
            at++;
        at = at < text.size && text.data[at] == '[' ? skip_class(text, at) : at + 1;
    }
    return at < text.size ? at : text.size;
}

// The end of the alternative that begins at `at`: its comma or closing brace.
static size_t find_alternative_end(struct span text, size_t at)
{
    size_t depth = 0;
    while (at < text.size) {
        char c = text.data[at];
        if (depth == 0 && (c == ',' || c == '}'))
            return at;
        depth += c == '{';
        depth -= c == '}';
        at = c == '[' ? skip_class(text, at) : c == '\\' ? at + 2 : at + 1;
    }
    return NOWHERE;
}

enum { BRACE_DEPTH_MAX = 64 };

// Expands the first brace of `text` into copies without it, and those in turn.
static int expand(struct expansion *e, struct span text, int depth, struct failure *why)
{
    size_t open = find_brace(text, 0);
    if (open == text.size)
        return add_alternative(e, text, why);
    if (depth == BRACE_DEPTH_MAX)
        return failure_set(why, FAULT_INVALID, "too many braces");
    size_t close = open;
    do {
        close = find_alternative_end(text, close + 1);
        if (close == NOWHERE)
            return failure_set(why, FAULT_INVALID,
                               "a { without its }; write \\{ for the character");
    } while (text.data[close] == ',');
    CLEANUP_FREE char *copy = memory_new(text.size + 1);
    int rc = 0;
    for (size_t from = open + 1; rc == 0 && from <= close;) {
        size_t to = find_alternative_end(text, from);
        size_t size = to - from, tail = text.size - close - 1;
        memcpy(copy, text.data, open);
        memcpy(copy + open, text.data + from, size);
        memcpy(copy + open + size, text.data + close + 1, tail);
        rc = expand(e, span_of(copy, open + size + tail), depth + 1, why);
        from = to + 1;
    }
    return rc;
}

int pattern_set_parse(struct span text, struct pattern_set *out, struct failure *why)
{
    *out = (struct pattern_set){0};
    struct expansion e = {.set = out};
    int rc = expand(&e, text, 0, why);
    if (rc != 0)
        pattern_set_fini(out);
    return rc;
}

void pattern_set_fini(struct pattern_set *s)
{
    for (size_t i = 0; i < s->count; i++)
        free((void *)(uintptr_t)s->pattern[i].data);
    free(s->pattern);
    free(s->has_slash);
    *s = (struct pattern_set){0};
}

static struct span last_segment(struct span path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    return slash != NULL ? span_slice(path, (size_t)(slash - path.data) + 1, path.size) : path;
}

bool pattern_set_matches(const struct pattern_set *s, struct span path)
{
    struct span name = last_segment(path);
    for (size_t i = 0; i < s->count; i++)
        if (pattern_matches(s->pattern[i], s->has_slash[i] ? path : name))
            return true;
    return false;
}
