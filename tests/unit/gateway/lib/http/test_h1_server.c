// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/gateway/lib/http/rig.h"

static void requests_are_answered_however_they_are_cut(void **state)
{
    (void)state;
    const size_t pieces[] = {1, 2, 3, 7, 64, 5000};
    for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
        struct rig rig;
        rig_open(&rig, pieces[i], NULL);
        rig_send(&rig, "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n"
                       "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nfirst"
                       "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3;ext=1\r\nsec\r\n3\r\nond\r\n0\r\nTrailer: dropped\r\n\r\n"
                       "GET /z HTTP/1.1\r\nHost: x\r\n\r\n");
        rig_turns(&rig, 1500);
        assert_int_equal(rig.requests, 4);
        assert_int_equal(rig.closed_well, 4);
        assert_int_equal(rig_count(&rig, "HTTP/1.1 200 OK\r\n"), 4);
        assert_non_null(strstr(rig_text(&rig), "content-length: 5\r\n\r\nfirst"));
        assert_non_null(strstr(rig_text(&rig), "content-length: 6\r\n\r\nsecond"));
        assert_int_equal(rig_count(&rig, "\r\ndate: "), 4);
        assert_false(rig.client_ended);
        rig_close(&rig);
    }
}

struct refusal {
    const char *request;
    int status;
};

static const struct refusal refusals[] = {
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4, 4\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
    {"GET / HTTP/1.1\nHost: a\n\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: a/b@c\r\n\r\n", 400},
    {"GET http://u@b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET nopath HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501},
    {"BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 501},
    {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
    {"\x16\x03\x01\x02\x01garbage", 400},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n", 417},
};

static void what_two_readers_could_read_in_two_ways_is_refused(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= 4096; piece *= 64)
        for (size_t i = 0; i < ARRAY_COUNT(refusals); i++) {
            struct rig rig;
            char expected[32];
            rig_open(&rig, piece, NULL);
            rig_send(&rig, refusals[i].request);
            rig_send(&rig, "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
            rig_turns(&rig, 600);
            snprintf(expected, sizeof expected, "HTTP/1.1 %d ", refusals[i].status);
            if (strncmp(rig_text(&rig), expected, strlen(expected)) != 0)
                fail_msg("%s: %s instead of %s", refusals[i].request, rig_text(&rig), expected);
            assert_int_equal(rig_count(&rig, "HTTP/1.1 "), 1);
            assert_int_equal(rig.requests, 0);
            assert_true(rig.client_ended);
            assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_MALFORMED], 1);
            rig_close(&rig);
        }
}

static void broken_chunks_end_in_400_without_reaching_the_next_request(void **state)
{
    (void)state;
    const char *bodies[] = {"zz\r\nab",
                            "2\nab\r\n0\r\n\r\n",
                            "2\r\nab\n0\r\n\r\n",
                            "0x2\r\nab\r\n0\r\n\r\n",
                            "2;a\nb\r\nab\r\n0\r\n\r\n",
                            "ffffffffffffffffff\r\nab"};
    for (size_t i = 0; i < ARRAY_COUNT(bodies); i++) {
        struct rig rig;
        rig_open(&rig, 3, NULL);
        rig_send(&rig, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        rig_send(&rig, bodies[i]);
        rig_turns(&rig, 200);
        assert_int_equal(rig_count(&rig, "HTTP/1.1 400 "), 1);
        assert_int_equal(rig.requests, 1);
        assert_int_equal(rig.closed, 1);
        assert_int_equal(rig.last_fault, FAULT_REQUEST);
        rig_close(&rig);
    }
}

static void heads_past_the_bounds_are_refused(void **state)
{
    (void)state;
    struct rig rig;
    char long_text[70000];
    memset(long_text, 'a', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    rig_open(&rig, 5000, NULL);
    rig_send(&rig, "GET /");
    rig_send(&rig, long_text);
    rig_turns(&rig, 100);
    assert_int_equal(rig_count(&rig, "HTTP/1.1 414 "), 1);
    stream_close(rig.client);
    rig_connect(&rig, 5000);
    rig_send(&rig, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    rig_send(&rig, long_text);
    rig_turns(&rig, 100);
    assert_int_equal(rig_count(&rig, "HTTP/1.1 431 "), 1);
    stream_close(rig.client);
    rig_connect(&rig, 5000);
    rig_send(&rig, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < 200; i++)
        rig_send(&rig, "a: b\r\n");
    rig_send(&rig, "\r\n");
    rig_turns(&rig, 100);
    assert_int_equal(rig_count(&rig, "HTTP/1.1 431 "), 1);
    assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_HEAD_TOO_LARGE], 3);
    rig_close(&rig);
}

static void absolute_targets_count_before_host_and_upgrades_are_ignored(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, 9, NULL);
    rig_send(&rig, "GET http://real/hold?q HTTP/1.1\r\nHost: other\r\nConnection: Upgrade\r\n"
                   "Upgrade: h2c\r\n\r\n");
    rig_turns(&rig, 100);
    assert_non_null(rig.held);
    assert_true(span_is(exchange_authority(rig.held), "real"));
    assert_true(span_is(exchange_path(rig.held), "/hold"));
    assert_true(span_is(exchange_query(rig.held), "q"));
    rig_answer(rig.held, 200, SPAN_NONE);
    rig_turns(&rig, 20);
    assert_int_equal(rig.closed_well, 1);
    rig_close(&rig);
}

static void a_body_is_asked_for_with_100_continue(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, 1000, NULL);
    rig_send(&rig, "POST /hold HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                   "Content-Length: 2\r\n\r\n");
    rig_turns(&rig, 5);
    assert_int_equal(buffer_size(&rig.got), 0);
    exchange_read_body(rig.held, 10);
    rig_turns(&rig, 5);
    assert_string_equal(rig_text(&rig), "HTTP/1.1 100 Continue\r\n\r\n");
    rig_send(&rig, "ok");
    rig_turns(&rig, 5);
    assert_non_null(strstr(rig_text(&rig), "HTTP/1.1 200 OK"));
    rig_close(&rig);
}

static void too_large_a_body_is_answered_with_413_and_told_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, 1000, NULL);
    rig.body_limit = 100;
    rig_send(&rig, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n");
    rig_turns(&rig, 5);
    assert_int_equal(rig_count(&rig, "HTTP/1.1 413 "), 1);
    assert_int_equal(rig.closed, 1);
    assert_int_equal(rig.last_fault, FAULT_TOO_LARGE);
    stream_close(rig.client);
    rig_connect(&rig, 1000);
    rig_send(&rig, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "50\r\n01234567890123456789012345678901234567890123456789012345678901234567890"
                   "123456789\r\n40\r\n0123456789012345678901234567890123456789012345678901234567"
                   "890123\r\n0\r\n\r\n");
    rig_turns(&rig, 10);
    assert_int_equal(rig_count(&rig, "HTTP/1.1 413 "), 1);
    assert_int_equal(rig_count(&rig, "connection: close"), 1);
    assert_int_equal(rig.closed, 2);
    assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_BODY_TOO_LARGE], 2);
    rig_close(&rig);
}

static void a_slow_head_gets_408_and_an_idle_connection_ends_silently(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, 1000, NULL);
    rig_send(&rig, "GET / HTTP/1.1\r\nHo");
    rig_turns(&rig, 5);
    rig_wait_ms(&rig, 14000);
    assert_int_equal(buffer_size(&rig.got), 0);
    rig_wait_ms(&rig, 2000);
    assert_int_equal(rig_count(&rig, "HTTP/1.1 408 "), 1);
    assert_true(rig.client_ended);
    stream_close(rig.client);
    rig_connect(&rig, 1000);
    rig_send(&rig, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    buffer_clear(&rig.got);
    rig_wait_ms(&rig, 119000);
    assert_false(rig.client_ended);
    rig_wait_ms(&rig, 2000);
    assert_true(rig.client_ended);
    assert_int_equal(buffer_size(&rig.got), 0);
    rig_close(&rig);
}

static void a_slow_body_gets_408(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, 1000, NULL);
    rig_send(&rig, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
    rig_turns(&rig, 5);
    rig_wait_ms(&rig, 29000);
    assert_int_equal(rig.closed, 0);
    rig_wait_ms(&rig, 2000);
    assert_int_equal(rig_count(&rig, "HTTP/1.1 408 "), 1);
    assert_int_equal(rig.last_fault, FAULT_SLOW);
    assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_SLOW_BODY], 1);
    rig_close(&rig);
}

// A byte now and then would hold a connection for days.
static void a_body_that_trickles_is_ended_and_one_at_the_least_rate_is_not(void **state)
{
    (void)state;
    struct http_server_limits limits;
    struct rig rig;
    static char part[4096];
    memset(part, 'x', sizeof part - 1);
    http_server_limits_default(&limits);
    limits.least_rate = 100;
    rig_open(&rig, 64 * 1024, &limits);
    rig_send(&rig, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    for (int i = 0; i < 10; i++) {
        rig_send(&rig, part);
        rig_wait_ms(&rig, 25000);
    }
    assert_int_equal(rig.closed, 0);
    for (int i = 0; i < 4 && rig.closed == 0; i++) {
        rig_send(&rig, "x");
        rig_wait_ms(&rig, 20000);
    }
    assert_int_equal(rig_count(&rig, "HTTP/1.1 408 "), 1);
    assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_SLOW_BODY], 1);
    rig_close(&rig);
}

static void stream_until_choked(struct exchange *ex)
{
    static char block[16 * 1024];
    memset(block, 'x', sizeof block);
    while (!exchange_is_choked(ex))
        exchange_write(ex, span_of(block, sizeof block));
}

static void a_reader_that_stops_is_dropped_and_one_that_goes_on_is_served(void **state)
{
    (void)state;
    const struct http_response head = {.status = 200, .content_length = -1};
    struct rig rig;
    rig_open(&rig, 16 * 1024, NULL);
    stream_pause(rig.client);
    rig_send(&rig, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    exchange_start(rig.held, &head);
    stream_until_choked(rig.held);
    rig_turns(&rig, 5);
    assert_true(exchange_unsent(rig.held) <= 300 * 1024);
    assert_int_equal(rig.drained, 0);
    stream_resume(rig.client);
    rig_turns(&rig, 60);
    assert_int_equal(rig.drained, 1);
    assert_int_equal(exchange_unsent(rig.held), 0);
    stream_pause(rig.client);
    stream_until_choked(rig.held);
    rig_wait_ms(&rig, 125000);
    assert_int_equal(rig.closed, 1);
    assert_int_equal(rig.last_fault, FAULT_SLOW);
    assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_SLOW_READER], 1);
    rig_close(&rig);
}

static void a_body_that_is_not_read_stays_with_the_client(void **state)
{
    (void)state;
    static char block[512 * 1024];
    struct rig rig;
    memset(block, 'b', sizeof block);
    rig_open(&rig, 64 * 1024, NULL);
    rig_send(&rig, "POST /hold HTTP/1.1\r\nHost: a\r\nContent-Length: 524288\r\n\r\n");
    assert_int_equal(stream_write(rig.client, span_of(block, sizeof block)), 0);
    rig_turns(&rig, 50);
    assert_true(stream_pending(rig.client) > 256 * 1024);
    exchange_read_body(rig.held, sizeof block);
    exchange_pause_body(rig.held);
    rig_turns(&rig, 50);
    assert_int_equal(rig.body_bytes, 0);
    exchange_resume_body(rig.held);
    rig_turns(&rig, 100);
    assert_int_equal(rig.body_bytes, sizeof block);
    assert_int_equal(stream_pending(rig.client), 0);
    rig_close(&rig);
}

static void a_streamed_answer_goes_out_at_once_and_head_has_no_body(void **state)
{
    (void)state;
    const struct http_response head = {.status = 200, .content_length = -1};
    struct rig rig;
    rig_open(&rig, 4096, NULL);
    rig_send(&rig, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    exchange_start(rig.held, &head);
    rig_turns(&rig, 3);
    assert_non_null(strstr(rig_text(&rig), "transfer-encoding: chunked\r\n\r\n"));
    exchange_write(rig.held, SPAN_LITERAL(": comment\n\n"));
    exchange_end(rig.held);
    rig_turns(&rig, 3);
    assert_non_null(strstr(rig_text(&rig), "\r\n\r\nb\r\n: comment\n\n\r\n0\r\n\r\n"));
    buffer_clear(&rig.got);
    rig_send(&rig, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    assert_non_null(strstr(rig_text(&rig), "content-length: 5\r\n"));
    assert_string_equal(strstr(rig_text(&rig), "\r\n\r\n"), "\r\n\r\n");
    rig_close(&rig);
}

static void header_values_cannot_split_an_answer(void **state)
{
    (void)state;
    const struct http_header bad = {SPAN_LITERAL("x-a"), SPAN_LITERAL("b\r\nx-evil: 1")};
    const struct http_response head = {.status = 200, .headers = &bad, .header_count = 1};
    struct rig rig;
    rig_open(&rig, 4096, NULL);
    rig_send(&rig, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    exchange_respond(rig.held, &head, SPAN_NONE);
    rig_turns(&rig, 5);
    assert_int_equal(rig_count(&rig, "x-evil"), 0);
    rig_close(&rig);
}

static void a_client_that_leaves_is_told_to_the_handler_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, 4096, NULL);
    rig_send(&rig, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    stream_close(rig.client);
    rig.client = NULL;
    rig_turns(&rig, 5);
    assert_int_equal(rig.closed, 1);
    assert_int_equal(rig.last_fault, FAULT_CANCELLED);
    rig_close(&rig);
}

static void note_drained(void *owner)
{
    ((struct rig *)owner)->server_drained++;
}

static void draining_lets_calls_finish_and_says_that_it_was_the_last(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, 4096, NULL);
    rig_send(&rig, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    http_server_drain(rig.server, note_drained, &rig);
    rig_turns(&rig, 5);
    assert_int_equal(rig.server_drained, 0);
    assert_int_equal(rig.closed, 0);
    rig_answer(rig.held, 200, SPAN_LITERAL("late"));
    rig_turns(&rig, 5);
    assert_int_equal(rig_count(&rig, "connection: close"), 1);
    assert_true(rig.client_ended);
    stream_close(rig.client);
    rig.client = NULL;
    rig_turns(&rig, 5);
    assert_int_equal(rig.server_drained, 1);
    rig_close(&rig);
}

static void drain(struct rig *rig)
{
    http_server_drain(rig->server, note_drained, rig);
    rig_turns(rig, 5);
}

// A client may send at any moment until it is told; PI-239.
static void a_request_on_its_way_when_draining_begins_is_answered_as_the_last(void **state)
{
    static const char *const before[] = {"", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(before); i++) {
        struct rig rig;
        rig_open(&rig, 4096, NULL);
        if (before[i][0] != '\0')
            rig_send(&rig, before[i]);
        rig_turns(&rig, 5);
        drain(&rig);
        rig_wait_ms(&rig, 750);
        assert_false(rig.client_ended);
        rig_send(&rig, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        rig_turns(&rig, 5);
        assert_int_equal(rig.closed_well, i + 1);
        assert_int_equal(rig_count(&rig, "connection: close"), 1);
        assert_true(rig.client_ended);
        assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_SLOW_HEAD], 0);
        rig_close(&rig);
    }
}

static void an_idle_connection_ends_a_second_after_draining_began(void **state)
{
    static const char *const before[] = {"", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(before); i++) {
        struct rig rig;
        rig_open(&rig, 4096, NULL);
        if (before[i][0] != '\0')
            rig_send(&rig, before[i]);
        rig_turns(&rig, 5);
        drain(&rig);
        assert_int_equal(rig.server_drained, 0);
        rig_wait_ms(&rig, 1250);
        assert_int_equal(rig.server_drained, 1);
        assert_int_equal(http_server_counters(rig.server)->hostile[HOSTILITY_SLOW_HEAD], 0);
        rig_close(&rig);
    }
}

static void an_answer_that_had_begun_leaves_room_for_one_request_more(void **state)
{
    (void)state;
    struct rig rig;
    const struct http_response head = {.status = 200, .content_length = 4};
    rig_open(&rig, 4096, NULL);
    rig_send(&rig, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    exchange_start(rig.held, &head);
    rig_turns(&rig, 5);
    drain(&rig);
    exchange_write(rig.held, SPAN_LITERAL("late"));
    exchange_end(rig.held);
    rig_turns(&rig, 5);
    assert_int_equal(rig_count(&rig, "connection: close"), 0);
    rig_send(&rig, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    assert_int_equal(rig.closed_well, 2);
    assert_int_equal(rig_count(&rig, "connection: close"), 1);
    rig_close(&rig);
}

static void deadlines_answer_504_where_nothing_was_sent(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, 4096, NULL);
    rig_send(&rig, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    rig_turns(&rig, 5);
    exchange_set_deadline(rig.held, 1000);
    rig_wait_ms(&rig, 1500);
    assert_int_equal(rig_count(&rig, "HTTP/1.1 504 "), 1);
    assert_int_equal(rig.last_fault, FAULT_TIMEOUT);
    rig_close(&rig);
}

static void connections_past_the_limit_are_closed_at_once(void **state)
{
    (void)state;
    struct http_server_limits limits;
    struct rig rig;
    http_server_limits_default(&limits);
    limits.connections = 1;
    rig_open(&rig, 4096, &limits);
    struct stream *first = rig.client;
    rig_connect(&rig, 4096);
    rig_turns(&rig, 3);
    assert_true(rig.client_ended);
    assert_int_equal(http_server_counters(rig.server)->connections_refused, 1);
    stream_close(first);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered_however_they_are_cut),
        cmocka_unit_test(what_two_readers_could_read_in_two_ways_is_refused),
        cmocka_unit_test(broken_chunks_end_in_400_without_reaching_the_next_request),
        cmocka_unit_test(heads_past_the_bounds_are_refused),
        cmocka_unit_test(absolute_targets_count_before_host_and_upgrades_are_ignored),
        cmocka_unit_test(a_body_is_asked_for_with_100_continue),
        cmocka_unit_test(too_large_a_body_is_answered_with_413_and_told_once),
        cmocka_unit_test(a_slow_head_gets_408_and_an_idle_connection_ends_silently),
        cmocka_unit_test(a_slow_body_gets_408),
        cmocka_unit_test(a_body_that_trickles_is_ended_and_one_at_the_least_rate_is_not),
        cmocka_unit_test(a_reader_that_stops_is_dropped_and_one_that_goes_on_is_served),
        cmocka_unit_test(a_body_that_is_not_read_stays_with_the_client),
        cmocka_unit_test(a_streamed_answer_goes_out_at_once_and_head_has_no_body),
        cmocka_unit_test(header_values_cannot_split_an_answer),
        cmocka_unit_test(a_client_that_leaves_is_told_to_the_handler_once),
        cmocka_unit_test(draining_lets_calls_finish_and_says_that_it_was_the_last),
        cmocka_unit_test(a_request_on_its_way_when_draining_begins_is_answered_as_the_last),
        cmocka_unit_test(an_idle_connection_ends_a_second_after_draining_began),
        cmocka_unit_test(an_answer_that_had_begun_leaves_room_for_one_request_more),
        cmocka_unit_test(deadlines_answer_504_where_nothing_was_sent),
        cmocka_unit_test(connections_past_the_limit_are_closed_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
