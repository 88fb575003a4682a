// SPDX-License-Identifier: Apache-2.0
// GET /files?path=: an export, read by a hand at the pace at which the client takes it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "workers/hands/frame.h"
#include "workers/init/life.h"
#include "workers/link/service.h"

enum { EXPORT_MS = 30 * 60 * 1000 };

struct download {
    struct handler handler; // its exchange is NULL once the client is gone
    struct service *service;
    struct hand_job *job; // NULL once it ended
    bool begun;           // the head went out
};

static void bury_if_done(struct download *d)
{
    if (d->handler.ex != NULL || d->job != NULL)
        return;
    life_calls(d->service->options.life, -1);
    loop_bury(d->service->options.loop, d, free);
}

static void on_facts(void *owner, const struct frame_facts *facts)
{
    struct download *d = owner;
    char name[3 * sizeof facts->name + 1], disposition[sizeof name + 64];
    char files[24], bytes[24], left_out[24];
    if (d->handler.ex == NULL)
        return;
    percent_encode(span_from_string(facts->name), name);
    snprintf(disposition, sizeof disposition, "attachment; filename*=UTF-8''%s", name);
    snprintf(files, sizeof files, "%" PRIu64, facts->files);
    snprintf(bytes, sizeof bytes, "%" PRIu64, facts->bytes);
    snprintf(left_out, sizeof left_out, "%" PRIu64, facts->left_out);
    const struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), span_from_string(facts->type)},
        {SPAN_LITERAL("content-disposition"), span_from_string(disposition)},
        {SPAN_LITERAL("wrist-files"), span_from_string(files)},
        {SPAN_LITERAL("wrist-bytes"), span_from_string(bytes)},
        {SPAN_LITERAL("wrist-left-out"), span_from_string(left_out)},
    };
    const struct http_response head = {200, headers, ARRAY_COUNT(headers), -1};
    d->begun = true;
    exchange_start(d->handler.ex, &head);
}

static void on_data(void *owner, struct span bytes)
{
    const struct download *d = owner;
    if (d->handler.ex == NULL)
        return;
    exchange_write(d->handler.ex, bytes);
    if (d->handler.ex != NULL && exchange_is_choked(d->handler.ex))
        hand_export_pause(d->job);
}

static void on_ended(void *owner, const struct failure *why, bool is_error, struct span json)
{
    struct download *d = owner;
    struct exchange *ex = d->handler.ex;
    (void)is_error;
    (void)json;
    d->job = NULL;
    if (ex != NULL && why == NULL)
        exchange_end(ex);
    else if (ex != NULL && d->begun)
        exchange_abort(ex, why); // nobody must take it for whole
    else if (ex != NULL)
        respond_failure(ex, why);
    bury_if_done(d);
}

static const struct hand_job_ops job_ops = {.ended = on_ended, .facts = on_facts, .data = on_data};

static void on_room(struct handler *h)
{
    const struct download *d = CONTAINER_OF(h, struct download, handler);
    if (d->job != NULL)
        hand_export_resume(d->job);
}

static void on_closed(struct handler *h)
{
    struct download *d = CONTAINER_OF(h, struct download, handler);
    h->ex = NULL;
    if (d->job != NULL)
        hand_job_cancel(d->job);
    d->job = NULL;
    bury_if_done(d);
}

static const struct handler_ops download_ops = {.drained = on_room, .closed = on_closed};

static int read_path(const struct exchange *ex, char out[WORKSPACE_PATH_SIZE], size_t *size,
                     struct failure *why)
{
    struct span path = query_value(exchange_query(ex), "path");
    if (span_is_absent(path))
        return failure_set(why, FAULT_INVALID, "path: expected what to export: /files?path=dist");
    CLEANUP_FREE char *plain = memory_new(path.size + 1);
    if (!percent_decode(path, plain, size) || *size >= WORKSPACE_PATH_SIZE)
        return failure_set(why, FAULT_INVALID, "path: not percent-encoded, or too long");
    memcpy(out, plain, *size);
    return 0;
}

void files_get(struct service *s, struct exchange *ex)
{
    struct failure why;
    char path[WORKSPACE_PATH_SIZE];
    size_t size = 0;
    if (read_path(ex, path, &size, &why) != 0) {
        respond_failure(ex, &why);
        return;
    }
    struct download *d = memory_new(sizeof *d);
    d->service = s;
    d->job = hand_export_start(s->options.hands, span_of(path, size), EXPORT_MS, &job_ops, d, &why);
    if (d->job == NULL) {
        free(d);
        respond_failure(ex, &why);
        return;
    }
    life_calls(s->options.life, 1);
    handler_take(&d->handler, &download_ops, ex);
}
