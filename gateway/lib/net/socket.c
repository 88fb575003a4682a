// SPDX-License-Identifier: Apache-2.0
// A plain socket below a stream, and how one gets connected.
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "gateway/lib/net/transport.h"

static ssize_t socket_read(void *state, int fd, char *to, size_t size, struct failure *why)
{
    ssize_t n;
    (void)state;
    do
        n = recv(fd, to, size, 0);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return TRANSPORT_WANTS_READ;
    failure_errno(why, "read");
    return TRANSPORT_FAILED;
}

static ssize_t socket_write(void *state, int fd, const char *from, size_t size, struct failure *why)
{
    ssize_t n;
    (void)state;
    do
        n = send(fd, from, size, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return TRANSPORT_WANTS_WRITE;
    failure_errno(why, "write");
    return TRANSPORT_FAILED;
}

static void socket_end(void *state, int fd)
{
    (void)state;
    shutdown(fd, SHUT_WR);
}

const struct transport_ops socket_transport = {
    .read = socket_read,
    .write = socket_write,
    .end = socket_end,
};

struct stream *stream_from_fd(struct loop *loop, int fd, const struct address *peer,
                              const struct stream_limits *limits)
{
    return stream_new(loop, fd, peer, limits, &socket_transport, NULL, 0);
}

int socket_start_connecting(const struct address *to, struct failure *why, int *fd)
{
    int one = 1;
    *fd = socket(to->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return failure_errno(why, "socket");
    if (!address_is_unix(to))
        setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(*fd, (const struct sockaddr *)&to->storage, to->size) == 0 || errno == EINPROGRESS)
        return 0;
    // A unix socket whose backlog is full says EAGAIN and cannot be waited for.
    return failure_errno(why, "connect");
}

struct stream *stream_connect(struct loop *loop, const struct address *to,
                              const struct stream_limits *limits, int64_t timeout_ms)
{
    int fd;
    struct failure why;
    int rc = socket_start_connecting(to, &why, &fd);
    struct stream *s = stream_new(loop, fd, to, limits, &socket_transport, NULL, timeout_ms);
    if (rc != 0)
        stream_fail_later(s, &why);
    else
        stream_set_connecting(s);
    return s;
}
