// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/net/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/net/chunk.h"
#include "gateway/lib/net/transport.h"

enum { READ_SIZE = 16 * 1024, READS_PER_TURN = 4 };

enum stream_state {
    STREAM_CONNECTING,  // the kernel has not said whether the peer answers
    STREAM_HANDSHAKING, // the transport below speaks for itself
    STREAM_OPEN,        // bytes pass; either side may have ended
    STREAM_FAILED,      // `closed` is due or was told; nothing passes
    STREAM_CLOSED,      // by the owner; buried
};

struct stream {
    struct loop *loop;
    const struct transport_ops *transport;
    void *transport_state; // owned
    struct watch *watch;   // owned; NULL without an fd
    int fd;                // owned
    enum stream_state state;
    bool paused, read_over, read_end_told, choked;
    bool end_wanted, end_sent, flush_untold;
    bool read_wants_write, write_wants_read; // TLS may need the other direction
    const struct stream_ops *ops;
    void *owner; // borrowed
    struct stream_limits limits;
    struct buffer in, out;
    uint64_t written;
    struct task flush;
    struct task deliver;
    struct timer deadline;
    struct failure *why; // owned; of STREAM_FAILED
    struct address peer;
};

static void update_watch(struct stream *s)
{
    bool reading = !s->paused && !s->read_over && buffer_size(&s->in) < s->limits.read_bytes;
    int events = 0;
    if (s->state == STREAM_CONNECTING)
        events = WATCH_WRITE;
    else if (s->state == STREAM_HANDSHAKING)
        events = s->read_wants_write ? WATCH_WRITE : WATCH_READ;
    else if (s->state == STREAM_OPEN) {
        if (reading)
            events |= s->read_wants_write ? WATCH_WRITE : WATCH_READ;
        if (buffer_size(&s->out) > 0 && !task_is_pending(&s->flush))
            events |= s->write_wants_read ? WATCH_READ : WATCH_WRITE;
    }
    if (s->transport->watch != NULL)
        s->transport->watch(s->transport_state, s, events);
    else if (s->watch != NULL)
        watch_set(s->watch, events);
}

static void shut(struct stream *s)
{
    watch_free(s->watch);
    s->watch = NULL;
    task_cancel(&s->flush);
    task_cancel(&s->deliver);
    timer_cancel(&s->deadline);
    if (s->transport->close != NULL)
        s->transport->close(s->transport_state);
    s->transport = &socket_transport;
    s->transport_state = NULL;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void stream_free(void *object)
{
    struct stream *s = object;
    chunk_take_back(&s->in);
    chunk_take_back(&s->out);
    free(s->why);
    free(s);
}

void stream_close(struct stream *s)
{
    if (s == NULL || s->state == STREAM_CLOSED)
        return;
    s->state = STREAM_CLOSED;
    shut(s);
    loop_bury(s->loop, s, stream_free);
}

// From the loop: tells `closed` and buries the stream.
static void fail_now(struct stream *s, const struct failure *why)
{
    if (s->state == STREAM_CLOSED)
        return;
    s->state = STREAM_FAILED;
    if (s->ops != NULL && s->ops->closed != NULL)
        s->ops->closed(s->owner, why);
    stream_close(s);
}

void stream_fail_later(struct stream *s, const struct failure *why)
{
    if (s->state == STREAM_CLOSED || s->state == STREAM_FAILED)
        return;
    s->state = STREAM_FAILED;
    s->why = memory_new(sizeof *s->why);
    *s->why = *why;
    loop_defer(s->loop, &s->deliver);
}

static void hand_out(struct stream *s)
{
    if (buffer_size(&s->in) > 0 && !s->paused && s->ops != NULL)
        s->ops->readable(s->owner, &s->in);
    if (s->in.data != NULL && buffer_size(&s->in) == 0)
        chunk_take_back(&s->in);
}

static void tell_read_end(struct stream *s)
{
    if (!s->read_over || s->read_end_told || s->paused || s->state != STREAM_OPEN)
        return;
    s->read_end_told = true;
    if (s->ops != NULL && s->ops->read_ended != NULL)
        s->ops->read_ended(s->owner);
}

// Reads once. True where there may be more that the fd will not announce, or at once.
static bool read_once(struct stream *s)
{
    struct failure why;
    char *room;
    size_t content = buffer_size(&s->in);
    size_t size = s->limits.read_bytes > content ? s->limits.read_bytes - content : 0;
    if (size > READ_SIZE)
        size = READ_SIZE;
    chunk_lend(&s->in);
    // What the owner left is small in the common case; moving it beats growing.
    if (size == 0 || buffer_reserve(&s->in, size, &room) != 0)
        return false;
    ssize_t n = s->transport->read(s->transport_state, s->fd, room, size, &why);
    s->read_wants_write = n == TRANSPORT_WANTS_WRITE;
    if (n == TRANSPORT_FAILED) {
        hand_out(s);
        fail_now(s, &why);
        return false;
    }
    if (n == 0)
        s->read_over = true;
    if (n <= 0)
        return false;
    buffer_commit(&s->in, (size_t)n);
    return (size_t)n == size ||
           (s->transport->has_more != NULL && s->transport->has_more(s->transport_state));
}

static void read_some(struct stream *s)
{
    for (int i = 0; i < READS_PER_TURN; i++) {
        bool more = read_once(s);
        if (s->state != STREAM_OPEN)
            return;
        hand_out(s);
        if (s->state != STREAM_OPEN || !more || s->paused)
            break;
    }
    tell_read_end(s);
    // Bytes inside the transport wake nobody, so they are looked for in the next turn.
    if (s->state == STREAM_OPEN && !s->paused && s->transport->has_more != NULL &&
        s->transport->has_more(s->transport_state) && buffer_size(&s->in) < s->limits.read_bytes)
        timer_start(&s->deadline, 0);
}

static void after_flush(struct stream *s)
{
    size_t pending = buffer_size(&s->out);
    if (pending == 0) {
        chunk_take_back(&s->out);
        if (s->end_wanted && !s->end_sent) {
            s->end_sent = true;
            s->transport->end(s->transport_state, s->fd);
        }
    }
    if (s->choked && pending <= s->limits.low_water) {
        s->choked = false;
        if (s->ops != NULL && s->ops->drained != NULL)
            s->ops->drained(s->owner);
    }
    if (s->state == STREAM_OPEN && s->flush_untold && buffer_size(&s->out) == 0) {
        s->flush_untold = false;
        if (s->ops != NULL && s->ops->flushed != NULL)
            s->ops->flushed(s->owner);
    }
}

static void flush_out(struct stream *s)
{
    struct failure why;
    s->write_wants_read = false;
    while (buffer_size(&s->out) > 0) {
        struct span bytes = buffer_span(&s->out);
        ssize_t n = s->transport->write(s->transport_state, s->fd, bytes.data, bytes.size, &why);
        if (n == TRANSPORT_FAILED) {
            fail_now(s, &why);
            return;
        }
        s->write_wants_read = n == TRANSPORT_WANTS_READ;
        if (n <= 0)
            break;
        s->written += (uint64_t)n;
        buffer_consume(&s->out, (size_t)n);
    }
    after_flush(s);
}

static void on_flush(struct task *task)
{
    struct stream *s = CONTAINER_OF(task, struct stream, flush);
    if (s->state != STREAM_OPEN)
        return; // connecting: it is flushed once that is done
    flush_out(s);
    if (s->state == STREAM_OPEN)
        update_watch(s);
}

static void on_deliver(struct task *task)
{
    struct stream *s = CONTAINER_OF(task, struct stream, deliver);
    if (s->state == STREAM_FAILED) {
        struct failure why = *s->why;
        fail_now(s, &why);
        return;
    }
    if (s->state != STREAM_OPEN)
        return;
    hand_out(s);
    if (s->state == STREAM_OPEN && !s->paused && !s->read_over && s->transport->has_more != NULL &&
        s->transport->has_more(s->transport_state))
        read_some(s);
    if (s->state == STREAM_OPEN)
        tell_read_end(s);
    if (s->state == STREAM_OPEN)
        update_watch(s);
}

static void shake_hands(struct stream *s)
{
    struct failure why;
    int rc = s->transport->handshake != NULL
                 ? s->transport->handshake(s->transport_state, s->fd, &why)
                 : 0;
    s->read_wants_write = rc == TRANSPORT_WANTS_WRITE;
    if (rc == TRANSPORT_FAILED) {
        fail_now(s, &why);
        return;
    }
    if (rc != 0)
        return;
    timer_cancel(&s->deadline);
    s->state = STREAM_OPEN;
    flush_out(s);
    // What came with the last flight of the handshake is inside the transport already.
    if (s->state == STREAM_OPEN && s->transport->has_more != NULL && !s->paused)
        read_some(s);
}

static void finish_connecting(struct stream *s)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error != 0) {
        struct failure why;
        errno = error;
        failure_errno(&why, "connect");
        fail_now(s, &why);
        return;
    }
    s->state = STREAM_HANDSHAKING;
    shake_hands(s);
}

void stream_ready(struct stream *s, int events)
{
    if (s->state == STREAM_CONNECTING) {
        finish_connecting(s);
    } else if (s->state == STREAM_HANDSHAKING) {
        shake_hands(s);
    } else if (s->state == STREAM_OPEN) {
        int for_read = s->read_wants_write ? WATCH_WRITE : WATCH_READ;
        int for_write = s->write_wants_read ? WATCH_READ : WATCH_WRITE;
        if ((events & for_write) != 0 && buffer_size(&s->out) > 0)
            flush_out(s);
        if (s->state == STREAM_OPEN && (events & for_read) != 0 && !s->paused && !s->read_over)
            read_some(s);
    }
    if (s->state != STREAM_CLOSED && s->state != STREAM_FAILED)
        update_watch(s);
}

static void on_fd_ready(void *owner, int events)
{
    stream_ready(owner, events);
}

static void on_deadline(struct timer *timer)
{
    struct stream *s = CONTAINER_OF(timer, struct stream, deadline);
    struct failure why;
    if (s->state == STREAM_OPEN) {
        if (!s->paused)
            read_some(s);
        if (s->state == STREAM_OPEN)
            update_watch(s);
        return;
    }
    failure_set(&why, FAULT_TIMEOUT, "%s took too long",
                s->state == STREAM_CONNECTING ? "connecting" : "the handshake");
    fail_now(s, &why);
}

struct stream *stream_new(struct loop *loop, int fd, const struct address *peer,
                          const struct stream_limits *limits, const struct transport_ops *transport,
                          void *state, int64_t deadline_ms)
{
    struct stream *s = memory_new(sizeof *s);
    *s = (struct stream){.loop = loop, .fd = fd, .transport = transport, .transport_state = state};
    s->state = transport->handshake != NULL ? STREAM_HANDSHAKING : STREAM_OPEN;
    s->peer = *peer;
    buffer_init(&s->in, 0);
    buffer_init(&s->out, 0);
    stream_set_limits(s, limits);
    task_init(&s->flush, on_flush);
    task_init(&s->deliver, on_deliver);
    timer_init(&s->deadline, loop, on_deadline);
    if (deadline_ms > 0)
        timer_start(&s->deadline, deadline_ms);
    if (fd >= 0)
        s->watch = watch_new(loop, fd, on_fd_ready, s);
    return s;
}

void stream_set_connecting(struct stream *s)
{
    s->state = STREAM_CONNECTING;
    update_watch(s);
}

void stream_set_owner(struct stream *s, const struct stream_ops *ops, void *owner)
{
    s->ops = ops;
    s->owner = owner;
    if (s->state == STREAM_OPEN || s->state == STREAM_HANDSHAKING)
        update_watch(s);
}

void stream_set_limits(struct stream *s, const struct stream_limits *limits)
{
    s->limits = *limits;
    // A chunk is lent whole, whatever the limit says; read_once and stream_write hold the limit.
    s->in.limit = limits->read_bytes > CHUNK_SIZE ? limits->read_bytes : CHUNK_SIZE;
    s->out.limit = limits->write_bytes > CHUNK_SIZE ? limits->write_bytes : CHUNK_SIZE;
}

int stream_write(struct stream *s, struct span bytes)
{
    if (s->state == STREAM_FAILED || s->state == STREAM_CLOSED || s->end_wanted)
        return FAULT_CLOSED;
    if (bytes.size == 0)
        return 0;
    size_t pending = buffer_size(&s->out);
    if (bytes.size > s->limits.write_bytes || pending > s->limits.write_bytes - bytes.size)
        return FAULT_TOO_LARGE;
    chunk_lend(&s->out);
    int rc = buffer_append(&s->out, bytes);
    if (rc != 0)
        return rc;
    s->flush_untold = true;
    if (pending + bytes.size > s->limits.high_water)
        s->choked = true;
    // Behind bytes that the kernel would not take, these wait for it too.
    if (pending == 0)
        loop_flush(s->loop, &s->flush);
    return 0;
}

struct span stream_unwritten(const struct stream *s)
{
    return buffer_span(&s->out);
}

size_t stream_pending(const struct stream *s)
{
    return buffer_size(&s->out);
}

bool stream_is_choked(const struct stream *s)
{
    return s->choked;
}

void stream_pause(struct stream *s)
{
    if (s->paused || s->state == STREAM_CLOSED)
        return;
    s->paused = true;
    if (s->state == STREAM_OPEN)
        update_watch(s);
}

void stream_resume(struct stream *s)
{
    if (s->state == STREAM_CLOSED || s->state == STREAM_FAILED)
        return;
    s->paused = false;
    loop_defer(s->loop, &s->deliver);
}

void stream_end(struct stream *s)
{
    if (s->state == STREAM_CLOSED || s->state == STREAM_FAILED)
        return;
    s->end_wanted = true;
    loop_flush(s->loop, &s->flush);
}

const struct address *stream_peer(const struct stream *s)
{
    return &s->peer;
}

struct span stream_protocol(const struct stream *s)
{
    return s->transport->protocol != NULL ? s->transport->protocol(s->transport_state) : SPAN_NONE;
}

bool stream_is_encrypted(const struct stream *s)
{
    return s->transport->encrypted;
}

bool stream_is_shaking_hands(const struct stream *s)
{
    return s->state == STREAM_HANDSHAKING;
}

uint64_t stream_bytes_written(const struct stream *s)
{
    return s->written;
}
