// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/match.h"

#include <ctype.h>

#include "workers/tools/text.h"

// Does `old` stand at `at`? Steps through both; a CR before a LF counts as part of the line end on
// either side.
static bool matches_at(struct span text, size_t at, struct span old, struct match *out)
{
    size_t t = at, o = 0;
    *out = (struct match){.from = at};
    while (o < old.size) {
        if (old.data[o] == '\r' && o + 1 < old.size && old.data[o + 1] == '\n')
            o++;
        if (old.data[o] == '\n' && t + 1 < text.size && text.data[t] == '\r' &&
            text.data[t + 1] == '\n') {
            out->crlf = true;
            t++;
        }
        if (t >= text.size || text.data[t] != old.data[o])
            return false;
        t++;
        o++;
    }
    out->to = t;
    return true;
}

// The bytes of `old` up to its first line end: what can be searched for as it is.
static struct span first_piece(struct span old)
{
    const char *end = memchr(old.data, '\n', old.size);
    size_t size = end != NULL ? (size_t)(end - old.data) : old.size;
    if (end != NULL && size > 0 && old.data[size - 1] == '\r')
        size--;
    return span_slice(old, 0, size);
}

bool match_next(struct span text, struct span old, size_t from, struct match *out)
{
    struct span piece = first_piece(old);
    bool begins_with_line_end = piece.size == 0;
    if (begins_with_line_end)
        piece = SPAN_LITERAL("\n");
    for (size_t at = from; (at = text_find(text, piece, at)) < text.size; at++) {
        size_t start = at;
        if (begins_with_line_end && at > from && text.data[at - 1] == '\r')
            start--;
        if (matches_at(text, start, old, out))
            return true;
    }
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_space(struct span s, size_t at)
{
    while (at < s.size && is_space(s.data[at]))
        at++;
    return at;
}

static char lower(char c)
{
    return (char)tolower((unsigned char)c);
}

// Equal but for white space (and case, if asked)?
static bool loosely_at(struct span text, size_t at, struct span old, bool any_case)
{
    size_t t = at, o = skip_space(old, 0);
    while (o < old.size) {
        size_t next_o = skip_space(old, o), next_t = skip_space(text, t);
        if (next_o == old.size)
            return true;
        if ((next_o > o) != (next_t > t) && any_case)
            return false; // for case, white space must still separate the same words
        if (next_t == text.size)
            return false;
        char a = text.data[next_t], b = old.data[next_o];
        if (a != b && !(any_case && lower(a) == lower(b)))
            return false;
        t = next_t + 1;
        o = next_o + 1;
    }
    return true;
}

enum { LOOSE_TEXT_MAX = 4 << 20, LOOSE_OLD_MAX = 64 << 10, LOOSE_TRIES_MAX = 20000 };

static size_t find_loosely(struct span text, struct span old, bool any_case)
{
    size_t first = skip_space(old, 0);
    if (first == old.size || text.size > LOOSE_TEXT_MAX || old.size > LOOSE_OLD_MAX)
        return text.size;
    char c = old.data[first];
    size_t tries = 0;
    for (size_t at = 0; at < text.size && tries < LOOSE_TRIES_MAX; at++) {
        if (text.data[at] != c && !(any_case && lower(text.data[at]) == lower(c)))
            continue;
        tries++;
        if (loosely_at(text, at, old, any_case))
            return at;
    }
    return text.size;
}

// "12<TAB>text": Read's numbers were copied along.
static bool has_line_number(struct span old)
{
    size_t at = 0;
    while (at < old.size && isdigit((unsigned char)old.data[at]))
        at++;
    return at > 0 && at < old.size && old.data[at] == '\t';
}

static size_t common_size(struct span text, size_t at, struct span old)
{
    size_t size = 0;
    while (size < old.size && at + size < text.size && text.data[at + size] == old.data[size])
        size++;
    return size;
}

static void explain_by_first_line(struct span text, struct span old, struct buffer *out)
{
    struct span piece = first_piece(old);
    if (piece.size == 0 || piece.size == old.size)
        return;
    size_t at = text_find(text, piece, 0);
    if (at == text.size)
        return;
    size_t same = common_size(text, at, old);
    buffer_printf(out, "; its first line is found at line %zu, but line %zu differs",
                  text_line_of(text, at), text_line_of(text, at + same));
}

void match_explain_miss(struct span text, struct span old, struct buffer *out)
{
    if (has_line_number(old)) {
        buffer_append_string(out, "; leave out the line numbers and tabs that Read puts before "
                                  "each line");
        return;
    }
    size_t at = find_loosely(text, old, false);
    if (at < text.size) {
        buffer_printf(out, "; at line %zu it differs in white space only", text_line_of(text, at));
        return;
    }
    at = find_loosely(text, old, true);
    if (at < text.size) {
        buffer_printf(out, "; at line %zu it differs in upper and lower case only",
                      text_line_of(text, at));
        return;
    }
    explain_by_first_line(text, old, out);
}
