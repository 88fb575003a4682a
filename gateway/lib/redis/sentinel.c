// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/redis/sentinel.h"

#include <stdlib.h>

#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/redis/connection.h"

enum { POLL_MS = 1000, ROUND_AGAIN_MS = 500, ANSWER_BYTES = 64 * 1024 };

struct sentinel {
    struct loop *loop;
    const struct redis_options *with; // borrowed
    const struct sentinel_ops *ops;
    void *owner;
    struct connection *connection; // NULL between two attempts
    struct connection *ear;        // to the same one, subscribed; NULL: it is only asked
    size_t next;                   // of the places
    size_t failed;                 // in a row
    struct timer poll, late;
    bool asked; // an answer is under way
    bool stale; // what it says may be from before the change
};

static void connect_next(struct sentinel *s);

static void close_ear(struct sentinel *s)
{
    if (s->ear != NULL)
        connection_close(s->ear, NULL);
    s->ear = NULL;
}

static void leave(struct sentinel *s, const struct failure *why)
{
    if (s->connection != NULL)
        connection_close(s->connection, NULL);
    s->connection = NULL;
    s->asked = s->stale = false;
    close_ear(s);
    timer_cancel(&s->late);
    bool round_over = ++s->failed % s->with->place_count == 0;
    timer_start(&s->poll, round_over ? ROUND_AGAIN_MS : 0);
    if (round_over)
        s->ops->lost(s->owner, why);
}

static void too_late(struct timer *timer)
{
    struct sentinel *s = CONTAINER_OF(timer, struct sentinel, late);
    struct failure why;
    failure_set(&why, FAULT_UNAVAILABLE, "the Sentinel at %s does not answer",
                connection_place(s->connection)->host);
    leave(s, &why);
}

static void ask(struct sentinel *s)
{
    const char *const words[] = {"SENTINEL", "get-master-addr-by-name", s->with->master};
    struct failure why;
    if (s->asked)
        return;
    struct redis_command *c = command_new(3, words, NULL, NULL, NULL);
    if (connection_send(s->connection, c, &why) != 0) {
        command_free(c);
        leave(s, &why);
        return;
    }
    s->asked = true;
    timer_start(&s->late, s->with->connect_ms);
}

static void ready(void *owner)
{
    ask(owner);
}

// Hearing -----------------------------------------------------------------------------------------

// The first one comes where a failover is led and names the new master as soon as it is one, the
// other everywhere at its end.
static void ear_ready(void *owner)
{
    static const char *const words[] = {"SUBSCRIBE", "+promoted-slave", "+switch-master"};
    struct sentinel *s = owner;
    struct redis_command *c = command_new(3, words, NULL, NULL, NULL);
    if (connection_send(s->ear, c, NULL) != 0) {
        command_free(c);
        close_ear(s);
    }
}

static void subscribed(void *owner, struct redis_command *c, const struct redis_reply *reply)
{
    (void)reply; // one that refuses by its ACL is asked each second all the same
    command_free(c);
    sentinel_ask(owner); // what changed before is not told any more
}

// ["message", channel, words]; who the master is is asked, not believed.
static void heard(void *owner, const struct redis_reply *reply)
{
    struct sentinel *s = owner;
    if (!span_is(reply_text_at(reply, 0), "message"))
        return;
    s->stale = s->asked;
    sentinel_ask(s);
}

static void ear_closed(void *owner, struct list *sent, const struct failure *why)
{
    struct sentinel *s = owner;
    (void)why; // it is opened again once the Sentinel answers again
    for (struct list *node; (node = list_pop(sent)) != NULL;)
        command_free(LIST_ENTRY(node, struct redis_command, node));
    s->ear = NULL;
}

static struct connection *connect_to(struct sentinel *s, const struct redis_place *place,
                                     const struct connection_ops *with_ops)
{
    const struct redis_options *with = s->with;
    const struct connection_options options = {
        .place = *place,
        .tls = with->tls,
        .user = with->sentinel_user,
        .password = with->sentinel_password,
        .connect_ms = with->connect_ms,
        .reply_bytes = ANSWER_BYTES,
        .resolv_conf = with->resolv_conf,
    };
    return connection_open(s->loop, &options, with_ops, s);
}

static void open_ear(struct sentinel *s)
{
    static const struct connection_ops ear_ops = {
        .ready = ear_ready, .answered = subscribed, .told = heard, .closed = ear_closed};
    s->ear = connect_to(s, connection_place(s->connection), &ear_ops);
}

// Asking ------------------------------------------------------------------------------------------

static void answered(void *owner, struct redis_command *c, const struct redis_reply *reply)
{
    struct sentinel *s = owner;
    struct redis_place place = {0};
    struct failure why;
    uint64_t port;
    command_free(c);
    s->asked = false;
    timer_cancel(&s->late);
    if (!span_copy_string(reply_text_at(reply, 0), place.host, sizeof place.host) ||
        !span_to_u64(reply_text_at(reply, 1), &port) || port == 0 || port > UINT16_MAX) {
        failure_set(&why, FAULT_UNAVAILABLE, "the Sentinel at %s knows no master %s",
                    connection_place(s->connection)->host, s->with->master);
        leave(s, &why);
        return;
    }
    place.port = (uint16_t)port;
    s->failed = 0;
    timer_start(&s->poll, s->stale ? 0 : POLL_MS);
    s->stale = false;
    if (s->ear == NULL)
        open_ear(s);
    s->ops->found(s->owner, &place);
}

static void closed(void *owner, struct list *sent, const struct failure *why)
{
    struct sentinel *s = owner;
    struct failure mine = *why;
    for (struct list *node; (node = list_pop(sent)) != NULL;)
        command_free(LIST_ENTRY(node, struct redis_command, node));
    s->connection = NULL;
    failure_prefix(&mine, "Sentinel");
    leave(s, &mine);
}

static const struct connection_ops ops = {.ready = ready, .answered = answered, .closed = closed};

static void connect_next(struct sentinel *s)
{
    const struct redis_options *with = s->with;
    s->connection = connect_to(s, &with->places[s->next++ % with->place_count], &ops);
}

static void poll_now(struct timer *timer)
{
    struct sentinel *s = CONTAINER_OF(timer, struct sentinel, poll);
    if (s->connection == NULL)
        connect_next(s);
    else if (connection_is_ready(s->connection))
        ask(s);
}

struct sentinel *sentinel_open(struct loop *loop, const struct redis_options *options,
                               const struct sentinel_ops *sentinel_ops, void *owner)
{
    struct sentinel *s = memory_new(sizeof *s);
    *s = (struct sentinel){.loop = loop, .with = options, .ops = sentinel_ops, .owner = owner};
    timer_init(&s->poll, loop, poll_now);
    timer_init(&s->late, loop, too_late);
    return s;
}

static void sentinel_free(void *object)
{
    free(object);
}

void sentinel_close(struct sentinel *s)
{
    if (s == NULL)
        return;
    if (s->connection != NULL)
        connection_close(s->connection, NULL);
    close_ear(s);
    timer_cancel(&s->poll);
    timer_cancel(&s->late);
    loop_bury(s->loop, s, sentinel_free);
}

void sentinel_ask(struct sentinel *s)
{
    timer_start(&s->poll, 0);
}
