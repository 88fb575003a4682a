// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/redis/connection.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/names.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/net/stream.h"
#include "gateway/lib/tls/tls.h"

enum { WRITE_BYTES = 8 * 1024 * 1024, READ_BYTES = 64 * 1024, GREETINGS = 3 };

enum greeting { GREETING_AUTH, GREETING_SELECT, GREETING_ROLE };

struct connection {
    struct loop *loop;
    struct redis_place place;
    const struct tls_context *tls; // borrowed
    const struct connection_ops *ops;
    void *owner;
    size_t reply_bytes;
    struct names_query *naming; // NULL but while its name is looked for
    struct stream *stream;      // NULL until then
    struct reply_reader *reader;
    enum greeting greeting[GREETINGS]; // answers that are still to come, in order
    size_t greetings, greeted;
    struct redis_command *greeting_commands[GREETINGS]; // owned, until they are written
    struct list sent;
    struct timer deadline; // until it is greeted
    int64_t started_ms, connect_ms;
    bool ready, closed;
};

static void connection_free(void *object)
{
    struct connection *c = object;
    for (size_t i = 0; i < GREETINGS; i++)
        if (c->greeting_commands[i] != NULL)
            command_free(c->greeting_commands[i]);
    reply_reader_free(c->reader);
    free(c);
}

void connection_close(struct connection *c, struct list *sent)
{
    if (c->closed)
        return;
    c->closed = true;
    c->ready = false;
    timer_cancel(&c->deadline);
    names_cancel(c->naming);
    if (c->stream != NULL)
        stream_close(c->stream);
    for (struct list *node; (node = list_pop(&c->sent)) != NULL;) {
        struct redis_command *command = LIST_ENTRY(node, struct redis_command, node);
        if (sent != NULL)
            list_append(sent, node);
        else
            command_free(command);
    }
    loop_bury(c->loop, c, connection_free);
}

static void fail(struct connection *c, const struct failure *why)
{
    struct list sent;
    struct failure mine = *why;
    list_init(&sent);
    failure_prefix(&mine, "Redis at %s", c->place.host);
    mine.fault = FAULT_UNAVAILABLE;
    connection_close(c, &sent);
    c->ops->closed(c->owner, &sent, &mine);
}

static void too_late(struct timer *timer)
{
    struct connection *c = CONTAINER_OF(timer, struct connection, deadline);
    struct failure why;
    failure_set(&why, FAULT_TIMEOUT, "%s took longer than %lld ms",
                c->stream == NULL ? "looking for its address" : "connecting and greeting",
                (long long)c->connect_ms);
    fail(c, &why);
}

// Greeting ------------------------------------------------------------------------------------

static void add_greeting(struct connection *c, enum greeting greeting, int argc,
                         const char *const *argv)
{
    c->greeting[c->greetings] = greeting;
    c->greeting_commands[c->greetings++] = command_new(argc, argv, NULL, NULL, NULL);
}

static void prepare_greeting(struct connection *c, const struct connection_options *o)
{
    char number[16];
    if (o->password != NULL && o->user != NULL && o->user[0] != '\0') {
        const char *const auth[] = {"AUTH", o->user, o->password};
        add_greeting(c, GREETING_AUTH, 3, auth);
    } else if (o->password != NULL) {
        const char *const auth[] = {"AUTH", o->password};
        add_greeting(c, GREETING_AUTH, 2, auth);
    }
    if (o->database != 0) {
        snprintf(number, sizeof number, "%d", o->database);
        const char *const select[] = {"SELECT", number};
        add_greeting(c, GREETING_SELECT, 2, select);
    }
    // Where nothing else need be said: that it answers at all.
    const char *const role[] = {"ROLE"}, *const ping[] = {"PING"};
    if (o->must_be_master)
        add_greeting(c, GREETING_ROLE, 1, role);
    else if (c->greetings == 0)
        add_greeting(c, GREETING_SELECT, 1, ping);
}

static int check_greeting(enum greeting greeting, const struct redis_reply *reply,
                          struct failure *why)
{
    struct span role = reply_text_at(reply, 0);
    if (reply->kind == REPLY_ERROR)
        return failure_set(why, FAULT_UNAVAILABLE, "%.*s", SPAN_ARGS(reply->text));
    if (greeting == GREETING_ROLE && !span_is(role, "master"))
        return failure_set(why, FAULT_UNAVAILABLE, "it is no master but a %.*s", SPAN_ARGS(role));
    return 0;
}

static void take_greeting(struct connection *c, const struct redis_reply *reply)
{
    struct failure why;
    if (check_greeting(c->greeting[c->greeted++], reply, &why) != 0) {
        fail(c, &why);
        return;
    }
    if (c->greeted < c->greetings)
        return;
    c->ready = true;
    timer_cancel(&c->deadline);
    c->ops->ready(c->owner);
}

// Answers -------------------------------------------------------------------------------------

static int take_reply(struct connection *c, const struct redis_reply *reply, struct failure *why)
{
    if (c->greeted < c->greetings) {
        take_greeting(c, reply);
        return 0;
    }
    struct list *node = list_pop(&c->sent);
    if (node == NULL && c->ops->told == NULL)
        return failure_set(why, FAULT_PEER, "an answer that nobody asked for");
    if (node == NULL) {
        c->ops->told(c->owner, reply);
        return 0;
    }
    c->ops->answered(c->owner, LIST_ENTRY(node, struct redis_command, node), reply);
    return 0;
}

static void readable(void *owner, struct buffer *in)
{
    struct connection *c = owner;
    struct failure why;
    int rc = reply_reader_feed(c->reader, buffer_span(in), &why);
    buffer_consume(in, buffer_size(in));
    const struct redis_reply *reply = NULL;
    while (rc == 0 && !c->closed) {
        rc = reply_reader_next(c->reader, &reply, &why);
        if (rc == 0 && reply == NULL)
            return;
        if (rc == 0)
            rc = take_reply(c, reply, &why);
    }
    if (rc != 0)
        fail(c, &why);
}

static void read_ended(void *owner)
{
    struct failure why;
    failure_set(&why, FAULT_CLOSED, "it closed the connection");
    fail(owner, &why);
}

static void drained(void *owner)
{
    (void)owner;
}

static void closed(void *owner, const struct failure *why)
{
    fail(owner, why);
}

static const struct stream_ops stream_ops = {
    .readable = readable, .read_ended = read_ended, .drained = drained, .closed = closed};

// Connecting ----------------------------------------------------------------------------------

static void connect_to(struct connection *c, const struct address *address)
{
    const struct stream_limits limits = {READ_BYTES, WRITE_BYTES, WRITE_BYTES, WRITE_BYTES / 2};
    c->stream = c->tls != NULL
                    ? tls_connect(c->loop, c->tls, address, c->place.host, &limits, c->connect_ms)
                    : stream_connect(c->loop, address, &limits, c->connect_ms);
    stream_set_owner(c->stream, &stream_ops, c);
    for (size_t i = 0; i < c->greetings; i++) {
        struct redis_command *command = c->greeting_commands[i];
        c->greeting_commands[i] = NULL;
        stream_write(c->stream, span_of(command->text, command->size)); // fits: limits are above
        command_free(command);
    }
}

static void named(void *owner, const struct sockaddr_storage *addresses, size_t count,
                  const struct failure *why)
{
    struct connection *c = owner;
    c->naming = NULL;
    if (count == 0) {
        fail(c, why);
        return;
    }
    // Each attempt another of them, so that one that is dead does not hold up the rest.
    static size_t turn;
    struct address address = {.storage = addresses[turn++ % count], .inherited_fd = -1};
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address.storage;
    struct sockaddr_in *in = (struct sockaddr_in *)&address.storage;
    bool v6 = address.storage.ss_family == AF_INET6;
    address.size = v6 ? sizeof *in6 : sizeof *in;
    if (v6)
        in6->sin6_port = htons(c->place.port);
    else
        in->sin_port = htons(c->place.port);
    connect_to(c, &address);
}

static bool literal(const struct redis_place *place, struct address *out)
{
    char text[REDIS_HOST_SIZE + 16];
    if (strncmp(place->host, "unix:", 5) == 0)
        snprintf(text, sizeof text, "%s", place->host);
    else
        snprintf(text, sizeof text, strchr(place->host, ':') != NULL ? "[%s]:%u" : "%s:%u",
                 place->host, place->port);
    return address_parse(span_from_string(text), out, NULL) == 0;
}

struct connection *connection_open(struct loop *loop, const struct connection_options *options,
                                   const struct connection_ops *ops, void *owner)
{
    struct connection *c = memory_new(sizeof *c);
    struct address address;
    *c = (struct connection){.loop = loop,
                             .place = options->place,
                             .tls = options->tls,
                             .ops = ops,
                             .owner = owner,
                             .reply_bytes = options->reply_bytes,
                             .connect_ms = options->connect_ms};
    list_init(&c->sent);
    c->reader = reply_reader_new(options->reply_bytes);
    timer_init(&c->deadline, loop, too_late);
    timer_start(&c->deadline, options->connect_ms);
    prepare_greeting(c, options);
    if (literal(&c->place, &address))
        connect_to(c, &address);
    else
        c->naming = names_find(loop, c->place.host, options->resolv_conf, named, c);
    return c;
}

bool connection_is_ready(const struct connection *c)
{
    return c->ready;
}

const struct redis_place *connection_place(const struct connection *c)
{
    return &c->place;
}

int connection_send(struct connection *c, struct redis_command *command, struct failure *why)
{
    if (stream_write(c->stream, span_of(command->text, command->size)) != 0)
        return failure_set(why, FAULT_UNAVAILABLE, "Redis: too many bytes wait to be sent");
    list_append(&c->sent, &command->node);
    return 0;
}

int64_t connection_due_ms(const struct connection *c)
{
    if (list_is_empty(&c->sent))
        return INT64_MAX;
    return LIST_ENTRY(c->sent.next, struct redis_command, node)->due_ms;
}
