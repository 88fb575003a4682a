// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workers/tools/grep.h"

enum { BINARY_PROBE = 8 << 10 };

// Reads until the buffer holds GREP_FILE_BYTES or the file ends. 1: more may come, 0: the end.
static int fill(struct grep *g, int fd, size_t expected)
{
    for (;;) {
        char *room;
        size_t have = buffer_size(&g->file);
        // One byte more than expected, so that the end of the file shows without a second growth.
        size_t want = expected > have ? expected - have + 1 : 64 << 10;
        if (want > GREP_FILE_BYTES - have)
            want = GREP_FILE_BYTES - have;
        if (want == 0)
            return 1;
        if (buffer_reserve(&g->file, want, &room) != 0)
            return -1;
        ssize_t n = read(fd, room, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -1 : 0;
        buffer_commit(&g->file, (size_t)n);
    }
}

static bool is_binary(struct span text)
{
    struct span probe = span_slice(text, 0, BINARY_PROBE);
    return memchr(probe.data, '\0', probe.size) != NULL;
}

static int search_text(struct grep *g, struct grep_sheet *s, struct failure *why)
{
    struct scan_hit hit;
    int rc;
    size_t from = 0;
    s->counted = s->put_to = 0;
    scan_begin(&g->scan, s->text);
    while ((rc = scan_next(&g->scan, from, &hit, why)) == 1) {
        if (g->mode == GREP_CONTENT)
            grep_put_hit(g, s, &hit);
        else
            s->matches++;
        if (g->mode == GREP_FILES)
            return 0;
        from = hit.to + 1;
    }
    if (g->mode == GREP_CONTENT)
        grep_put_rest(g, s);
    return rc;
}

// What of the buffer is searched now: all whole lines, all at the end of the file, and all where
// one line alone is longer than the buffer.
static size_t whole_lines(struct span text, bool is_end)
{
    const char *last = is_end || text.size == 0 ? NULL : memrchr(text.data, '\n', text.size);
    return last != NULL ? (size_t)(last - text.data) + 1 : text.size;
}

static int search_pieces(struct grep *g, int fd, size_t expected, struct grep_sheet *s,
                         struct failure *why)
{
    int rc = 0;
    for (bool first = true, more = true; rc == 0 && more; first = false) {
        int filled = fill(g, fd, expected);
        struct span text = buffer_span(&g->file);
        more = filled == 1;
        if (filled < 0) {
            g->unreadable++;
            return 0;
        }
        if (first && is_binary(text)) {
            g->binary++;
            return 0;
        }
        if (more && g->scan.multiline) {
            g->too_large++;
            return 0;
        }
        s->text = span_slice(text, 0, whole_lines(text, !more));
        rc = search_text(g, s, why);
        if (g->mode == GREP_FILES && s->matches > 0)
            break;
        buffer_consume(&g->file, s->text.size);
        if (rc == 0 && more)
            rc = search_time_check(&g->time, why);
    }
    return rc;
}

int grep_file(struct grep *g, int fd, const char *shown, struct failure *why)
{
    struct grep_sheet s = {.shown = shown, .line = 1};
    struct stat st;
    int rc = 0;
    buffer_clear(&g->file);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        g->files++;
        rc = search_pieces(g, fd, st.st_size > 0 ? (size_t)st.st_size : 0, &s, why);
    }
    close(fd);
    g->matches += s.matches;
    if (s.matches > 0) {
        g->files_matched++;
        grep_put_file(g, &s);
    }
    return rc;
}
