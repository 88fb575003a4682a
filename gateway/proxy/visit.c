// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/visit.h"

#include <stdio.h>

#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/proxy/inside.h"

struct visit *visit_hold(struct visit *v)
{
    v->references++;
    return v;
}

void visit_drop(struct visit *v)
{
    if (--v->references > 0)
        return;
    if (v->ops != NULL && v->ops->free != NULL)
        v->ops->free(v);
    if (v->principal != NULL)
        principal_drop(v->principal);
    memory_free_at(&v);
}

enum { ALL_HEADERS = VISIT_HEADERS + 4 };

static void put(struct http_header *headers, size_t *count, const char *name, struct span value)
{
    headers[(*count)++] = (struct http_header){span_from_string(name), value};
}

// A foreign Origin was refused before, so the one that stands here may read the answer.
static size_t collect(struct visit *v, const struct http_header *more, size_t count,
                      struct http_header out[ALL_HEADERS])
{
    size_t n = 0;
    struct span origin = exchange_header(v->ex, "origin");
    for (; n < count && n < VISIT_HEADERS; n++)
        out[n] = more[n];
    if (!span_is_absent(origin) && v->status != 403) {
        put(out, &n, "access-control-allow-origin", origin);
        put(out, &n, "access-control-expose-headers",
            SPAN_LITERAL("Mcp-Session-Id, WWW-Authenticate, Retry-After"));
        put(out, &n, "vary", SPAN_LITERAL("Origin"));
    }
    return n;
}

// `headers` has ALL_HEADERS places, and must live as long as the head.
static struct http_response head_of(struct visit *v, int status, const struct http_header *more,
                                    size_t count, struct http_header *headers,
                                    int64_t content_length)
{
    v->status = status;
    return (struct http_response){.status = status,
                                  .headers = headers,
                                  .header_count = collect(v, more, count, headers),
                                  .content_length = content_length};
}

void visit_respond(struct visit *v, int status, const struct http_header *more, size_t count,
                   struct span body)
{
    struct http_header headers[ALL_HEADERS];
    if (v->ex == NULL)
        return;
    struct http_response head = head_of(v, status, more, count, headers, (int64_t)body.size);
    exchange_respond(v->ex, &head, body);
}

void visit_start(struct visit *v, int status, const struct http_header *more, size_t count,
                 int64_t content_length)
{
    struct http_header headers[ALL_HEADERS];
    if (v->ex == NULL)
        return;
    struct http_response head = head_of(v, status, more, count, headers, content_length);
    exchange_start(v->ex, &head);
}

void visit_respond_failure(struct visit *v, const struct failure *why, int64_t retry_after_ms)
{
    char seconds[24] = "";
    struct http_header headers[2] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")},
        {SPAN_LITERAL("retry-after"), span_of(seconds, 0)},
    };
    if (retry_after_ms > 0)
        headers[1].value.size = (size_t)snprintf(seconds, sizeof seconds, "%lld",
                                                 (long long)((retry_after_ms + 999) / 1000));
    struct buffer body;
    buffer_init(&body, 4096);
    if (failure_write(why, &body) != 0)
        buffer_clear(&body);
    v->outcome = fault_name(why->fault);
    visit_respond(v, fault_http_status(why->fault), headers, retry_after_ms > 0 ? 2 : 1,
                  buffer_span(&body));
    buffer_fini(&body);
}

struct span visit_public_url(struct visit *v)
{
    if (v->config->public_url[0] != '\0')
        return span_from_string(v->config->public_url);
    struct span authority = exchange_authority(v->ex);
    return span_from_string(arena_printf(exchange_arena(v->ex), "%s://%.*s",
                                         exchange_is_encrypted(v->ex) ? "https" : "http",
                                         SPAN_ARGS(authority)));
}
