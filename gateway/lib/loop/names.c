// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/loop/names.h"

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <netdb.h>
#include <stdlib.h>

#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/turn.h"

struct names_query {
    struct loop *loop;
    struct evdns_base *dns;                    // owned; one a question, so that changed files count
    struct evdns_getaddrinfo_request *request; // NULL once it is answered
    struct task answer;
    names_done *done; // NULL: cancelled
    void *owner;
    struct failure why;
    struct sockaddr_storage addresses[NAMES_MOST];
    size_t count;
};

static void hand_over(struct task *task)
{
    struct names_query *q = CONTAINER_OF(task, struct names_query, answer);
    evdns_base_free(q->dns, 0);
    if (q->done != NULL)
        q->done(q->owner, q->addresses, q->count, q->count > 0 ? NULL : &q->why);
    free(q);
}

// May come from inside the question.
static void found(int error, struct evutil_addrinfo *list, void *arg)
{
    struct names_query *q = arg;
    q->request = NULL;
    for (struct evutil_addrinfo *a = list; a != NULL && q->count < NAMES_MOST; a = a->ai_next)
        if (a->ai_addrlen <= sizeof q->addresses[0])
            memcpy(&q->addresses[q->count++], a->ai_addr, a->ai_addrlen);
    if (list != NULL)
        evutil_freeaddrinfo(list);
    if (error != 0)
        failure_prefix(&q->why, "%s", evutil_gai_strerror(error));
    loop_defer(q->loop, &q->answer);
}

// The answer says it; libevent would write to stderr.
static void say_nothing(int is_warning, const char *text)
{
    (void)is_warning;
    (void)text;
}

struct names_query *names_find(struct loop *loop, const char *host, const char *resolv_conf,
                               names_done *done, void *owner)
{
    struct names_query *q = memory_new(sizeof *q);
    const struct evutil_addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    q->loop = loop;
    q->done = done;
    q->owner = owner;
    task_init(&q->answer, hand_over);
    failure_set(&q->why, FAULT_UNAVAILABLE, "host %s has no address", host);
    evdns_set_log_fn(say_nothing);
    q->dns = evdns_base_new(loop_base(loop), EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (q->dns == NULL)
        abort();
    evdns_base_set_option(q->dns, "randomize-case", "0"); // not every server keeps it
    evdns_base_set_option(q->dns, "timeout", "1");
    evdns_base_resolv_conf_parse(q->dns, DNS_OPTIONS_ALL,
                                 resolv_conf != NULL ? resolv_conf : "/etc/resolv.conf");
    q->request = evdns_getaddrinfo(q->dns, host, NULL, &hints, found, q);
    return q;
}

// The answer still comes, says that it was cancelled, and frees the question.
void names_cancel(struct names_query *q)
{
    if (q == NULL)
        return;
    q->done = NULL;
    if (q->request != NULL)
        evdns_getaddrinfo_cancel(q->request);
}
