// SPDX-License-Identifier: Apache-2.0
// Two streams joined in memory, for tests: each hands over at most a piece a turn.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/net/transport.h"

enum { PIPE_BYTES = 64 * 1024 }; // plays the kernel's socket buffer

struct end {
    struct end *other; // borrowed; NULL once it is closed
    struct stream *stream;
    struct buffer arriving;
    bool ended;     // nothing more will arrive
    size_t piece;   // bytes a turn
    size_t allowed; // of those, left in this turn
    int watched;
    struct timer turn;
};

static bool is_readable(const struct end *e)
{
    return buffer_size(&e->arriving) > 0 || e->ended;
}

static bool is_writable(const struct end *e)
{
    return e->other == NULL || buffer_size(&e->other->arriving) < PIPE_BYTES;
}

static void wake(struct end *e)
{
    bool due = ((e->watched & WATCH_READ) != 0 && is_readable(e)) ||
               ((e->watched & WATCH_WRITE) != 0 && is_writable(e));
    if (due && !timer_is_pending(&e->turn))
        timer_start(&e->turn, 0);
}

static void on_turn(struct timer *timer)
{
    struct end *e = CONTAINER_OF(timer, struct end, turn);
    int events =
        e->watched & ((is_readable(e) ? WATCH_READ : 0) | (is_writable(e) ? WATCH_WRITE : 0));
    e->allowed = e->piece;
    if (events != 0)
        stream_ready(e->stream, events);
}

static void pair_watch(void *state, struct stream *s, int events)
{
    struct end *e = state;
    e->stream = s;
    e->watched = events;
    wake(e);
}

static ssize_t pair_read(void *state, int fd, char *to, size_t size, struct failure *why)
{
    struct end *e = state;
    (void)fd;
    (void)why;
    struct span bytes = buffer_span(&e->arriving);
    if (bytes.size == 0)
        return e->ended ? 0 : TRANSPORT_WANTS_READ;
    size_t n = bytes.size < size ? bytes.size : size;
    if (n > e->allowed)
        n = e->allowed;
    if (n == 0)
        return TRANSPORT_WANTS_READ;
    memcpy(to, bytes.data, n);
    buffer_consume(&e->arriving, n);
    e->allowed -= n;
    if (e->other != NULL)
        wake(e->other);
    return (ssize_t)n;
}

static ssize_t pair_write(void *state, int fd, const char *from, size_t size, struct failure *why)
{
    struct end *e = state;
    (void)fd;
    if (e->other == NULL) {
        failure_set(why, FAULT_CLOSED, "write: the other end is closed");
        return TRANSPORT_FAILED;
    }
    size_t room = PIPE_BYTES - buffer_size(&e->other->arriving);
    size_t n = size < room ? size : room;
    if (n == 0)
        return TRANSPORT_WANTS_WRITE;
    if (buffer_append(&e->other->arriving, span_of(from, n)) != 0)
        return TRANSPORT_WANTS_WRITE;
    wake(e->other);
    return (ssize_t)n;
}

static void pair_end(void *state, int fd)
{
    struct end *e = state;
    (void)fd;
    if (e->other == NULL)
        return;
    e->other->ended = true;
    wake(e->other);
}

static void pair_close(void *state)
{
    struct end *e = state;
    pair_end(e, -1);
    if (e->other != NULL)
        e->other->other = NULL;
    timer_cancel(&e->turn);
    buffer_fini(&e->arriving);
    free(e);
}

static const struct transport_ops pair_transport = {
    .read = pair_read,
    .write = pair_write,
    .end = pair_end,
    .watch = pair_watch,
    .close = pair_close,
};

static struct end *end_new(struct loop *loop, size_t piece)
{
    struct end *e = memory_new(sizeof *e);
    *e = (struct end){.piece = piece};
    buffer_init(&e->arriving, PIPE_BYTES);
    timer_init(&e->turn, loop, on_turn);
    return e;
}

void stream_pair(struct loop *loop, size_t piece, const struct stream_limits *limits,
                 struct stream **a, struct stream **b)
{
    const struct address nowhere = {.storage.ss_family = AF_UNIX, .inherited_fd = -1};
    struct end *end_a = end_new(loop, piece), *end_b = end_new(loop, piece);
    end_a->other = end_b;
    end_b->other = end_a;
    *a = stream_new(loop, -1, &nowhere, limits, &pair_transport, end_a, 0);
    *b = stream_new(loop, -1, &nowhere, limits, &pair_transport, end_b, 0);
}
