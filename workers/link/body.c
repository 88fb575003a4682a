// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "workers/link/service.h"

struct collector {
    struct handler handler;
    struct service *service; // borrowed
    struct buffer body;
    void (*handle)(struct service *s, struct exchange *ex, struct span body);
};

static void collector_free(void *object)
{
    struct collector *c = object;
    buffer_fini(&c->body);
    free(c);
}

static void collector_bury(struct collector *c)
{
    loop_bury(c->service->options.loop, c, collector_free);
}

static void on_body(struct handler *h, struct span bytes)
{
    struct collector *c = CONTAINER_OF(h, struct collector, handler);
    (void)buffer_append(&c->body, bytes); // the server counts too and ends it with 413
}

static void on_body_ended(struct handler *h)
{
    struct collector *c = CONTAINER_OF(h, struct collector, handler);
    exchange_set_user(h->ex, NULL);
    c->handle(c->service, h->ex, buffer_span(&c->body));
    collector_bury(c);
}

static void on_closed(struct handler *h)
{
    collector_bury(CONTAINER_OF(h, struct collector, handler));
}

static const struct handler_ops collector_ops = {
    .body = on_body, .body_ended = on_body_ended, .closed = on_closed};

void body_collect(struct service *s, struct exchange *ex, size_t limit_bytes,
                  void (*handle)(struct service *s, struct exchange *ex, struct span body))
{
    struct collector *c = memory_new(sizeof *c);
    *c = (struct collector){.service = s, .handle = handle};
    buffer_init(&c->body, limit_bytes);
    handler_take(&c->handler, &collector_ops, ex);
    exchange_read_body(ex, limit_bytes);
}
