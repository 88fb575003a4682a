// SPDX-License-Identifier: Apache-2.0
#include "workers/link/handler.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/control/driver_api.h"

void respond_json(struct exchange *ex, int status, struct span json)
{
    const struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")},
        {SPAN_LITERAL("cache-control"), SPAN_LITERAL("no-store")},
    };
    const struct http_response head = {status, headers, ARRAY_COUNT(headers), (int64_t)json.size};
    exchange_respond(ex, &head, json);
}

void respond_status(struct exchange *ex, int status)
{
    const struct http_response head = {.status = status, .content_length = 0};
    exchange_respond(ex, &head, SPAN_LITERAL(""));
}

void respond_events(struct exchange *ex, const char *session)
{
    const struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("text/event-stream")},
        {SPAN_LITERAL("cache-control"), SPAN_LITERAL("no-cache, no-transform")},
        {SPAN_LITERAL("x-accel-buffering"), SPAN_LITERAL("no")},
        {SPAN_LITERAL("mcp-session-id"), span_from_string(session)},
    };
    const struct http_response head = {
        .status = 200,
        .headers = headers,
        .header_count = ARRAY_COUNT(headers) - (session[0] == '\0'),
        .content_length = -1,
    };
    exchange_start(ex, &head);
}

void respond_failure(struct exchange *ex, const struct failure *why)
{
    struct buffer json;
    buffer_init(&json, 4096);
    (void)failure_write(why, &json);
    respond_json(ex, fault_http_status(why->fault), buffer_span(&json));
    buffer_fini(&json);
}
