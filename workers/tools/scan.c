// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/scan.h"

#include "workers/tools/text.h"

enum {
    WINDOW_BYTES = 256 << 10, // one run of the pattern over many lines
    LINES_PER_CHECK = 4096,
};

size_t scan_line_end(struct span text, size_t at)
{
    const char *end = at < text.size ? memchr(text.data + at, '\n', text.size - at) : NULL;
    return end != NULL ? (size_t)(end - text.data) : text.size;
}

size_t scan_line_start(struct span text, size_t at)
{
    const char *before = at > 0 ? memrchr(text.data, '\n', at) : NULL;
    return before != NULL ? (size_t)(before - text.data) + 1 : 0;
}

void scan_begin(struct scan *s, struct span text)
{
    s->text = text;
    s->has_cr = text.size > 0 && memchr(text.data, '\r', text.size) != NULL;
}

static struct scan_hit hit_at(const struct scan *s, size_t at)
{
    return (struct scan_hit){scan_line_start(s->text, at), scan_line_end(s->text, at), at};
}

// Does the pattern match in the hit's line? Its CR is no part of it.
static bool line_matches(struct scan *s, struct scan_hit *hit)
{
    size_t to = hit->to, end;
    if (to > hit->from && s->text.data[to - 1] == '\r')
        to--;
    switch (regex_find(s->re, span_slice(s->text, hit->from, to), 0, &hit->match, &end)) {
    case REGEX_YES:
        hit->match += hit->from;
        return true;
    case REGEX_TOO_COSTLY:
        s->costly++;
        return false;
    case REGEX_NO:
        break;
    }
    return false;
}

static int next_with_literal(struct scan *s, size_t from, struct scan_hit *hit, struct failure *why)
{
    const struct regex_facts *facts = regex_facts(s->re);
    struct span literal = span_of(facts->literal, facts->literal_size);
    int rc = 0;
    for (size_t tries = 1; rc == 0 && from < s->text.size; tries++) {
        size_t at = text_find(s->text, literal, from);
        if (at == s->text.size)
            return 0;
        size_t costly = s->costly;
        *hit = hit_at(s, at);
        if (facts->is_literal || line_matches(s, hit))
            return 1;
        from = hit->to + 1;
        if (tries % LINES_PER_CHECK == 0 || s->costly != costly)
            rc = s->go_on(s->ctx, why);
    }
    return rc;
}

// Lines that begin before `limit`.
static int next_by_lines(struct scan *s, size_t from, size_t limit, struct scan_hit *hit,
                         struct failure *why)
{
    int rc = 0;
    for (size_t tries = 1; rc == 0 && from < limit; tries++) {
        size_t costly = s->costly;
        *hit = (struct scan_hit){.from = from, .to = scan_line_end(s->text, from)};
        if (line_matches(s, hit))
            return 1;
        from = hit->to + 1;
        if (tries % LINES_PER_CHECK == 0 || s->costly != costly)
            rc = s->go_on(s->ctx, why);
    }
    return rc;
}

// The pattern cannot look beyond a line, so it may run over many at once. Where that is too costly,
// or finds the empty string behind the last line, they are looked at one by one.
static int next_in_windows(struct scan *s, size_t from, struct scan_hit *hit, struct failure *why)
{
    size_t size = s->text.size;
    int rc = 0;
    while (rc == 0 && from < size) {
        size_t to = size - from > WINDOW_BYTES ? scan_line_end(s->text, from + WINDOW_BYTES) : size;
        size_t start, end;
        enum regex_found found = regex_find(s->re, span_slice(s->text, from, to), 0, &start, &end);
        if (found == REGEX_YES && from + start < to) {
            *hit = hit_at(s, from + start);
            return 1;
        }
        if (found != REGEX_NO)
            rc = next_by_lines(s, from, to < size ? to + 1 : size, hit, why);
        if (rc == 0)
            rc = s->go_on(s->ctx, why);
        from = to + 1;
    }
    return rc;
}

static int next_across_lines(struct scan *s, size_t from, struct scan_hit *hit)
{
    size_t start, end;
    if (from >= s->text.size)
        return 0;
    switch (regex_find(s->re, s->text, from, &start, &end)) {
    case REGEX_YES:
        break;
    case REGEX_TOO_COSTLY:
        s->costly++;
        return 0;
    case REGEX_NO:
        return 0;
    }
    if (start >= s->text.size) // the empty string behind the last line
        return 0;
    *hit = hit_at(s, start);
    if (end > start)
        hit->to = scan_line_end(s->text, end - 1);
    return 1;
}

int scan_next(struct scan *s, size_t from, struct scan_hit *hit, struct failure *why)
{
    const struct regex_facts *facts = regex_facts(s->re);
    if (s->multiline)
        return next_across_lines(s, from, hit);
    if (facts->literal_size > 0)
        return next_with_literal(s, from, hit, why);
    if (facts->in_line && !s->has_cr && regex_is_fast(s->re))
        return next_in_windows(s, from, hit, why);
    return next_by_lines(s, from, s->text.size, hit, why);
}
