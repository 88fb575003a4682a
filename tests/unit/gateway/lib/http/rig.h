// SPDX-License-Identifier: Apache-2.0
// A server and one client end in memory, with a clock that stands still, for the tests of this
// folder. The service answers by path, and notes what it was told.
#ifndef WRIST_TESTS_UNIT_HTTP_RIG_H
#define WRIST_TESTS_UNIT_HTTP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/server.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/stream.h"

struct rig {
    struct clock_fake clock;
    struct loop *loop;
    struct http_server *server;
    struct stream *client;
    struct buffer got; // what the client received
    bool client_ended, client_closed;
    void (*client_readable)(struct rig *rig, struct buffer *in); // NULL: into `got`
    void *client_state;
    // What the service was told.
    struct exchange *held; // the last one to /hold, until it closes
    int requests, closed, closed_well, last_fault, drained, server_drained;
    size_t body_bytes;
    size_t body_limit;
};

static inline void rig_answer(struct exchange *ex, int status, struct span body)
{
    struct http_header type = {SPAN_LITERAL("content-type"), SPAN_LITERAL("text/plain")};
    struct http_response head = {
        .status = status, .headers = &type, .header_count = 1, .content_length = -1};
    exchange_respond(ex, &head, body);
}

static inline void rig_on_request(void *service, struct exchange *ex)
{
    struct rig *rig = service;
    struct buffer *body = arena_alloc(exchange_arena(ex), sizeof *body);
    buffer_init(body, 1024 * 1024);
    exchange_set_user(ex, body);
    rig->requests++;
    if (span_is(exchange_path(ex), "/hold")) {
        rig->held = ex;
        return;
    }
    if (span_is(exchange_path(ex), "/echo") && exchange_has_body(ex))
        exchange_read_body(ex, rig->body_limit);
    else
        rig_answer(ex, 200, SPAN_LITERAL("hello"));
}

static struct rig *rig_now; // exchanges know no service after `request`

static inline void rig_on_body(struct exchange *ex, struct span bytes)
{
    rig_now->body_bytes += bytes.size;
    buffer_append(exchange_user(ex), bytes);
}

static inline void rig_on_body_ended(struct exchange *ex)
{
    rig_answer(ex, 200, buffer_span(exchange_user(ex)));
}

static inline void rig_on_drained(struct exchange *ex)
{
    (void)ex;
    rig_now->drained++;
}

static inline void rig_on_closed(struct exchange *ex, const struct failure *why)
{
    rig_now->closed++;
    rig_now->closed_well += why == NULL;
    rig_now->last_fault = why != NULL ? why->fault : 0;
    if (rig_now->held == ex)
        rig_now->held = NULL;
    buffer_fini(exchange_user(ex));
}

static const struct exchange_ops rig_exchange_ops = {
    rig_on_request, rig_on_body, rig_on_body_ended, rig_on_drained, rig_on_closed,
};

static inline void rig_on_readable(void *owner, struct buffer *in)
{
    struct rig *rig = owner;
    if (rig->client_readable != NULL) {
        rig->client_readable(rig, in);
        return;
    }
    assert_int_equal(buffer_append(&rig->got, buffer_span(in)), 0);
    buffer_clear(in);
}

static inline void rig_on_read_ended(void *owner)
{
    ((struct rig *)owner)->client_ended = true;
}

static inline void rig_on_client_closed(void *owner, const struct failure *why)
{
    struct rig *rig = owner;
    (void)why;
    rig->client_closed = true;
    rig->client = NULL;
}

static const struct stream_ops rig_stream_ops = {
    .readable = rig_on_readable,
    .read_ended = rig_on_read_ended,
    .closed = rig_on_client_closed,
};

static inline void rig_connect(struct rig *rig, size_t piece)
{
    const struct stream_limits limits = {256 * 1024, 8 * 1024 * 1024, 256 * 1024, 64 * 1024};
    struct stream *end;
    stream_pair(rig->loop, piece, &limits, &rig->client, &end);
    stream_set_owner(rig->client, &rig_stream_ops, rig);
    http_server_adopt(rig->server, end);
    rig->client_ended = rig->client_closed = false;
    buffer_clear(&rig->got);
}

static inline void rig_open(struct rig *rig, size_t piece, const struct http_server_limits *limits)
{
    struct http_server_limits defaults;
    http_server_limits_default(&defaults);
    *rig = (struct rig){.body_limit = 512 * 1024};
    rig_now = rig;
    clock_fake_init(&rig->clock);
    rig->loop = loop_new(&rig->clock.clock);
    buffer_init(&rig->got, 32 * 1024 * 1024);
    rig->server =
        http_server_new(rig->loop, limits != NULL ? limits : &defaults, &rig_exchange_ops, rig);
    http_server_enable_h2(rig->server);
    rig_connect(rig, piece);
}

static inline void rig_turns(struct rig *rig, int turns)
{
    for (int i = 0; i < turns; i++)
        loop_turn(rig->loop, false);
}

static inline void rig_wait_ms(struct rig *rig, int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += 250) {
        clock_fake_advance_ms(&rig->clock, 250);
        rig_turns(rig, 3);
    }
}

static inline void rig_send(struct rig *rig, const char *text)
{
    assert_int_equal(stream_write(rig->client, span_from_string(text)), 0);
}

static inline const char *rig_text(struct rig *rig)
{
    assert_int_equal(buffer_append_char(&rig->got, '\0'), 0);
    buffer_truncate(&rig->got, buffer_size(&rig->got) - 1);
    return buffer_span(&rig->got).data;
}

static inline int rig_count(struct rig *rig, const char *needle)
{
    int count = 0;
    for (const char *at = rig_text(rig); (at = strstr(at, needle)) != NULL; at++)
        count++;
    return count;
}

// Whatever happened, nothing is left of it.
static inline void rig_close(struct rig *rig)
{
    stream_close(rig->client);
    rig->client = NULL;
    rig_turns(rig, 3);
    rig_wait_ms(rig, 3000);
    const struct http_server_counters *counters = http_server_counters(rig->server);
    assert_int_equal(counters->connections_open, 0);
    assert_int_equal(counters->exchanges_open, 0);
    assert_int_equal(counters->bytes_buffered, 0);
    assert_int_equal(rig->closed, rig->requests);
    http_server_close(rig->server);
    rig_turns(rig, 2);
    loop_free(rig->loop);
    buffer_fini(&rig->got);
}

#endif
