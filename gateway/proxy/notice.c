// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/notice.h"

#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/upstream/link_call.h"

struct notices {
    struct binder *binder; // borrowed
    struct list sending;   // owned
    size_t count;
};

struct notice {
    struct list node;
    struct notices *all;
    struct bind_wait *wait;
    char *session, *message; // owned
    const char *version;
};

struct notices *notices_new(struct binder *binder)
{
    struct notices *all = memory_new(sizeof *all);
    all->binder = binder;
    list_init(&all->sending);
    return all;
}

static void notice_free(struct notice *n)
{
    list_remove(&n->node);
    n->all->count--;
    free(n->session);
    free(n->message);
    free(n);
}

void notices_free(struct notices *all)
{
    LIST_EACH(node, &all->sending)
    {
        struct notice *n = LIST_ENTRY(node, struct notice, node);
        bind_wait_cancel(n->wait);
        notice_free(n);
    }
    free(all);
}

static void on_reached(void *owner, struct lease *lease, const struct failure *why,
                       int64_t retry_after_ms)
{
    struct notice *n = owner;
    (void)why;
    (void)retry_after_ms;
    if (lease != NULL) {
        struct link_request request = {
            .lease = lease,
            .session = span_from_string(n->session),
            .reader = span_from_string(n->session),
            .version = n->version,
            .accepts_json = true,
            .body = span_from_string(n->message),
        };
        link_notify(&request);
        lease_release(lease);
    }
    notice_free(n);
}

void notice_send(struct notices *all, const struct bind_request *session, const char *version,
                 struct span message)
{
    if (all->count >= NOTICES_MAX || message.size > NOTICE_BYTES)
        return;
    struct notice *n = memory_new(sizeof *n);
    *n = (struct notice){
        .all = all,
        .session = memory_copy_span(session->session),
        .message = memory_copy_span(message),
        .version = version,
    };
    list_append(&all->sending, &n->node);
    all->count++;
    n->wait = binder_reach(all->binder, session, on_reached, n);
}
