// SPDX-License-Identifier: Apache-2.0
#include "workers/hands/frame.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"

int frame_append(struct buffer *out, enum frame_kind kind, struct span first, struct span second)
{
    const struct frame_head head = {(uint32_t)(first.size + second.size), kind};
    int fault = buffer_append(out, span_of(&head, sizeof head));
    if (fault == 0)
        fault = buffer_append(out, first);
    return fault != 0 ? fault : buffer_append(out, second);
}

int frame_peek(const struct buffer *in, enum frame_kind *kind, struct span *payload)
{
    struct frame_head head;
    struct span bytes = buffer_span(in);
    if (bytes.size < sizeof head)
        return 0;
    memcpy(&head, bytes.data, sizeof head);
    if (head.size > FRAME_LIMIT || head.kind < FRAME_CALL || head.kind > FRAME_RESULT)
        return FAULT_PEER;
    if (bytes.size - sizeof head < head.size)
        return 0;
    *kind = (enum frame_kind)head.kind;
    *payload = span_slice(bytes, sizeof head, sizeof head + head.size);
    return 1;
}

static int send_all(int socket, struct span bytes)
{
    while (bytes.size > 0) {
        ssize_t size = write(socket, bytes.data, bytes.size);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return FAULT_CLOSED;
        bytes = span_slice(bytes, (size_t)size, bytes.size);
    }
    return 0;
}

int frame_send(int socket, enum frame_kind kind, struct span first, struct span second)
{
    const struct frame_head head = {(uint32_t)(first.size + second.size), kind};
    int fault = send_all(socket, span_of(&head, sizeof head));
    if (fault == 0)
        fault = send_all(socket, first);
    return fault != 0 ? fault : send_all(socket, second);
}

static int read_more(int socket, struct buffer *in)
{
    enum { PIECE = 64 << 10 };
    char *room;
    int fault = buffer_reserve(in, PIECE, &room);
    if (fault != 0)
        return fault;
    ssize_t size;
    do
        size = read(socket, room, PIECE);
    while (size < 0 && errno == EINTR);
    if (size <= 0)
        return FAULT_CLOSED;
    buffer_commit(in, (size_t)size);
    return 0;
}

int frame_receive(int socket, struct buffer *in, enum frame_kind *kind, struct span *payload)
{
    for (;;) {
        int got = frame_peek(in, kind, payload);
        if (got != 0)
            return got > 0 ? 0 : got;
        int fault = read_more(socket, in);
        if (fault != 0)
            return fault;
    }
}
