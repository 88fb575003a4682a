// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/volumes.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/writer.h"
#include "gateway/pool/binder.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/sandboxes.h"

enum { ROW_BYTES = 2048, LIST_MOST = 64 * 1024 };

struct asked {
    struct visit *v;
    struct volume_question *question; // NULL once it answered
};

static void asked_closed(struct visit *v, const struct failure *why)
{
    struct asked *a = v->state;
    (void)why;
    if (a->question != NULL)
        volume_question_cancel(a->question);
    a->question = NULL;
}

static void asked_free(struct visit *v)
{
    free(v->state);
}

static struct asked *asked_new(struct visit *v)
{
    static const struct visit_ops ops = {.closed = asked_closed, .free = asked_free};
    struct asked *a = memory_new(sizeof *a);
    a->v = v;
    v->state = a;
    v->ops = &ops;
    return a;
}

static void write_row(struct visit *v, const struct volume_view *view, struct json_writer *w)
{
    struct handle_name name;
    json_object_open(w);
    json_write_member_string(w, "name", view->name);
    json_write_member_string(w, "profile", view->profile);
    json_write_member_i64(w, "bytes", view->bytes);
    sandboxes_write_time(w, "created_at", view->created_ms);
    sandboxes_write_time(w, "used_at", view->used_ms);
    json_write_member_string(w, "state", view->sandbox[0] != '\0' ? "in use" : "free");
    if (view->sandbox[0] == '\0') {
        sandboxes_write_time(w, "expires_at", view->expires_ms);
    } else {
        memcpy(name.sandbox, view->sandbox, sizeof name.sandbox);
        memcpy(name.profile, view->profile, sizeof name.profile);
        sandboxes_write_handle(v, "", &name, w);
    }
    json_object_close(w);
}

static void listed(void *owner, const struct volume_view *views, size_t count,
                   const struct failure *why)
{
    struct asked *a = owner;
    struct buffer body;
    struct json_writer w;
    a->question = NULL;
    if (why != NULL) {
        visit_respond_failure(a->v, why, 1000);
        return;
    }
    buffer_init(&body, LIST_MOST * ROW_BYTES);
    json_writer_init(&w, &body);
    json_object_open(&w);
    json_write_key(&w, "volumes");
    json_array_open(&w);
    for (size_t i = 0; i < count; i++)
        if (views[i].name[0] != '\0') // one whose key is gone cannot be named any more
            write_row(a->v, &views[i], &w);
    json_array_close(&w);
    json_object_close(&w);
    sandboxes_respond_json(a->v, 200, &w);
    buffer_fini(&body);
}

void volumes_list(struct visit *v)
{
    struct asked *a = asked_new(v);
    a->question = binder_list_volumes(v->proxy->binder, v->principal, listed, a);
}

static void deleted(void *owner, const struct failure *why)
{
    struct asked *a = owner;
    a->question = NULL;
    if (why == NULL)
        visit_respond(a->v, 204, NULL, 0, SPAN_LITERAL(""));
    else
        visit_respond_failure(a->v, why, why->fault == FAULT_NOT_FOUND ? 0 : 1000);
}

void volumes_delete(struct visit *v)
{
    struct asked *a = asked_new(v);
    v->is_audited = true;
    a->question =
        binder_delete_volume(v->proxy->binder, v->principal, v->match.parameters[0], deleted, a);
}
