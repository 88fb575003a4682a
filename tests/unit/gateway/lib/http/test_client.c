// SPDX-License-Identifier: Apache-2.0
// The client against a scripted upstream on a unix socket.
#include "gateway/lib/http/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/listener.h"
#include "gateway/lib/net/stream.h"

enum { MANY_TURNS = 20000 };

struct upstream {
    struct loop *loop;
    struct listener *listener;
    struct http_client *client;
    struct stream *last; // the newest connection
    struct buffer got;   // what the upstream received
    const char *answer;  // written for each "\r\n\r\n" that came
    bool ends;           // the upstream ends after its answer
    bool closes_first;   // closes each new connection at once
    int connections;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
};

struct outcome {
    int status, ended, fault;
    size_t body_bytes;
    char body[256];
    char type[64];
    bool sent;
};

static void on_readable(void *owner, struct buffer *in)
{
    struct upstream *u = owner;
    buffer_append(&u->got, buffer_span(in));
    bool whole = memmem(buffer_span(in).data, buffer_size(in), "\r\n\r\n", 4) != NULL;
    buffer_clear(in);
    if (!whole || u->answer == NULL)
        return;
    stream_write(u->last, span_from_string(u->answer));
    if (u->ends)
        stream_end(u->last);
}

static void on_read_ended(void *owner)
{
    struct upstream *u = owner;
    stream_close(u->last);
    u->last = NULL;
}

static void on_closed(void *owner, const struct failure *why)
{
    (void)owner;
    (void)why;
}

static const struct stream_ops upstream_ops = {
    .readable = on_readable, .read_ended = on_read_ended, .closed = on_closed};

static void on_accepted(void *owner, int fd, const struct address *peer)
{
    struct upstream *u = owner;
    const struct stream_limits limits = {65536, 16 * 1024 * 1024, 1024 * 1024, 65536};
    u->connections++;
    u->last = stream_from_fd(u->loop, fd, peer, &limits);
    stream_set_owner(u->last, &upstream_ops, u);
    if (u->closes_first)
        stream_close(u->last);
}

static void open_upstream(struct upstream *u, const char *answer)
{
    char id[ID_SIZE], text[128];
    struct failure why = {0};
    struct http_client_options options;
    struct listener_options listen = {0};
    id_new(id);
    *u = (struct upstream){.answer = answer};
    buffer_init(&u->got, 4 * 1024 * 1024);
    snprintf(text, sizeof text, "unix:/tmp/wrist-%.16s.sock", id);
    assert_int_equal(address_parse(span_from_string(text), &listen.address, &why), 0);
    snprintf(u->path, sizeof u->path, "%s", text + 5);
    u->loop = loop_new(clock_system());
    u->listener = listener_open(u->loop, &listen, on_accepted, u, &why);
    if (u->listener == NULL)
        fail_msg("%s", why.text);
    http_client_options_default(&options);
    options.address = listen.address;
    options.connections = 1;
    options.waiting = 3;
    u->client = http_client_new(u->loop, &options);
}

static void close_upstream(struct upstream *u)
{
    http_client_close(u->client);
    listener_close(u->listener);
    loop_turn(u->loop, false);
    loop_turn(u->loop, false);
    loop_turn(u->loop, false);
    loop_free(u->loop);
    buffer_fini(&u->got);
    unlink(u->path);
}

static void on_head(struct http_call *call, int status)
{
    struct outcome *o = http_call_user(call);
    o->status = status;
    span_copy_string(http_call_header(call, "content-type"), o->type, sizeof o->type);
}

static void on_body(struct http_call *call, struct span bytes)
{
    struct outcome *o = http_call_user(call);
    if (o->body_bytes + bytes.size < sizeof o->body)
        memcpy(o->body + o->body_bytes, bytes.data, bytes.size);
    o->body_bytes += bytes.size;
}

static void on_ended(struct http_call *call, const struct failure *why)
{
    struct outcome *o = http_call_user(call);
    o->ended++;
    o->fault = why != NULL ? why->fault : 0;
    o->sent = http_call_was_sent(call);
}

static const struct http_call_ops call_ops = {.head = on_head, .body = on_body, .ended = on_ended};

static void wait_for(struct upstream *u, const struct outcome *o)
{
    for (int i = 0; i < MANY_TURNS && o->ended == 0; i++)
        loop_turn(u->loop, true);
    assert_int_equal(o->ended, 1);
}

static struct http_call *start(struct upstream *u, const char *method, struct outcome *o)
{
    const struct http_request request = {.method = span_from_string(method),
                                         .target = SPAN_LITERAL("/mcp?a=b"),
                                         .body = SPAN_LITERAL("{}")};
    return http_call_start(u->client, &request, &call_ops, o);
}

static void run(struct upstream *u, const char *method, struct outcome *o)
{
    *o = (struct outcome){0};
    start(u, method, o);
    wait_for(u, o);
}

static void answers_of_every_framing_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        bool ends;
        const char *body;
        int status;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello", false,
         "hello", 200},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: "
         "v\r\n"
         "\r\n",
         false, "abc", 200},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
         "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
         false, "x", 201},
        {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nuntil the end", true, "until the end",
         200},
        {"HTTP/1.1 204 No Content\r\n\r\n", false, "", 204},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", false, "", 304},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct upstream u;
        struct outcome o;
        open_upstream(&u, cases[i].answer);
        u.ends = cases[i].ends;
        run(&u, "POST", &o);
        assert_int_equal(o.fault, 0);
        assert_int_equal(o.status, cases[i].status);
        assert_string_equal(o.body, cases[i].body);
        assert_true(o.sent);
        assert_int_equal(http_client_idle_connections(u.client), cases[i].ends ? 0 : 1);
        close_upstream(&u);
    }
}

static void the_request_is_written_once_and_whole(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o;
    open_upstream(&u, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    run(&u, "POST", &o);
    buffer_append_char(&u.got, '\0');
    assert_string_equal(buffer_span(&u.got).data, "POST /mcp?a=b HTTP/1.1\r\nhost: localhost\r\n"
                                                  "content-length: 2\r\n\r\n{}");
    close_upstream(&u);
}

static void an_answer_to_head_has_no_body(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o;
    open_upstream(&u, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n");
    run(&u, "HEAD", &o);
    assert_int_equal(o.fault, 0);
    assert_int_equal(o.status, 200);
    close_upstream(&u);
}

static void broken_answers_are_the_peers_fault(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        int fault;
    } cases[] = {
        {"garbage\r\n\r\n", FAULT_PEER},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n", FAULT_PEER},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", FAULT_PEER},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", FAULT_PEER},
        {"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", FAULT_CLOSED},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshor", FAULT_CLOSED},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", FAULT_PEER},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct upstream u;
        struct outcome o;
        open_upstream(&u, cases[i].answer);
        u.ends = true;
        run(&u, "POST", &o);
        assert_int_equal(o.fault, cases[i].fault);
        assert_true(o.sent);
        assert_int_equal(http_client_connections(u.client), 0);
        close_upstream(&u);
    }
}

static void connections_are_kept_and_calls_wait_in_line(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o[4] = {0};
    open_upstream(&u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    run(&u, "POST", &o[0]);
    run(&u, "POST", &o[0]);
    assert_int_equal(u.connections, 1);
    memset(o, 0, sizeof o);
    for (int i = 0; i < 4; i++)
        start(&u, "POST", &o[i]);
    for (int i = 0; i < 3; i++) {
        wait_for(&u, &o[i]);
        assert_int_equal(o[i].fault, 0);
    }
    wait_for(&u, &o[3]);
    assert_int_equal(o[3].fault, FAULT_UNAVAILABLE); // the line was full
    assert_false(o[3].sent);
    assert_int_equal(u.connections, 1);
    close_upstream(&u);
}

static void a_kept_connection_that_died_is_not_used_and_nothing_runs_twice(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o;
    open_upstream(&u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    run(&u, "POST", &o);
    buffer_clear(&u.got);
    o = (struct outcome){0};
    stream_close(u.last); // both happen before the client can notice
    start(&u, "POST", &o);
    wait_for(&u, &o);
    assert_int_equal(o.fault, 0);
    assert_int_equal(u.connections, 2);
    buffer_append_char(&u.got, '\0');
    assert_null(strstr(buffer_span(&u.got).data + 5, "POST "));
    close_upstream(&u);
}

static void a_request_that_was_sent_is_never_sent_again(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o;
    open_upstream(&u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    run(&u, "POST", &o);
    u.answer = ""; // reads the next request and ends without an answer
    u.ends = true;
    run(&u, "POST", &o);
    assert_int_equal(o.fault, FAULT_CLOSED);
    assert_true(o.sent);
    assert_int_equal(u.connections, 1);
    close_upstream(&u);
}

// Half of a request may have been enough for the upstream to act on.
static void a_request_that_was_sent_in_part_is_never_sent_again(void **state)
{
    (void)state;
    static char body[4 * 1024 * 1024]; // more than a socket takes at once
    struct upstream u;
    struct outcome o;
    const struct http_request large = {.method = SPAN_LITERAL("POST"),
                                       .target = SPAN_LITERAL("/mcp"),
                                       .body = span_of(body, sizeof body)};
    open_upstream(&u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    run(&u, "POST", &o);
    stream_pause(u.last);
    o = (struct outcome){0};
    struct http_call *call = http_call_start(u.client, &large, &call_ops, &o);
    for (int i = 0; i < MANY_TURNS && !http_call_was_sent(call); i++)
        loop_turn(u.loop, false);
    assert_true(http_call_was_sent(call));
    stream_close(u.last);
    wait_for(&u, &o);
    assert_true(o.fault < 0);
    assert_true(o.sent);
    assert_int_equal(u.connections, 1);
    close_upstream(&u);
}

static void an_upstream_that_is_not_there_is_told_as_not_sent(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o;
    open_upstream(&u, "");
    listener_close(u.listener);
    u.listener = NULL;
    unlink(u.path);
    run(&u, "POST", &o);
    assert_true(o.fault < 0);
    assert_false(o.sent);
    close_upstream(&u);
}

static void cancelling_ends_the_connection_and_calls_nobody(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o = {0};
    open_upstream(&u, NULL);
    struct http_call *call = start(&u, "POST", &o);
    for (int i = 0; i < MANY_TURNS && buffer_size(&u.got) == 0; i++)
        loop_turn(u.loop, true);
    assert_true(http_call_was_sent(call));
    http_call_cancel(call);
    for (int i = 0; i < MANY_TURNS && u.last != NULL; i++)
        loop_turn(u.loop, true);
    assert_null(u.last); // the upstream saw the end
    assert_int_equal(o.ended, 0);
    assert_int_equal(http_client_connections(u.client), 0);
    close_upstream(&u);
}

static void closing_the_client_fails_what_runs_and_what_waits(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o[3] = {0};
    open_upstream(&u, NULL);
    for (int i = 0; i < 3; i++)
        start(&u, "POST", &o[i]);
    for (int i = 0; i < MANY_TURNS && buffer_size(&u.got) == 0; i++)
        loop_turn(u.loop, true);
    http_client_close(u.client);
    assert_int_equal(o[0].ended, 0);
    loop_turn(u.loop, false);
    u.client = NULL;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(o[i].ended, 1);
        assert_int_equal(o[i].fault, FAULT_CANCELLED);
    }
    close_upstream(&u);
}

static void a_paused_answer_waits_in_the_upstream(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o = {0};
    open_upstream(&u, NULL);
    struct http_call *call = start(&u, "POST", &o);
    for (int i = 0; i < MANY_TURNS && buffer_size(&u.got) == 0; i++)
        loop_turn(u.loop, true);
    size_t size = 8 * 1024 * 1024;
    char *block = memory_new(size);
    http_call_pause(call);
    stream_write(u.last, SPAN_LITERAL("HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n"));
    stream_write(u.last, span_of(block, size));
    free(block);
    for (int i = 0; i < 50; i++)
        loop_turn(u.loop, false);
    assert_true(stream_pending(u.last) > size / 2);
    assert_int_equal(o.body_bytes, 0);
    http_call_resume(call);
    wait_for(&u, &o);
    assert_int_equal(o.body_bytes, size);
    close_upstream(&u);
}

static void line_breaks_in_a_request_are_refused(void **state)
{
    (void)state;
    struct upstream u;
    struct outcome o = {0};
    const struct http_header bad = {SPAN_LITERAL("x"), SPAN_LITERAL("a\r\ny: z")};
    const struct http_request request = {.method = SPAN_LITERAL("GET"),
                                         .target = SPAN_LITERAL("/"),
                                         .headers = &bad,
                                         .header_count = 1};
    open_upstream(&u, "");
    http_call_start(u.client, &request, &call_ops, &o);
    wait_for(&u, &o);
    assert_int_equal(o.fault, FAULT_INVALID);
    assert_int_equal(u.connections, 0);
    close_upstream(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_every_framing_are_read),
        cmocka_unit_test(the_request_is_written_once_and_whole),
        cmocka_unit_test(an_answer_to_head_has_no_body),
        cmocka_unit_test(broken_answers_are_the_peers_fault),
        cmocka_unit_test(connections_are_kept_and_calls_wait_in_line),
        cmocka_unit_test(a_kept_connection_that_died_is_not_used_and_nothing_runs_twice),
        cmocka_unit_test(a_request_that_was_sent_is_never_sent_again),
        cmocka_unit_test(a_request_that_was_sent_in_part_is_never_sent_again),
        cmocka_unit_test(an_upstream_that_is_not_there_is_told_as_not_sent),
        cmocka_unit_test(cancelling_ends_the_connection_and_calls_nobody),
        cmocka_unit_test(closing_the_client_fails_what_runs_and_what_waits),
        cmocka_unit_test(a_paused_answer_waits_in_the_upstream),
        cmocka_unit_test(line_breaks_in_a_request_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
