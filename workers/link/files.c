// SPDX-License-Identifier: Apache-2.0
// PUT /files: a tar stream, handed to a hand piece by piece at the pace at which it unpacks.
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "workers/init/life.h"
#include "workers/link/service.h"

enum { UPLOAD_MS = 30 * 60 * 1000 };
// The unpacker has limits of its own; headers and padding come on top.
#define UPLOAD_BODY_MAX ((size_t)5 << 30)

struct upload {
    struct handler handler; // its exchange is NULL once the client is gone
    struct service *service;
    struct hand_job *job; // NULL once it ended
};

static void bury_if_done(struct upload *u)
{
    if (u->handler.ex != NULL || u->job != NULL)
        return;
    life_calls(u->service->options.life, -1);
    loop_bury(u->service->options.loop, u, free);
}

static void on_unpacked(void *owner, const struct failure *why, bool is_error, struct span json)
{
    struct upload *u = owner;
    (void)is_error;
    u->job = NULL;
    if (u->handler.ex != NULL && why == NULL)
        respond_json(u->handler.ex, 200, json);
    else if (u->handler.ex != NULL)
        respond_failure(u->handler.ex, why);
    bury_if_done(u);
}

static void on_room(void *owner)
{
    const struct upload *u = owner;
    if (u->handler.ex != NULL)
        exchange_resume_body(u->handler.ex);
}

static const struct hand_job_ops job_ops = {.ended = on_unpacked, .drained = on_room};

static void on_body(struct handler *h, struct span bytes)
{
    struct upload *u = CONTAINER_OF(h, struct upload, handler);
    if (u->job == NULL)
        return; // refused already; the rest is thrown away
    hand_files_write(u->job, bytes);
    if (u->job != NULL && hand_files_is_choked(u->job))
        exchange_pause_body(h->ex);
}

static void on_body_ended(struct handler *h)
{
    const struct upload *u = CONTAINER_OF(h, struct upload, handler);
    if (u->job != NULL)
        hand_files_end(u->job);
}

static void on_closed(struct handler *h)
{
    struct upload *u = CONTAINER_OF(h, struct upload, handler);
    h->ex = NULL;
    if (u->job != NULL)
        hand_job_cancel(u->job);
    u->job = NULL;
    bury_if_done(u);
}

static const struct handler_ops upload_ops = {
    .body = on_body, .body_ended = on_body_ended, .closed = on_closed};

static int root_read(const struct exchange *ex, enum workspace_root *root, struct failure *why)
{
    struct span query = exchange_query(ex);
    if (span_is_absent(query) || span_is(query, "root=workspace"))
        *root = WORKSPACE_MAIN;
    else if (span_is(query, "root=inputs"))
        *root = WORKSPACE_INPUTS;
    else
        return failure_set(why, FAULT_INVALID, "root must be workspace or inputs");
    return 0;
}

void files_put(struct service *s, struct exchange *ex)
{
    struct failure why;
    enum workspace_root root = WORKSPACE_MAIN;
    if (root_read(ex, &root, &why) != 0) {
        respond_failure(ex, &why);
        return;
    }
    struct upload *u = memory_new(sizeof *u);
    u->service = s;
    u->job = hand_files_start(s->options.hands, root, UPLOAD_MS, &job_ops, u, &why);
    if (u->job == NULL) {
        free(u);
        respond_failure(ex, &why);
        return;
    }
    life_calls(s->options.life, 1);
    handler_take(&u->handler, &upload_ops, ex);
    exchange_read_body(ex, UPLOAD_BODY_MAX);
}
