// SPDX-License-Identifier: Apache-2.0
// The client against servers that say what a test wants, in the same loop.
#include "gateway/lib/redis/redis.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/listener.h"
#include "gateway/lib/net/stream.h"

enum { SERVERS = 3, SEEN_BYTES = 4096 };

struct bench;

struct peer {
    struct list node;
    struct server *server;
    struct stream *stream;
    struct reply_reader *reader;
};

struct server {
    struct bench *b;
    char text[ADDRESS_TEXT_SIZE]; // host:port
    struct listener *listener;
    struct list peers;     // who is connected
    struct peer *speaking; // whose command is being answered
    struct peer *subscriber;
    // NULL: nothing is said.
    const char *(*say)(struct server *s, const struct redis_reply *command);
    char seen[SEEN_BYTES]; // each command's words, "a b;c;"
    int connections;
};

struct bench {
    struct clock_fake clock;
    struct loop *loop;
    char folder[64];
    struct server servers[SERVERS];
    struct redis_place places[SERVERS];
    struct redis_options options;
    struct redis *redis;
    int ups, downs;
};

struct heard {
    int answers, failures, fault;
    char text[480];
};

static void hear(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct heard *h = owner;
    h->answers++;
    h->failures += why != NULL;
    h->fault = why != NULL ? why->fault : 0;
    assert_int_equal(why == NULL, reply != NULL);
    span_copy_string(why != NULL ? span_from_string(why->text) : reply->text, h->text,
                     sizeof h->text);
}

static void peer_free(struct peer *p)
{
    list_remove(&p->node);
    if (p->server->subscriber == p)
        p->server->subscriber = NULL;
    reply_reader_free(p->reader);
    free(p);
}

static void server_readable(void *owner, struct buffer *in)
{
    struct peer *p = owner;
    struct server *s = p->server;
    const struct redis_reply *command;
    assert_int_equal(reply_reader_feed(p->reader, buffer_span(in), NULL), 0);
    buffer_consume(in, buffer_size(in));
    while (reply_reader_next(p->reader, &command, NULL) == 0 && command != NULL) {
        for (size_t i = 0; i < command->count; i++)
            snprintf(s->seen + strlen(s->seen), SEEN_BYTES - strlen(s->seen), "%s%.*s",
                     i > 0 ? " " : "", SPAN_ARGS(reply_text_at(command, i)));
        snprintf(s->seen + strlen(s->seen), SEEN_BYTES - strlen(s->seen), ";");
        s->speaking = p;
        const char *answer = s->say(s, command);
        if (answer != NULL)
            stream_write(p->stream, span_from_string(answer));
    }
}

static void server_read_ended(void *owner)
{
    struct peer *p = owner;
    stream_close(p->stream);
    peer_free(p);
}

static void server_closed(void *owner, const struct failure *why)
{
    (void)why;
    peer_free(owner);
}

static void server_drained(void *owner)
{
    (void)owner;
}

static void accepted(void *owner, int fd, const struct address *address)
{
    static const struct stream_ops ops = {.readable = server_readable,
                                          .read_ended = server_read_ended,
                                          .drained = server_drained,
                                          .closed = server_closed};
    static const struct stream_limits limits = {65536, 65536, 65536, 32768};
    struct server *s = owner;
    struct peer *p = memory_new(sizeof *p);
    *p = (struct peer){.server = s, .reader = reply_reader_new(65536)};
    list_append(&s->peers, &p->node);
    p->stream = stream_from_fd(s->b->loop, fd, address, &limits);
    stream_set_owner(p->stream, &ops, p);
    s->connections++;
}

static void server_hang_up(struct server *s)
{
    while (!list_is_empty(&s->peers)) {
        struct peer *p = LIST_ENTRY(s->peers.next, struct peer, node);
        stream_close(p->stream);
        peer_free(p);
    }
}

static const char *always_ok(struct server *s, const struct redis_reply *command)
{
    (void)s;
    (void)command;
    return "+OK\r\n";
}

static const char *never(struct server *s, const struct redis_reply *command)
{
    (void)s;
    (void)command;
    return NULL;
}

static void up(void *owner)
{
    ((struct bench *)owner)->ups++;
}

static void down(void *owner, const struct failure *why)
{
    assert_int_equal(why->fault, FAULT_UNAVAILABLE);
    ((struct bench *)owner)->downs++;
}

static int open_bench(void **state)
{
    struct bench *b = memory_new(sizeof *b);
    struct failure why;
    clock_fake_init(&b->clock);
    b->loop = loop_new(&b->clock.clock);
    snprintf(b->folder, sizeof b->folder, "/tmp/wrist-redis-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    for (int i = 0; i < SERVERS; i++) {
        struct server *s = &b->servers[i];
        struct listener_options options = {0};
        s->b = b;
        list_init(&s->peers);
        s->say = always_ok;
        assert_int_equal(address_parse(SPAN_LITERAL("127.0.0.1:0"), &options.address, &why), 0);
        s->listener = listener_open(b->loop, &options, accepted, s, &why);
        assert_non_null(s->listener);
        address_format(listener_address(s->listener), s->text);
        assert_int_equal(redis_place_parse(span_from_string(s->text), 0, &b->places[i], &why), 0);
    }
    b->options = (struct redis_options){.places = b->places,
                                        .place_count = 1,
                                        .connect_ms = 500,
                                        .command_ms = 300,
                                        .queue = 100,
                                        .reply_bytes = 65536,
                                        .up = up,
                                        .down = down,
                                        .owner = b};
    *state = b;
    return 0;
}

static void turns(struct bench *b, int64_t ms)
{
    for (int i = 0; i < 12; i++)
        loop_turn(b->loop, false);
    for (int64_t at = 0; at < ms; at += 10) {
        clock_fake_advance_ms(&b->clock, 10);
        for (int i = 0; i < 8; i++)
            loop_turn(b->loop, false);
    }
}

static void start(struct bench *b)
{
    b->redis = redis_open(b->loop, &b->options);
}

static int close_bench(void **state)
{
    struct bench *b = *state;
    redis_close(b->redis);
    for (int i = 0; i < SERVERS; i++) {
        struct server *s = &b->servers[i];
        server_hang_up(s);
        listener_close(s->listener);
    }
    loop_turn(b->loop, false);
    loop_turn(b->loop, false);
    loop_free(b->loop);
    rmdir(b->folder);
    free(b);
    return 0;
}

static void ask(struct bench *b, const char *word, struct heard *h)
{
    const char *const words[] = {word, "k"};
    redis_ask(b->redis, 2, words, NULL, hear, h);
}

static void answers_come_in_order_from_the_loop(void **state)
{
    struct bench *b = *state;
    struct heard h[3] = {{0}};
    start(b);
    for (int i = 0; i < 3; i++)
        ask(b, "GET", &h[i]); // not connected yet
    assert_int_equal(h[0].answers, 0);
    turns(b, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(h[i].answers, 1);
        assert_string_equal(h[i].text, "OK");
    }
    assert_string_equal(b->servers[0].seen, "PING;GET k;GET k;GET k;");
    assert_int_equal(b->ups, 1);
}

static const char *greeting_only(struct server *s, const struct redis_reply *command)
{
    (void)s;
    return span_is(reply_text_at(command, 0), "PING") ? "+PONG\r\n" : NULL;
}

// A hung server takes bytes and says nothing; it is not closed.
static void a_hung_server_fails_each_command_once_and_later_ones_at_once(void **state)
{
    struct bench *b = *state;
    struct heard h = {0}, later = {0};
    b->servers[0].say = greeting_only;
    start(b);
    turns(b, 0);
    for (int i = 0; i < 5; i++)
        ask(b, "GET", &h);
    turns(b, 290);
    assert_int_equal(h.answers, 0);
    b->servers[0].say = never;
    turns(b, 20);
    assert_int_equal(h.answers, 5);
    assert_int_equal(h.failures, 5);
    assert_int_equal(h.fault, FAULT_UNAVAILABLE);
    assert_int_equal(b->downs, 1);
    turns(b, 1000);
    assert_int_equal(h.answers, 5);
    ask(b, "GET", &later);
    loop_turn(b->loop, false);
    assert_int_equal(later.failures, 1);
    assert_true(b->servers[0].connections > 1);
    b->servers[0].say = always_ok; // it goes on: healed without anybody's doing
    turns(b, 3000);
    assert_int_equal(b->ups, 2);
    ask(b, "GET", &later);
    turns(b, 0);
    assert_int_equal(later.answers, 2);
    assert_int_equal(later.failures, 1);
}

static void a_full_queue_refuses_and_drops_nothing(void **state)
{
    struct bench *b = *state;
    struct heard h = {0}, refused = {0};
    b->options.queue = 3;
    start(b);
    for (int i = 0; i < 3; i++)
        ask(b, "GET", &h);
    ask(b, "GET", &refused);
    turns(b, 0);
    assert_int_equal(refused.failures, 1);
    assert_int_equal(h.answers, 3);
    assert_int_equal(h.failures, 0);
    ask(b, "GET", &h);
    turns(b, 0);
    assert_int_equal(h.failures, 0);
}

static void the_greeting_says_user_password_and_database(void **state)
{
    struct bench *b = *state;
    b->options.user = "wrist";
    b->options.password = "secret";
    b->options.database = 4;
    start(b);
    turns(b, 0);
    assert_string_equal(b->servers[0].seen, "AUTH wrist secret;SELECT 4;");
    assert_true(redis_is_up(b->redis));
}

static const char *wrong_password(struct server *s, const struct redis_reply *command)
{
    bool is_right = span_is(reply_text_at(command, 1), "new");
    (void)s;
    return span_is(reply_text_at(command, 0), "AUTH") && !is_right
               ? "-WRONGPASS invalid username-password pair\r\n"
               : "+OK\r\n";
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

// PI-172
static void a_rotated_password_is_read_at_the_next_connecting(void **state)
{
    struct bench *b = *state;
    struct heard h = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/password", b->folder);
    write_file(path, "old\n");
    b->options.password_file = path;
    b->servers[0].say = wrong_password;
    start(b);
    turns(b, 50);
    ask(b, "GET", &h);
    turns(b, 0);
    assert_int_equal(h.failures, 1);
    assert_non_null(strstr(h.text, "WRONGPASS"));
    write_file(path, "new\n");
    turns(b, 3000);
    ask(b, "GET", &h);
    turns(b, 0);
    assert_int_equal(h.failures, 1);
    unlink(path);
}

static const char *no_script(struct server *s, const struct redis_reply *command)
{
    (void)s;
    return span_is(reply_text_at(command, 0), "EVALSHA") ? "-NOSCRIPT No matching\r\n" : ":1\r\n";
}

static void a_script_that_the_server_lost_is_sent_whole(void **state)
{
    struct bench *b = *state;
    struct heard h = {0};
    struct redis_script script = {.name = "one", .text = "return 1"};
    const char *const words[] = {"key", "a b"};
    b->servers[0].say = no_script;
    start(b);
    redis_load(b->redis, &script);
    turns(b, 0);
    redis_run(b->redis, &script, 1, 2, words, hear, &h);
    turns(b, 0);
    assert_int_equal(h.answers, 1);
    assert_int_equal(h.failures, 0);
    assert_string_equal(b->servers[0].seen,
                        "PING;SCRIPT LOAD return 1;"
                        "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 key a b;"
                        "EVAL return 1 1 key a b;");
}

static const char *read_only_at_first(struct server *s, const struct redis_reply *command)
{
    return span_is(reply_text_at(command, 0), "SET") && s->connections == 1
               ? "-READONLY You can't write against a read only replica.\r\n"
               : "+OK\r\n";
}

// PI-152
static void a_demoted_master_is_left_and_the_write_goes_to_the_next(void **state)
{
    struct bench *b = *state;
    struct heard h = {0};
    b->servers[0].say = read_only_at_first;
    start(b);
    turns(b, 0);
    ask(b, "SET", &h);
    turns(b, 200);
    assert_int_equal(h.answers, 1);
    assert_int_equal(h.failures, 0);
    assert_int_equal(b->servers[0].connections, 2);
}

static const char *out_of_memory(struct server *s, const struct redis_reply *command)
{
    (void)s;
    return span_is(reply_text_at(command, 0), "SET")
               ? "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
               : "+OK\r\n";
}

static void no_memory_is_unavailable_for_writes_and_reads_go_on(void **state)
{
    struct bench *b = *state;
    struct heard write = {0}, read = {0};
    b->servers[0].say = out_of_memory;
    start(b);
    ask(b, "SET", &write);
    ask(b, "GET", &read);
    turns(b, 0);
    assert_int_equal(write.fault, FAULT_UNAVAILABLE);
    assert_int_equal(read.failures, 0);
    assert_int_equal(b->servers[0].connections, 1);
}

static char redirection[256];

static const char *redirect(struct server *s, const struct redis_reply *command)
{
    (void)s;
    return span_is(reply_text_at(command, 0), "GET") ? redirection : "+OK\r\n";
}

static void moved_is_followed_for_good(void **state)
{
    struct bench *b = *state;
    struct heard h = {0};
    b->options.mode = REDIS_CLUSTER;
    b->servers[0].say = redirect;
    snprintf(redirection, sizeof redirection, "-MOVED 3999 %s\r\n", b->servers[1].text);
    start(b);
    for (int i = 0; i < 3; i++)
        ask(b, "GET", &h);
    turns(b, 100);
    assert_int_equal(h.answers, 3);
    assert_int_equal(h.failures, 0);
    assert_string_equal(b->servers[1].seen, "PING;GET k;GET k;GET k;");
    ask(b, "GET", &h);
    turns(b, 0);
    assert_int_equal(b->servers[0].connections, 1);
    assert_string_equal(b->servers[1].seen, "PING;GET k;GET k;GET k;GET k;");
}

static void ask_is_followed_this_once(void **state)
{
    struct bench *b = *state;
    struct heard h = {0};
    b->options.mode = REDIS_CLUSTER;
    b->servers[0].say = redirect;
    snprintf(redirection, sizeof redirection, "-ASK 3999 %s\r\n", b->servers[1].text);
    start(b);
    ask(b, "GET", &h);
    turns(b, 50);
    assert_int_equal(h.failures, 0);
    assert_string_equal(b->servers[1].seen, "PING;ASKING;GET k;");
    ask(b, "SET", &h);
    turns(b, 0);
    assert_int_equal(h.answers, 2);
    assert_string_equal(b->servers[0].seen, "PING;GET k;SET k;");
}

static char master[256];

static const char *as_sentinel(struct server *s, const struct redis_reply *command)
{
    if (span_is(reply_text_at(command, 0), "SUBSCRIBE")) {
        s->subscriber = s->speaking;
        return "*3\r\n$9\r\nsubscribe\r\n$15\r\n+promoted-slave\r\n:1\r\n"
               "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:2\r\n";
    }
    return span_is(reply_text_at(command, 0), "SENTINEL") ? master : "+OK\r\n";
}

static const char *as_master(struct server *s, const struct redis_reply *command)
{
    (void)s;
    return span_is(reply_text_at(command, 0), "ROLE") ? "*1\r\n$6\r\nmaster\r\n" : "+OK\r\n";
}

static void name_master(struct bench *b, int server)
{
    snprintf(master, sizeof master, "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n",
             strlen(b->servers[server].text + 10), b->servers[server].text + 10);
}

// PI-152: five seconds are allowed.
static void a_switch_that_the_sentinels_tell_is_followed_while_nothing_fails(void **state)
{
    struct bench *b = *state;
    struct heard h = {0};
    b->options.mode = REDIS_SENTINEL;
    b->options.master = "main";
    b->servers[0].say = as_sentinel;
    b->servers[1].say = b->servers[2].say = as_master;
    name_master(b, 1);
    start(b);
    ask(b, "GET", &h);
    turns(b, 50);
    assert_int_equal(h.failures, 0);
    assert_string_equal(b->servers[1].seen, "ROLE;GET k;");
    name_master(b, 2);
    turns(b, 1300);
    ask(b, "GET", &h);
    turns(b, 50);
    assert_int_equal(h.answers, 2);
    assert_int_equal(h.failures, 0);
    assert_string_equal(b->servers[2].seen, "ROLE;GET k;");
}

static void tell_switch(struct server *s)
{
    assert_non_null(s->subscriber);
    stream_write(s->subscriber->stream,
                 SPAN_LITERAL("*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$4\r\nmain\r\n"));
}

static void start_with_sentinel(struct bench *b)
{
    b->options.mode = REDIS_SENTINEL;
    b->options.master = "main";
    b->servers[0].say = as_sentinel;
    b->servers[1].say = b->servers[2].say = as_master;
    name_master(b, 1);
    start(b);
    turns(b, 50);
    assert_string_equal(b->servers[1].seen, "ROLE;");
}

static void a_switch_that_a_sentinel_tells_is_followed_at_once(void **state)
{
    struct bench *b = *state;
    start_with_sentinel(b);
    name_master(b, 2);
    turns(b, 50);
    assert_string_equal(b->servers[2].seen, ""); // not before it is told, or asked
    tell_switch(&b->servers[0]);
    turns(b, 200);
    assert_string_equal(b->servers[2].seen, "ROLE;");
    name_master(b, 1); // and again
    tell_switch(&b->servers[0]);
    turns(b, 200);
    assert_string_equal(b->servers[1].seen, "ROLE;ROLE;");
    assert_int_equal(b->servers[0].connections, 2);
}

static void a_subscription_that_breaks_is_made_again_and_nothing_else_breaks(void **state)
{
    struct bench *b = *state;
    start_with_sentinel(b);
    struct peer *first = b->servers[0].subscriber;
    stream_close(first->stream);
    peer_free(first);
    turns(b, 1300);
    assert_non_null(b->servers[0].subscriber);
    assert_int_equal(b->servers[0].connections, 3);
    assert_int_equal(b->downs, 0);
    name_master(b, 2);
    tell_switch(&b->servers[0]);
    turns(b, 200);
    assert_string_equal(b->servers[2].seen, "ROLE;");
}

static const char *deaf_sentinel(struct server *s, const struct redis_reply *command)
{
    (void)s;
    if (span_is(reply_text_at(command, 0), "SUBSCRIBE"))
        return "-NOPERM this user has no permissions to access the channel\r\n";
    return span_is(reply_text_at(command, 0), "SENTINEL") ? master : "+OK\r\n";
}

static void a_sentinel_that_refuses_the_subscription_is_asked_each_second(void **state)
{
    struct bench *b = *state;
    b->servers[0].say = deaf_sentinel;
    b->options.mode = REDIS_SENTINEL;
    b->options.master = "main";
    b->servers[1].say = b->servers[2].say = as_master;
    name_master(b, 1);
    start(b);
    turns(b, 50);
    name_master(b, 2);
    turns(b, 1300);
    assert_string_equal(b->servers[2].seen, "ROLE;");
    assert_int_equal(b->servers[0].connections, 2);
}

static int open_files(void)
{
    int count = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d) != NULL)
        count++;
    closedir(d);
    return count;
}

// PI-153
static void a_thousand_reconnects_leave_one_connection(void **state)
{
    struct bench *b = *state;
    struct heard h = {0};
    start(b);
    turns(b, 0);
    int before = open_files();
    for (int i = 0; i < 1000; i++) {
        server_hang_up(&b->servers[0]);
        turns(b, 60);
    }
    turns(b, 3000);
    assert_int_equal(open_files(), before);
    ask(b, "GET", &h);
    turns(b, 0);
    assert_int_equal(h.failures, 0);
    assert_int_equal(h.answers, 1);
}

#define WITH_SERVERS(test) cmocka_unit_test_setup_teardown(test, open_bench, close_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVERS(answers_come_in_order_from_the_loop),
        WITH_SERVERS(a_hung_server_fails_each_command_once_and_later_ones_at_once),
        WITH_SERVERS(a_full_queue_refuses_and_drops_nothing),
        WITH_SERVERS(the_greeting_says_user_password_and_database),
        WITH_SERVERS(a_rotated_password_is_read_at_the_next_connecting),
        WITH_SERVERS(a_script_that_the_server_lost_is_sent_whole),
        WITH_SERVERS(a_demoted_master_is_left_and_the_write_goes_to_the_next),
        WITH_SERVERS(no_memory_is_unavailable_for_writes_and_reads_go_on),
        WITH_SERVERS(moved_is_followed_for_good),
        WITH_SERVERS(ask_is_followed_this_once),
        WITH_SERVERS(a_switch_that_the_sentinels_tell_is_followed_while_nothing_fails),
        WITH_SERVERS(a_switch_that_a_sentinel_tells_is_followed_at_once),
        WITH_SERVERS(a_subscription_that_breaks_is_made_again_and_nothing_else_breaks),
        WITH_SERVERS(a_sentinel_that_refuses_the_subscription_is_asked_each_second),
        WITH_SERVERS(a_thousand_reconnects_leave_one_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
