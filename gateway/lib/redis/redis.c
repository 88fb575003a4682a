// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/redis/redis.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/lib/base/random.h"
#include "gateway/lib/crypto/digest.h"
#include "gateway/lib/file/file.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/redis/connection.h"
#include "gateway/lib/redis/refusal.h"
#include "gateway/lib/redis/sentinel.h"

enum {
    BACKOFF_FIRST_MS = 50,
    BACKOFF_MOST_MS = 2000,
    TRIES_MOST = 8,
    SCRIPTS_MOST = 32,
    PASSWORD_BYTES = 1024,
};

struct redis {
    struct loop *loop;
    struct redis_options with;
    struct connection *main, *aside; // NULL: none; aside: where ASK sent us
    struct list unsent, unsent_aside;
    size_t count; // commands not yet answered, but the refused
    bool leaving; // main is left once everything that was sent on it is answered
    struct redis_place moved_to;
    bool was_moved;
    size_t next_place;
    struct sentinel *sentinel; // NULL but in its mode
    bool searching;            // the Sentinels' answer is connected to
    struct failure trouble;    // fault 0: up, or trying for the first time
    struct timer late, again, pause;
    int64_t backoff_ms;
    struct list refused;
    struct task refuse;
    const struct redis_script *scripts[SCRIPTS_MOST]; // borrowed
    size_t script_count;
    bool closed;
};

static void connect_main(struct redis *r);
static void flush(struct redis *r);

// Refusing ------------------------------------------------------------------------------------

static void refuse_run(struct task *task)
{
    struct redis *r = CONTAINER_OF(task, struct redis, refuse);
    for (struct list *node; !r->closed && (node = list_pop(&r->refused)) != NULL;) {
        struct redis_command *c = LIST_ENTRY(node, struct redis_command, node);
        struct failure why = c->why;
        command_answer(c, NULL, &why);
    }
}

static void refuse_later(struct redis *r, struct redis_command *c, const struct failure *why)
{
    c->why = *why;
    c->why.fault = FAULT_UNAVAILABLE;
    list_remove(&c->node);
    list_append(&r->refused, &c->node);
    loop_defer(r->loop, &r->refuse);
}

static void refuse_list(struct redis *r, struct list *commands, const struct failure *why)
{
    for (struct list *node; (node = list_pop(commands)) != NULL;) {
        r->count--;
        refuse_later(r, LIST_ENTRY(node, struct redis_command, node), why);
    }
}

// Deadlines -----------------------------------------------------------------------------------

static int64_t list_due_ms(const struct list *l)
{
    return list_is_empty(l) ? INT64_MAX : LIST_ENTRY(l->next, struct redis_command, node)->due_ms;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void watch_oldest(struct redis *r)
{
    int64_t due = least(list_due_ms(&r->unsent), list_due_ms(&r->unsent_aside));
    if (r->main != NULL)
        due = least(due, connection_due_ms(r->main));
    if (r->aside != NULL)
        due = least(due, connection_due_ms(r->aside));
    if (due == INT64_MAX)
        timer_cancel(&r->late);
    else
        timer_start(&r->late, due - loop_now_ms(r->loop));
}

static void refuse_due(struct redis *r, struct list *commands, int64_t now)
{
    struct failure why;
    failure_set(&why, FAULT_UNAVAILABLE, "Redis: not connected in time");
    LIST_EACH(node, commands)
    {
        struct redis_command *c = LIST_ENTRY(node, struct redis_command, node);
        if (c->due_ms > now)
            return;
        r->count--;
        refuse_later(r, c, &why);
    }
}

// Reconnecting --------------------------------------------------------------------------------

// Half of the wait and up to as much again, so that replicas do not come all at once.
static void connect_later(struct redis *r)
{
    uint32_t number;
    random_bytes(&number, sizeof number);
    timer_start(&r->again, r->backoff_ms / 2 + number % (r->backoff_ms / 2 + 1));
    r->backoff_ms = least(r->backoff_ms * 2, BACKOFF_MOST_MS);
}

static void hang_up(struct redis *r, struct list *sent, const struct failure *why)
{
    bool was_up = r->trouble.fault == 0;
    r->main = NULL;
    r->leaving = false;
    r->searching = false;
    r->was_moved = false;
    r->trouble = *why;
    refuse_list(r, sent, why);
    refuse_list(r, &r->unsent, why);
    connect_later(r);
    watch_oldest(r);
    if (was_up && r->with.down != NULL)
        r->with.down(r->with.owner, why);
}

static void drop_main(struct redis *r, const struct failure *why)
{
    struct list sent;
    list_init(&sent);
    connection_close(r->main, &sent);
    hang_up(r, &sent, why);
}

static void drop_aside(struct redis *r, const struct failure *why)
{
    struct list sent;
    list_init(&sent);
    connection_close(r->aside, &sent);
    r->aside = NULL;
    refuse_list(r, &sent, why);
    refuse_list(r, &r->unsent_aside, why);
    watch_oldest(r);
}

static void too_late(struct timer *timer)
{
    struct redis *r = CONTAINER_OF(timer, struct redis, late);
    int64_t now = loop_now_ms(r->loop);
    struct failure why;
    failure_set(&why, FAULT_UNAVAILABLE, "Redis does not answer within %lld ms",
                (long long)r->with.command_ms);
    refuse_due(r, &r->unsent, now);
    refuse_due(r, &r->unsent_aside, now);
    if (r->aside != NULL && connection_due_ms(r->aside) <= now)
        drop_aside(r, &why);
    if (r->main != NULL && connection_due_ms(r->main) <= now)
        drop_main(r, &why);
    watch_oldest(r);
}

// To where the next commands go: what was sent is answered.
static void leave_when_idle(struct redis *r)
{
    if (!r->leaving || r->main == NULL || connection_due_ms(r->main) != INT64_MAX)
        return;
    connection_close(r->main, NULL);
    r->main = NULL;
    r->leaving = false;
    r->searching = false;
    if (r->was_moved)
        timer_start(&r->again, 0);
    else
        connect_later(r);
}

// Answers -------------------------------------------------------------------------------------

static void again_unsent(struct redis *r, struct redis_command *c)
{
    struct failure why;
    if (++c->tries > TRIES_MOST) {
        failure_set(&why, FAULT_UNAVAILABLE, "Redis: no server runs the command");
        r->count--;
        refuse_later(r, c, &why);
        return;
    }
    // Behind those that came before it: each of them is sent back in order.
    struct list *after = &r->unsent;
    while (after->next != &r->unsent &&
           LIST_ENTRY(after->next, struct redis_command, node)->due_ms <= c->due_ms)
        after = after->next;
    list_prepend(after, &c->node);
}

static void send_aside(struct redis *r, struct redis_command *c, const struct redis_place *place);

static void take_refusal(struct redis *r, struct redis_command *c, const struct refusal *refusal)
{
    switch (refusal->kind) {
    case REFUSAL_NO_SCRIPT:
        if (c->script != NULL && command_send_whole_script(c) == 0)
            again_unsent(r, c);
        break;
    case REFUSAL_MOVED:
        r->was_moved = true;
        r->moved_to = refusal->place;
        r->leaving = true;
        again_unsent(r, c);
        break;
    case REFUSAL_ASK:
        send_aside(r, c, &refusal->place);
        break;
    case REFUSAL_NOT_MASTER:
        r->leaving = true;
        again_unsent(r, c);
        break;
    default: // REFUSAL_LATER
        again_unsent(r, c);
        timer_start(&r->pause, BACKOFF_FIRST_MS);
    }
}

static void take_answer(struct redis *r, struct redis_command *c, const struct redis_reply *reply,
                        const struct redis_place *from)
{
    struct refusal refusal;
    struct failure why;
    refusal_read(reply, from, &refusal);
    bool follows = r->with.mode == REDIS_CLUSTER ||
                   (refusal.kind != REFUSAL_MOVED && refusal.kind != REFUSAL_ASK);
    bool has_script = c->script != NULL || refusal.kind != REFUSAL_NO_SCRIPT;
    if (refusal.kind == REFUSAL_NONE || !follows || !has_script) {
        r->count--;
        command_answer(c, reply, NULL);
    } else if (refusal.kind == REFUSAL_UNAVAILABLE) {
        r->count--;
        failure_set(&why, FAULT_UNAVAILABLE, "Redis: %.*s", SPAN_ARGS(reply->text));
        command_answer(c, NULL, &why);
    } else {
        take_refusal(r, c, &refusal);
    }
}

static void main_answered(void *owner, struct redis_command *c, const struct redis_reply *reply)
{
    struct redis *r = owner;
    const struct redis_place from = *connection_place(r->main);
    take_answer(r, c, reply, &from);
    if (r->closed)
        return;
    leave_when_idle(r);
    flush(r);
    watch_oldest(r);
}

static void main_closed(void *owner, struct list *sent, const struct failure *why)
{
    hang_up(owner, sent, why);
}

static void load(struct redis *r, const struct redis_script *script)
{
    const char *const words[] = {"SCRIPT", "LOAD", script->text};
    redis_ask(r, 3, words, NULL, NULL, NULL);
}

static void main_ready(void *owner)
{
    struct redis *r = owner;
    r->backoff_ms = BACKOFF_FIRST_MS;
    r->trouble.fault = 0;
    for (size_t i = 0; i < r->script_count; i++)
        load(r, r->scripts[i]);
    if (r->with.up != NULL)
        r->with.up(r->with.owner);
    if (!r->closed)
        flush(r);
}

static const struct connection_ops main_ops = {
    .ready = main_ready, .answered = main_answered, .closed = main_closed};

// Aside: a slot on its way to another node ----------------------------------------------------

static void flush_aside(struct redis *r)
{
    const char *const asking[] = {"ASKING"};
    struct failure why;
    for (struct list *node; (node = list_pop(&r->unsent_aside)) != NULL;) {
        struct redis_command *c = LIST_ENTRY(node, struct redis_command, node);
        struct redis_command *before = command_new(1, asking, NULL, NULL, NULL);
        before->due_ms = c->due_ms;
        r->count++;
        if (connection_send(r->aside, before, &why) != 0) {
            r->count -= 2;
            command_free(before);
            refuse_later(r, c, &why);
        } else if (connection_send(r->aside, c, &why) != 0) {
            r->count--;
            refuse_later(r, c, &why);
        }
    }
    watch_oldest(r);
}

static void aside_ready(void *owner)
{
    flush_aside(owner);
}

static void aside_answered(void *owner, struct redis_command *c, const struct redis_reply *reply)
{
    struct redis *r = owner;
    const struct redis_place from = *connection_place(r->aside);
    take_answer(r, c, reply, &from);
    if (r->closed)
        return;
    flush(r);
    watch_oldest(r);
}

static void aside_closed(void *owner, struct list *sent, const struct failure *why)
{
    struct redis *r = owner;
    r->aside = NULL;
    refuse_list(r, sent, why);
    refuse_list(r, &r->unsent_aside, why);
    watch_oldest(r);
}

static const struct connection_ops aside_ops = {
    .ready = aside_ready, .answered = aside_answered, .closed = aside_closed};

// Connecting ----------------------------------------------------------------------------------

static bool read_password(const struct redis *r, char *out, size_t size)
{
    struct buffer content;
    int fd = open(r->with.password_file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    buffer_init(&content, size - 1);
    int rc = file_read_all(fd, r->with.password_file, &content, NULL);
    close(fd);
    struct span text = buffer_span(&content), line = span_split(&text, '\n');
    bool fits = rc == 0 && span_copy_string(line, out, size);
    memory_wipe(content.data, content.data != NULL ? content.capacity : 0);
    buffer_fini(&content);
    return fits;
}

static struct connection *open_to(struct redis *r, const struct redis_place *place,
                                  const struct connection_ops *ops)
{
    char password[PASSWORD_BYTES];
    bool from_file = r->with.password_file != NULL && read_password(r, password, sizeof password);
    const struct connection_options options = {
        .place = *place,
        .tls = r->with.tls,
        .user = r->with.user,
        .password = from_file ? password : r->with.password,
        .database = r->with.database,
        .must_be_master = r->with.mode == REDIS_SENTINEL,
        .connect_ms = r->with.connect_ms,
        .reply_bytes = r->with.reply_bytes,
        .resolv_conf = r->with.resolv_conf,
    };
    struct connection *c = connection_open(r->loop, &options, ops, r);
    memory_wipe(password, sizeof password);
    return c;
}

static bool is_same_place(const struct redis_place *a, const struct redis_place *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

static void send_aside(struct redis *r, struct redis_command *c, const struct redis_place *place)
{
    if (r->aside != NULL && !is_same_place(connection_place(r->aside), place)) {
        if (connection_due_ms(r->aside) != INT64_MAX || !list_is_empty(&r->unsent_aside)) {
            again_unsent(r, c); // one such move at a time
            timer_start(&r->pause, BACKOFF_FIRST_MS);
            return;
        }
        connection_close(r->aside, NULL);
        r->aside = NULL;
    }
    if (r->aside == NULL)
        r->aside = open_to(r, place, &aside_ops);
    list_append(&r->unsent_aside, &c->node);
    if (connection_is_ready(r->aside))
        flush_aside(r);
}

static void master_found(void *owner, const struct redis_place *master)
{
    struct redis *r = owner;
    struct failure why;
    if (r->main == NULL && r->searching) {
        r->searching = false;
        r->main = open_to(r, master, &main_ops);
        return;
    }
    if (r->main == NULL || is_same_place(connection_place(r->main), master))
        return;
    failure_set(&why, FAULT_UNAVAILABLE, "the Sentinels name another master now");
    r->backoff_ms = BACKOFF_FIRST_MS;
    drop_main(r, &why);
}

static void master_lost(void *owner, const struct failure *why)
{
    struct redis *r = owner;
    struct list none;
    list_init(&none);
    if (r->main == NULL && r->searching)
        hang_up(r, &none, why);
}

static const struct sentinel_ops sentinel_ops = {.found = master_found, .lost = master_lost};

static void connect_main(struct redis *r)
{
    if (r->with.mode == REDIS_SENTINEL) {
        r->searching = true;
        sentinel_ask(r->sentinel);
        return;
    }
    struct redis_place place =
        r->was_moved ? r->moved_to : r->with.places[r->next_place++ % r->with.place_count];
    r->was_moved = false;
    r->main = open_to(r, &place, &main_ops);
}

static void on_again(struct timer *timer)
{
    connect_main(CONTAINER_OF(timer, struct redis, again));
}

static void on_pause(struct timer *timer)
{
    flush(CONTAINER_OF(timer, struct redis, pause));
}

// Asking --------------------------------------------------------------------------------------

static void flush(struct redis *r)
{
    struct failure why;
    if (r->main == NULL || !connection_is_ready(r->main) || r->leaving ||
        timer_is_pending(&r->pause))
        return;
    for (struct list *node; (node = list_pop(&r->unsent)) != NULL;) {
        struct redis_command *c = LIST_ENTRY(node, struct redis_command, node);
        if (connection_send(r->main, c, &why) != 0) {
            r->count--;
            refuse_later(r, c, &why);
        }
    }
    watch_oldest(r);
}

static void submit(struct redis *r, struct redis_command *c)
{
    struct failure why;
    c->due_ms = loop_now_ms(r->loop) + r->with.command_ms;
    if (r->count >= r->with.queue) {
        failure_set(&why, FAULT_UNAVAILABLE, "Redis: %zu commands wait already", r->count);
        refuse_later(r, c, &why);
        return;
    }
    if (r->trouble.fault != 0) {
        refuse_later(r, c, &r->trouble);
        return;
    }
    bool first = r->count++ == 0;
    list_append(&r->unsent, &c->node);
    flush(r);
    if (first)
        watch_oldest(r);
}

void redis_ask(struct redis *r, int argc, const char *const *argv, const size_t *sizes,
               redis_done *done, void *owner)
{
    submit(r, command_new(argc, argv, sizes, done, owner));
}

void redis_load(struct redis *r, struct redis_script *script)
{
    if (r->script_count == SCRIPTS_MOST)
        abort();
    r->scripts[r->script_count++] = script;
    sha1_hex(span_from_string(script->text), script->sha);
    if (redis_is_up(r))
        load(r, script);
}

void redis_run(struct redis *r, const struct redis_script *script, int keys, int argc,
               const char *const *argv, redis_done *done, void *owner)
{
    char count[16];
    const char **words = memory_new_array((size_t)argc + 3, sizeof *words);
    snprintf(count, sizeof count, "%d", keys);
    words[0] = "EVALSHA";
    words[1] = script->sha;
    words[2] = count;
    memcpy(words + 3, argv, (size_t)argc * sizeof *words);
    struct redis_command *c = command_new(argc + 3, words, NULL, done, owner);
    free(words);
    c->script = script;
    submit(r, c);
}

bool redis_is_up(const struct redis *r)
{
    return r->main != NULL && connection_is_ready(r->main) && !r->leaving;
}

struct redis *redis_open(struct loop *loop, const struct redis_options *options)
{
    struct redis *r = memory_new(sizeof *r);
    *r = (struct redis){.loop = loop, .with = *options, .backoff_ms = BACKOFF_FIRST_MS};
    list_init(&r->unsent);
    list_init(&r->unsent_aside);
    list_init(&r->refused);
    timer_init(&r->late, loop, too_late);
    timer_init(&r->again, loop, on_again);
    timer_init(&r->pause, loop, on_pause);
    task_init(&r->refuse, refuse_run);
    if (options->mode == REDIS_SENTINEL)
        r->sentinel = sentinel_open(loop, &r->with, &sentinel_ops, r);
    connect_main(r);
    return r;
}

static void free_list(struct list *commands)
{
    for (struct list *node; (node = list_pop(commands)) != NULL;)
        command_free(LIST_ENTRY(node, struct redis_command, node));
}

static void redis_free(void *object)
{
    free(object);
}

void redis_close(struct redis *r)
{
    if (r == NULL || r->closed)
        return;
    r->closed = true;
    if (r->main != NULL)
        connection_close(r->main, NULL);
    if (r->aside != NULL)
        connection_close(r->aside, NULL);
    sentinel_close(r->sentinel);
    free_list(&r->unsent);
    free_list(&r->unsent_aside);
    free_list(&r->refused);
    timer_cancel(&r->late);
    timer_cancel(&r->again);
    timer_cancel(&r->pause);
    task_cancel(&r->refuse);
    loop_bury(r->loop, r, redis_free);
}
