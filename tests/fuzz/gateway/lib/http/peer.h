// SPDX-License-Identifier: Apache-2.0
// A server with a service that touches everything, for the fuzz targets of this folder.
#ifndef WRIST_TESTS_FUZZ_HTTP_PEER_H
#define WRIST_TESTS_FUZZ_HTTP_PEER_H

#include <stdlib.h>

#include "gateway/lib/http/server.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/stream.h"

static inline void fuzz_request(void *service, struct exchange *ex)
{
    struct http_header type = {SPAN_LITERAL("x-method"), exchange_method(ex)};
    struct http_response head = {.status = 200, .headers = &type, .header_count = 1};
    struct failure why;
    (void)service;
    switch (exchange_path(ex).size % 5) {
    case 0:
        exchange_respond(ex, &head, exchange_query(ex));
        break;
    case 1:
        head.content_length = -1;
        exchange_start(ex, &head);
        exchange_read_body(ex, 1000);
        break;
    case 2:
        exchange_read_body(ex, 1000);
        exchange_pause_body(ex);
        exchange_resume_body(ex);
        break;
    case 3:
        failure_set(&why, FAULT_LOST, "x");
        exchange_abort(ex, &why);
        break;
    default:
        exchange_set_deadline(ex, 500);
    }
}

static inline void fuzz_body(struct exchange *ex, struct span bytes)
{
    exchange_write(ex, bytes);
}

static inline void fuzz_body_ended(struct exchange *ex)
{
    struct http_response head = {.status = 202};
    exchange_respond(ex, &head, SPAN_NONE);
    exchange_end(ex);
}

static inline void fuzz_closed(struct exchange *ex, const struct failure *why)
{
    (void)ex;
    (void)why;
}

static const struct exchange_ops fuzz_ops = {
    fuzz_request, fuzz_body, fuzz_body_ended, NULL, fuzz_closed,
};

static inline void fuzz_drop(void *owner, struct buffer *in)
{
    (void)owner;
    buffer_clear(in);
}

// The first byte says into how large pieces the rest is cut.
static inline void fuzz_serve(const uint8_t *data, size_t size, struct span before)
{
    static const struct stream_ops client_ops = {.readable = fuzz_drop};
    const struct stream_limits stream_limits = {65536, 1024 * 1024, 65536, 1024};
    struct http_server_limits limits;
    struct clock_fake clock;
    struct stream *client, *end;
    if (size == 0 || size > 256 * 1024)
        return;
    clock_fake_init(&clock);
    struct loop *loop = loop_new(&clock.clock);
    http_server_limits_default(&limits);
    limits.head_bytes = 4096;
    limits.header_count = 20;
    struct http_server *server = http_server_new(loop, &limits, &fuzz_ops, NULL);
    http_server_enable_h2(server);
    stream_pair(loop, data[0] < 128 ? (size_t)data[0] % 16 + 1 : 65536, &stream_limits, &client,
                &end);
    stream_set_owner(client, &client_ops, NULL);
    http_server_adopt(server, end);
    stream_write(client, before);
    stream_write(client, span_of(data + 1, size - 1));
    stream_end(client);
    const struct http_server_counters *counters = http_server_counters(server);
    for (int i = 0; i < 40; i++) {
        clock_fake_advance_ms(&clock, 10);
        loop_turn(loop, false);
    }
    stream_close(client);
    // What was sent still arrives in its pieces.
    for (size_t i = 0; i < size + 100 && counters->connections_open > 0; i++)
        loop_turn(loop, false);
    for (int i = 0; i < 20; i++) {
        clock_fake_advance_ms(&clock, 500);
        loop_turn(loop, false);
    }
    counters = http_server_counters(server);
    if (counters->connections_open != 0 || counters->exchanges_open != 0 ||
        counters->bytes_buffered != 0)
        abort();
    http_server_close(server);
    loop_turn(loop, false);
    loop_free(loop);
}

#endif
