// SPDX-License-Identifier: Apache-2.0
// E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), in linear space: find the
// middle of a shortest path, then both halves. A half that would cost too much is taken as
// replaced.
#include "workers/snapshots/line_diff.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"

enum { CONTEXT = 3, COST_MAX = 1500 };

struct line {
    struct span text;
    uint64_t hash;
};

struct side {
    struct line *lines; // owned
    size_t count;
    bool *changed;    // owned; one for each line
    bool open_ending; // the last line has no line end
};

struct differ {
    struct side a, b;
    long *forward, *backward; // furthest x on each diagonal; owned
    long middle;              // index of diagonal 0
};

static uint64_t hash_line(struct span s)
{
    uint64_t h = 0xcbf29ce484222325U;
    for (size_t i = 0; i < s.size; i++)
        h = (h ^ (unsigned char)s.data[i]) * 0x100000001b3U;
    return h;
}

static int split(struct span text, struct side *out)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == '\n';
    out->open_ending = text.size > 0 && text.data[text.size - 1] != '\n';
    count += out->open_ending;
    if (count > LINE_DIFF_LINES_MAX)
        return FAULT_TOO_LARGE;
    out->lines = memory_new_array(count, sizeof *out->lines);
    out->changed = memory_new_array(count, sizeof *out->changed);
    while (out->count < count) {
        struct span line = span_split(&text, '\n');
        out->lines[out->count++] = (struct line){line, hash_line(line)};
    }
    return 0;
}

static bool same(const struct differ *d, long a, long b)
{
    const struct line *x = &d->a.lines[a], *y = &d->b.lines[b];
    bool last_differ = (a + 1 == (long)d->a.count && d->a.open_ending) !=
                       (b + 1 == (long)d->b.count && d->b.open_ending);
    return !last_differ && x->hash == y->hash && span_equals(x->text, y->text);
}

struct area {
    long a, a_end, b, b_end;
};

static void mark(bool *changed, long from, long to)
{
    for (long i = from; i < to; i++)
        changed[i] = true;
}

// One step of the search from the beginning; true where it meets the one from the end.
static bool step_forward(struct differ *d, const struct area *r, long cost, long delta, long *x_out,
                         long *y_out)
{
    long *v = d->forward + d->middle, *w = d->backward + d->middle;
    for (long k = -cost; k <= cost; k += 2) {
        long x = k == -cost || (k != cost && v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1;
        long y = x - k;
        while (x < r->a_end - r->a && y < r->b_end - r->b && x >= 0 && y >= 0 &&
               same(d, r->a + x, r->b + y)) {
            x++;
            y++;
        }
        v[k] = x;
        long other = delta - k;
        if ((delta & 1) != 0 && other >= -(cost - 1) && other <= cost - 1 &&
            x + w[other] >= r->a_end - r->a) {
            *x_out = x;
            *y_out = y;
            return true;
        }
    }
    return false;
}

static bool step_backward(struct differ *d, const struct area *r, long cost, long delta,
                          long *x_out, long *y_out)
{
    long *v = d->forward + d->middle, *w = d->backward + d->middle;
    long n = r->a_end - r->a, m = r->b_end - r->b;
    for (long k = -cost; k <= cost; k += 2) {
        long x = k == -cost || (k != cost && w[k - 1] < w[k + 1]) ? w[k + 1] : w[k - 1] + 1;
        long y = x - k;
        while (x < n && y < m && x >= 0 && y >= 0 && same(d, r->a_end - 1 - x, r->b_end - 1 - y)) {
            x++;
            y++;
        }
        w[k] = x;
        long other = delta - k;
        if ((delta & 1) == 0 && other >= -cost && other <= cost && x + v[other] >= n) {
            *x_out = n - x;
            *y_out = m - y;
            return true;
        }
    }
    return false;
}

// A point that a shortest path goes through. False where it costs too much to find.
static bool find_middle(struct differ *d, const struct area *r, long *x, long *y)
{
    long n = r->a_end - r->a, m = r->b_end - r->b;
    long limit = (n + m + 1) / 2;
    d->forward[d->middle + 1] = d->backward[d->middle + 1] = 0;
    for (long cost = 0; cost <= limit && cost <= COST_MAX; cost++)
        if (step_forward(d, r, cost, n - m, x, y) || step_backward(d, r, cost, n - m, x, y))
            return *x >= 0 && *y >= 0 && *x <= n && *y <= m;
    return false;
}

static void compare(struct differ *d, struct area r)
{
    for (;;) {
        while (r.a < r.a_end && r.b < r.b_end && same(d, r.a, r.b)) {
            r.a++;
            r.b++;
        }
        while (r.a < r.a_end && r.b < r.b_end && same(d, r.a_end - 1, r.b_end - 1)) {
            r.a_end--;
            r.b_end--;
        }
        long x, y;
        bool is_plain = r.a == r.a_end || r.b == r.b_end;
        if (is_plain || !find_middle(d, &r, &x, &y) || (x == 0 && y == 0) ||
            (x == r.a_end - r.a && y == r.b_end - r.b)) {
            mark(d->a.changed, r.a, r.a_end);
            mark(d->b.changed, r.b, r.b_end);
            return;
        }
        compare(d, (struct area){r.a, r.a + x, r.b, r.b + y});
        r.a += x;
        r.b += y;
    }
}

// --- hunks ---------------------------------------------------------------------------------------

static int put_line(const struct side *s, size_t at, char sign, struct buffer *out)
{
    int fault = buffer_append_char(out, sign);
    if (fault == 0)
        fault = buffer_append(out, s->lines[at].text);
    if (fault == 0)
        fault = buffer_append_char(out, '\n');
    if (fault == 0 && at + 1 == s->count && s->open_ending)
        fault = buffer_append_string(out, "\\ No newline at end of file\n");
    return fault;
}

struct cursor {
    size_t a, b;
};

static bool is_changed(const struct differ *d, struct cursor c)
{
    return (c.a < d->a.count && d->a.changed[c.a]) || (c.b < d->b.count && d->b.changed[c.b]);
}

static bool is_end(const struct differ *d, struct cursor c)
{
    return c.a >= d->a.count && c.b >= d->b.count;
}

static struct cursor pass_changed(const struct differ *d, struct cursor c)
{
    while (c.a < d->a.count && d->a.changed[c.a])
        c.a++;
    while (c.b < d->b.count && d->b.changed[c.b])
        c.b++;
    return c;
}

// From the first change on: where the hunk ends, its last lines of context included.
static struct cursor hunk_end(const struct differ *d, struct cursor c)
{
    for (;;) {
        c = pass_changed(d, c);
        struct cursor ahead = c;
        size_t equal = 0;
        while (!is_end(d, ahead) && !is_changed(d, ahead) && equal < 2 * CONTEXT + 1) {
            ahead.a++;
            ahead.b++;
            equal++;
        }
        if (is_end(d, ahead) || equal == 2 * CONTEXT + 1) {
            size_t shown = equal < CONTEXT ? equal : CONTEXT;
            return (struct cursor){c.a + shown, c.b + shown};
        }
        c = ahead;
    }
}

static int put_hunk(const struct differ *d, struct cursor from, struct cursor to,
                    struct buffer *out)
{
    size_t a_count = to.a - from.a, b_count = to.b - from.b;
    int fault = buffer_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from.a + (a_count > 0), a_count,
                              from.b + (b_count > 0), b_count);
    struct cursor c = from;
    while (fault == 0 && (c.a < to.a || c.b < to.b)) {
        if (c.a < to.a && d->a.changed[c.a]) {
            fault = put_line(&d->a, c.a++, '-', out);
        } else if (c.b < to.b && d->b.changed[c.b]) {
            fault = put_line(&d->b, c.b++, '+', out);
        } else {
            fault = put_line(&d->a, c.a++, ' ', out);
            c.b++;
        }
    }
    return fault;
}

static int put_hunks(const struct differ *d, struct buffer *out)
{
    struct cursor c = {0, 0};
    int fault = 0;
    while (fault == 0) {
        while (!is_end(d, c) && !is_changed(d, c)) {
            c.a++;
            c.b++;
        }
        if (is_end(d, c))
            return 0;
        size_t before = c.a < CONTEXT ? c.a : CONTEXT;
        struct cursor from = {c.a - before, c.b - before}, to = hunk_end(d, c);
        fault = put_hunk(d, from, to, out);
        c = to;
    }
    return fault;
}

static void make_room(struct differ *d)
{
    size_t most = d->a.count + d->b.count + 3;
    size_t needed = most < COST_MAX + 2 ? most : COST_MAX + 2;
    d->middle = (long)needed;
    d->forward = memory_new_array(2 * needed + 1, sizeof *d->forward);
    d->backward = memory_new_array(2 * needed + 1, sizeof *d->backward);
}

int line_diff(struct span before, struct span after, struct buffer *out)
{
    struct differ d = {0};
    int fault = split(before, &d.a);
    if (fault == 0)
        fault = split(after, &d.b);
    if (fault == 0) {
        make_room(&d);
        compare(&d, (struct area){0, (long)d.a.count, 0, (long)d.b.count});
        fault = put_hunks(&d, out);
    }
    free(d.a.lines);
    free(d.a.changed);
    free(d.b.lines);
    free(d.b.changed);
    free(d.forward);
    free(d.backward);
    return fault;
}
