// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/grep.h"
#include "workers/tools/text.h"

enum { SHOWN_BEFORE_MATCH = 100 }; // of a long line whose match stands far behind

static bool has_room(struct grep *g, size_t size)
{
    if (g->lines_put >= g->head_limit || buffer_size(g->out) + size > SEARCH_BUDGET)
        g->full = true;
    return !g->full;
}

// A line of any length within GREP_LINE_SHOWN; of a longer one what stands around the match.
static void put_text(struct grep *g, struct span line, size_t match)
{
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    if (line.size <= GREP_LINE_SHOWN) {
        buffer_append(g->out, line);
        return;
    }
    size_t from = match > GREP_LINE_SHOWN - SHOWN_BEFORE_MATCH ? match - SHOWN_BEFORE_MATCH : 0;
    while (from > 0 && from < line.size && ((unsigned char)line.data[from] & 0xc0) == 0x80)
        from++;
    struct span part = span_slice(line, from, from + GREP_LINE_SHOWN);
    part.size = text_whole_chars(part);
    buffer_append_string(g->out, from > 0 ? "…" : "");
    buffer_append(g->out, part);
    buffer_printf(g->out, "%s [line cut: it has %zu bytes]",
                  from + part.size < line.size ? "…" : "", line.size);
}

static void count_to(struct grep_sheet *s, size_t at)
{
    const char *from = s->text.data + s->counted, *end = s->text.data + at;
    while (from < end && (from = memchr(from, '\n', (size_t)(end - from))) != NULL) {
        from++;
        s->line++;
    }
    s->counted = at;
}

// Puts out whole lines from `from` to `to`, those of the hit with ':', context with '-'.
static void put_lines(struct grep *g, struct grep_sheet *s, size_t from, size_t to,
                      const struct scan_hit *hit)
{
    size_t name = strlen(s->shown);
    count_to(s, from);
    while (from < to) {
        size_t end = scan_line_end(s->text, from);
        bool in_hit = hit != NULL && from >= hit->from && from <= hit->to;
        if (!has_room(g, name + GREP_LINE_SHOWN + 80))
            return;
        char mark = in_hit ? ':' : '-';
        buffer_printf(g->out, "%s%c%zu%c", s->shown, mark, s->line, mark);
        size_t match = in_hit && hit->match > from ? hit->match - from : 0;
        put_text(g, span_slice(s->text, from, end), match);
        buffer_append_char(g->out, '\n');
        g->lines_put++;
        from = end + 1;
        if (end < s->text.size) {
            s->line++;
            s->counted = from;
        }
    }
    s->put_to = from < s->text.size ? from : s->text.size;
}

// Where `lines` lines before the line at `at` begin, but not before `limit`.
static size_t lines_before(struct span text, size_t at, size_t lines, size_t limit)
{
    while (lines-- > 0 && at > limit)
        at = scan_line_start(text, at - 1);
    return at > limit ? at : limit;
}

static void put_after(struct grep *g, struct grep_sheet *s, size_t limit)
{
    size_t to = s->put_to;
    while (s->after_left > 0 && to < limit) {
        to = scan_line_end(s->text, to) + 1;
        s->after_left--;
    }
    if (to > s->put_to)
        put_lines(g, s, s->put_to, to < limit ? to : limit, NULL);
}

void grep_put_hit(struct grep *g, struct grep_sheet *s, const struct scan_hit *hit)
{
    s->matches++;
    if (g->full)
        return;
    put_after(g, s, hit->from);
    size_t from = lines_before(s->text, hit->from, g->before, s->put_to);
    bool gap = from > s->put_to || s->matches == 1;
    if (gap && g->separate && g->before + g->after > 0 && has_room(g, 3))
        buffer_append_string(g->out, "--\n");
    put_lines(g, s, from, hit->to < s->text.size ? hit->to + 1 : hit->to, hit);
    if (hit->from == hit->to && hit->from == s->text.size)
        return;
    s->after_left = g->after;
    g->separate = true;
}

void grep_put_rest(struct grep *g, struct grep_sheet *s)
{
    if (!g->full)
        put_after(g, s, s->text.size);
    count_to(s, s->text.size);
}

void grep_put_file(struct grep *g, const struct grep_sheet *s)
{
    if (g->mode == GREP_CONTENT || !has_room(g, strlen(s->shown) + 32))
        return;
    if (g->mode == GREP_COUNT)
        buffer_printf(g->out, "%s:%zu\n", s->shown, s->matches);
    else
        buffer_printf(g->out, "%s\n", s->shown);
    g->lines_put++;
}

static void note_count(struct grep *g, size_t count, const char *one, const char *many)
{
    if (count > 0)
        buffer_printf(g->out, "[%zu %s]\n", count, count == 1 ? one : many);
}

void grep_put_notes(struct grep *g, const struct walk_report *report)
{
    if (g->files_matched == 0)
        buffer_printf(g->out, "[no matches in %zu files]\n", g->files);
    else if (g->full)
        buffer_printf(
            g->out,
            "[cut after %zu lines; in all %zu matches in %zu files. Narrow the search, or "
            "raise head_limit]\n",
            g->lines_put, g->matches, g->files_matched);
    note_count(g, g->binary, "binary file was skipped", "binary files were skipped");
    note_count(g, g->too_large, "file is too large for multiline",
               "files are too large for multiline");
    note_count(g, g->unreadable, "file could not be read", "files could not be read");
    note_count(g, g->scan.costly, "line was given up: the pattern takes too long on it",
               "lines were given up: the pattern takes too long on them");
    search_note_report(report, g->root, g->out);
    search_note_time(&g->time, g->out);
}
