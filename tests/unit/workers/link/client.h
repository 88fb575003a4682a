// SPDX-License-Identifier: Apache-2.0
// Clients in memory of an HTTP server whose requests the test takes. The clock stands still until
// it is moved.
#ifndef WRIST_TESTS_UNIT_WORKERS_LINK_CLIENT_H
#define WRIST_TESTS_UNIT_WORKERS_LINK_CLIENT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/clock.h"
#include "gateway/lib/http/server.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/stream.h"
#include "workers/link/handler.h"

static struct place {
    struct clock_fake clock;
    struct loop *loop;
    struct http_server *server;
    void (*request)(struct exchange *ex); // what the test does with one
} place;

struct client {
    struct stream *stream; // NULL once it is closed
    struct buffer in;
};

static inline void turns(void)
{
    for (int i = 0; i < 30; i++)
        loop_turn(place.loop, false);
}

static void client_readable(void *owner, struct buffer *in)
{
    struct client *c = owner;
    buffer_append(&c->in, buffer_span(in));
    buffer_consume(in, buffer_size(in));
}

static void client_nothing(void *owner)
{
    (void)owner;
}

static void client_closed(void *owner, const struct failure *why)
{
    struct client *c = owner;
    (void)why;
    c->stream = NULL;
}

static const struct stream_ops client_ops = {
    .readable = client_readable,
    .read_ended = client_nothing,
    .drained = client_nothing,
    .closed = client_closed,
};

// One request of its own connection; `headers` end with CRLF each.
static inline void client_open(struct client *c, const char *headers)
{
    static const struct stream_limits limits = {1 << 20, 1 << 26, 1 << 20, 1 << 18};
    struct stream *end;
    char head[1024];
    *c = (struct client){0};
    buffer_init(&c->in, 1 << 26);
    stream_pair(place.loop, 1 << 24, &limits, &c->stream, &end);
    stream_set_owner(c->stream, &client_ops, c);
    http_server_adopt(place.server, end);
    int size = snprintf(head, sizeof head, "GET /mcp HTTP/1.1\r\nhost: w\r\n%s\r\n", headers);
    stream_write(c->stream, span_of(head, (size_t)size));
    turns();
}

// What came since the last time, as a string.
static inline const char *client_text(struct client *c)
{
    static char text[1 << 16];
    turns();
    struct span all = buffer_span(&c->in);
    size_t size = all.size < sizeof text - 1 ? all.size : sizeof text - 1;
    memcpy(text, all.data, size);
    text[size] = '\0';
    buffer_clear(&c->in);
    return text;
}

// Whether the last chunk of an answer came.
static inline bool ends(const char *text)
{
    size_t size = strlen(text);
    return size >= 5 && strcmp(text + size - 5, "0\r\n\r\n") == 0;
}

static inline void client_cut(struct client *c)
{
    if (c->stream != NULL)
        stream_close(c->stream);
    c->stream = NULL;
    buffer_fini(&c->in);
    turns();
}

static void place_request(void *service, struct exchange *ex)
{
    (void)service;
    place.request(ex);
}

static void place_closed(struct exchange *ex, const struct failure *why)
{
    struct handler *h = exchange_user(ex);
    (void)why;
    if (h != NULL && h->ops->closed != NULL)
        h->ops->closed(h);
}

static inline void place_open(void (*request)(struct exchange *ex))
{
    static const struct exchange_ops ops = {.request = place_request, .closed = place_closed};
    struct http_server_limits limits;
    http_server_limits_default(&limits);
    limits.write_buffer_bytes = 64 << 20;
    limits.write_timeout_ms = INT32_MAX;
    place.request = request;
    clock_fake_init(&place.clock);
    place.loop = loop_new(&place.clock.clock);
    place.server = http_server_new(place.loop, &limits, &ops, NULL);
}

static inline void place_close(void)
{
    http_server_close(place.server);
    turns();
    loop_free(place.loop);
}

#endif
