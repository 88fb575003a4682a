// SPDX-License-Identifier: Apache-2.0
// The window fills to the same size however the bytes arrive, and each place of it is judged with
// SCRUB_AHEAD bytes behind it, or the end of all. So cuts do not show.
#include "gateway/lib/scrub/scrub.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/scrub/inside.h"

enum {
    KEY_BYTES = 32 << 10,  // a private key has no more
    KEY_STRANGE_LINES = 6, // lines without a body that a key may have: its headers
    BODY_LEAST = 24,       // characters of the first line of a body
    BODY_REST = 16,        // and of the lines behind it
};

struct scrub {
    int (*emit)(void *owner, struct span bytes);
    void *owner;
    const struct filter *filter; // borrowed
    size_t start;                // emitted already: bytes before it are only looked at
    size_t size;
    size_t found;
    bool begun;
    size_t key_left;   // > 0: inside a private key
    bool key_has_body; // a line of it was seen
    unsigned key_strange;
    char window[SCRUB_WINDOW + SCRUB_SPARE];
};

struct scrub *scrub_new(int (*emit)(void *owner, struct span bytes), void *owner)
{
    struct scrub *s = memory_new(sizeof *s);
    s->emit = emit;
    s->owner = owner;
    s->filter = filter_get();
    return s;
}

void scrub_free(struct scrub *s)
{
    free(s);
}

size_t scrub_found(const struct scrub *s)
{
    return s->found;
}

static int give(struct scrub *s, struct span bytes)
{
    return s->emit != NULL ? s->emit(s->owner, bytes) : 0;
}

static int put(struct scrub *s, size_t to)
{
    int rc = to > s->start ? give(s, span_of(s->window + s->start, to - s->start)) : 0;
    s->start = to > s->start ? to : s->start;
    return rc;
}

static int put_mark(struct scrub *s, const struct scrub_match *m)
{
    char mark[64];
    size_t size = 0, label = strlen(m->label);
    int rc = m->from > s->start ? put(s, m->from) : 0;
    memcpy(mark, "[redacted:", 10);
    size = 10 + (label < 48 ? label : 48);
    memcpy(mark + 10, m->label, size - 10);
    mark[size++] = ']';
    s->found++;
    s->start = m->to;
    return rc == 0 ? give(s, span_of(mark, size)) : rc;
}

// --- private keys ---------------------------------------------------------------------------

static bool is_body(char c)
{
    return scrub_is_alnum(c) || c == '+' || c == '/' || c == '=';
}

static bool is_body_run(struct span run, bool first)
{
    bool digit = false, upper = false, small = false;
    for (size_t i = 0; i < run.size; i++) {
        digit = digit || (run.data[i] >= '0' && run.data[i] <= '9');
        upper = upper || (run.data[i] >= 'A' && run.data[i] <= 'Z');
        small = small || (run.data[i] >= 'a' && run.data[i] <= 'z');
    }
    if (!first)
        return run.size >= BODY_REST || (run.size >= 4 && run.data[run.size - 1] == '=');
    return run.size >= BODY_LEAST && digit && upper && small;
}

static void key_open(struct scrub *s)
{
    s->key_left = KEY_BYTES;
    s->key_has_body = false;
    s->key_strange = 0;
}

// One run of body characters, or what stands between two, from s->start on.
static int key_step(struct scrub *s)
{
    size_t at = s->start, end = at;
    while (end < s->size && end - at < SCRUB_AHEAD / 2 && is_body(s->window[end]))
        end++;
    struct span run = span_of(s->window + at, end - at);
    if (run.size > 0 && is_body_run(run, !s->key_has_body)) {
        s->key_has_body = true;
        s->key_strange = 0;
        return put_mark(s, &(struct scrub_match){at, end, "private-key", false});
    }
    if (run.size == 0) {
        end++;
        if (s->window[at] == '\n' && ++s->key_strange > KEY_STRANGE_LINES)
            s->key_left = 0;
        if (s->size - at >= 5 && memcmp(s->window + at, "-----", 5) == 0)
            s->key_left = 0;
    }
    return put(s, end);
}

static int key_run(struct scrub *s, size_t to)
{
    int rc = 0;
    while (rc == 0 && s->key_left > 0 && s->start < to) {
        size_t before = s->start;
        rc = key_step(s);
        size_t used = s->start - before;
        s->key_left = used < s->key_left ? s->key_left - used : 0;
    }
    return rc;
}

// Where a text begins inside a body, as a Read with an offset does: whether that body is a private
// key's, by its end, or where that is cut off too, by its lines of one length.
static bool begins_inside_key(const struct scrub *s)
{
    size_t most = s->size < SCRUB_AHEAD ? s->size : SCRUB_AHEAD, at = 0, lines = 0, width = 0;
    while (at < most) {
        size_t from = at, end;
        while (from < most && s->window[from] >= '0' && s->window[from] <= '9')
            from++;
        from = from < most && s->window[from] == '\t' ? from + 1 : at; // Read's line numbers
        for (end = from; end < most && is_body(s->window[end]);)
            end++;
        struct span line = span_of(s->window + from, end - from);
        if (line.size >= 5 || end >= most || s->window[end] != '-') {
            if (line.size == 0 || (lines == 0 && !is_body_run(line, true)) ||
                (lines > 0 && line.size > width))
                break;
            width = lines == 0 ? line.size : width;
            lines++;
            at = end + (end < most && s->window[end] == '\r');
            if (at < most && s->window[at] != '\n')
                return false;
            at++;
            continue;
        }
        struct span rest = span_of(s->window + end, most - end < 64 ? most - end : 64);
        return lines > 0 && span_starts_with(rest, SPAN_LITERAL("-----END ")) &&
               memmem(rest.data, rest.size, "PRIVATE KEY", 11) != NULL;
    }
    return lines >= 3 && (width == 64 || width == 70);
}

// --- the pass -------------------------------------------------------------------------------

static int pass(struct scrub *s, size_t to)
{
    struct span window = span_of(s->window, s->size);
    struct scrub_match m;
    int rc = 0;
    if (!s->begun && begins_inside_key(s))
        key_open(s);
    s->begun = true;
    while (rc == 0 && s->start < to) {
        if (s->key_left > 0) {
            rc = key_run(s, to);
        } else if (!filter_next(s->filter, window, s->start, to, &m)) {
            rc = put(s, to);
        } else if (m.opens_key) {
            rc = put(s, m.to);
            key_open(s);
        } else {
            rc = put_mark(s, &m);
        }
    }
    return rc;
}

static int turn_window(struct scrub *s)
{
    int rc = pass(s, s->size - SCRUB_AHEAD);
    size_t from = s->start > SCRUB_BEHIND ? s->start - SCRUB_BEHIND : 0;
    memmove(s->window, s->window + from, s->size - from);
    s->size -= from;
    s->start -= from;
    return rc;
}

int scrub_push(struct scrub *s, struct span bytes)
{
    int rc = 0;
    while (rc == 0 && bytes.size > 0) {
        size_t room = SCRUB_WINDOW - s->size;
        size_t size = bytes.size < room ? bytes.size : room;
        memcpy(s->window + s->size, bytes.data, size);
        s->size += size;
        bytes = span_slice(bytes, size, bytes.size);
        if (s->size == SCRUB_WINDOW)
            rc = turn_window(s);
    }
    return rc;
}

int scrub_finish(struct scrub *s)
{
    return pass(s, s->size);
}

static int append(void *owner, struct span bytes)
{
    return buffer_append(owner, bytes);
}

int scrub_text(struct span text, struct buffer *out, size_t *found)
{
    struct scrub *s = scrub_new(append, out);
    int rc = scrub_push(s, text);
    if (rc == 0)
        rc = scrub_finish(s);
    if (found != NULL)
        *found = s->found;
    scrub_free(s);
    return rc;
}

bool scrub_has_mark(struct span text)
{
    return memmem(text.data, text.size, "[redacted:", 10) != NULL;
}
