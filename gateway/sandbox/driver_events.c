// SPDX-License-Identifier: Apache-2.0
#include "gateway/sandbox/driver_events.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/http/client.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"

enum {
    LINE_BYTES = 64 * 1024,
    BACKOFF_FIRST_MS = 50,
    BACKOFF_MOST_MS = 250, // an exit is told within two seconds, also past a driver's restart
};

struct driver_event_stream {
    struct loop *loop;
    struct http_client *client; // borrowed
    const struct driver_events *events;
    void *owner;
    struct http_call *call; // NULL between two tries
    struct timer again;
    int64_t backoff_ms;
    int status;
    bool connected; // its hello came
    struct buffer line;
};

static void try_again(struct driver_event_stream *s, const struct failure *why)
{
    s->call = NULL;
    s->connected = false;
    buffer_clear(&s->line);
    timer_start(&s->again, s->backoff_ms);
    s->backoff_ms = s->backoff_ms * 2 < BACKOFF_MOST_MS ? s->backoff_ms * 2 : BACKOFF_MOST_MS;
    s->events->disconnected(s->owner, why);
}

static void break_off(struct driver_event_stream *s, const char *what)
{
    struct failure why;
    failure_set(&why, FAULT_PEER, "driver events: %s", what);
    http_call_cancel(s->call);
    try_again(s, &why);
}

static void exited(struct driver_event_stream *s, const struct json *j)
{
    struct span id, reason = SPAN_LITERAL("it exited");
    int64_t generation;
    if (!json_string_plain(j, json_get(j, JSON_ROOT, "id"), &id) ||
        !json_i64(j, json_get(j, JSON_ROOT, "generation"), &generation))
        return;
    json_string_plain(j, json_get(j, JSON_ROOT, "reason"), &reason);
    s->events->exited(s->owner, id, generation, reason);
}

static void volume_expired(struct driver_event_stream *s, const struct json *j)
{
    struct span fleet, profile;
    if (json_string_plain(j, json_get(j, JSON_ROOT, "fleet"), &fleet) &&
        json_string_plain(j, json_get(j, JSON_ROOT, "profile"), &profile))
        s->events->volume_expired(s->owner, fleet, profile);
}

// Unknown events are a newer driver's.
static int take_line(struct driver_event_stream *s, struct span line)
{
    struct json *j;
    if (span_trim(line).size == 0)
        return 0;
    int rc = json_parse(line, &json_limits_default, &j, NULL);
    if (rc != 0)
        return rc;
    int event = json_get(j, JSON_ROOT, "event");
    if (json_string_is(j, event, "hello")) {
        s->connected = true;
        s->backoff_ms = BACKOFF_FIRST_MS;
        s->events->connected(s->owner);
    } else if (json_string_is(j, event, "exited")) {
        exited(s, j);
    } else if (json_string_is(j, event, "profiles")) {
        s->events->profiles_changed(s->owner);
    } else if (json_string_is(j, event, "volume_expired")) {
        volume_expired(s, j);
    }
    json_free(j);
    return 0;
}

static void on_head(struct http_call *call, int status)
{
    struct driver_event_stream *s = http_call_user(call);
    s->status = status;
}

static void on_body(struct http_call *call, struct span bytes)
{
    struct driver_event_stream *s = http_call_user(call);
    if (s->status != 200)
        return;
    while (bytes.size > 0) {
        const char *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end != NULL ? (size_t)(end - bytes.data) : bytes.size;
        if (buffer_append(&s->line, span_slice(bytes, 0, size)) != 0) {
            break_off(s, "a line is too long");
            return;
        }
        bytes = span_slice(bytes, end != NULL ? size + 1 : size, bytes.size);
        if (end == NULL)
            return;
        if (take_line(s, buffer_span(&s->line)) != 0) {
            break_off(s, "a line is not JSON");
            return;
        }
        buffer_clear(&s->line);
    }
}

static void on_ended(struct http_call *call, const struct failure *why)
{
    struct driver_event_stream *s = http_call_user(call);
    struct failure mine;
    if (why == NULL) {
        failure_set(&mine, FAULT_CLOSED, "the driver ended its events (status %d)", s->status);
        why = &mine;
    }
    try_again(s, why);
}

static const struct http_call_ops call_ops = {.head = on_head, .body = on_body, .ended = on_ended};

static void connect_now(struct timer *timer)
{
    struct driver_event_stream *s = CONTAINER_OF(timer, struct driver_event_stream, again);
    const struct http_request request = {.method = SPAN_LITERAL("GET"),
                                         .target = SPAN_LITERAL("/v1/events")};
    s->status = 0;
    s->call = http_call_start(s->client, &request, &call_ops, s);
}

struct driver_event_stream *driver_event_stream_open(struct loop *loop, struct http_client *client,
                                                     const struct driver_events *events,
                                                     void *owner)
{
    struct driver_event_stream *s = memory_new(sizeof *s);
    *s = (struct driver_event_stream){.loop = loop,
                                      .client = client,
                                      .events = events,
                                      .owner = owner,
                                      .backoff_ms = BACKOFF_FIRST_MS};
    buffer_init(&s->line, LINE_BYTES);
    timer_init(&s->again, loop, connect_now);
    timer_start(&s->again, 0);
    return s;
}

void driver_event_stream_close(struct driver_event_stream *s)
{
    if (s == NULL)
        return;
    timer_cancel(&s->again);
    if (s->call != NULL)
        http_call_cancel(s->call);
    buffer_fini(&s->line);
    free(s);
}
