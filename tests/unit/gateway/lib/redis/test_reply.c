// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/redis/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void a_reply_is_read_whatever_pieces_it_comes_in(void **state)
{
    static const char bytes[] = "*5\r\n$3\r\na\0b\r\n:-7\r\n$-1\r\n*1\r\n+OK\r\n-ERR no\r\n";
    (void)state;
    for (size_t piece = 1; piece < sizeof bytes; piece++) {
        struct reply_reader *r = reply_reader_new(4096);
        const struct redis_reply *reply = NULL;
        for (size_t at = 0; at < sizeof bytes - 1; at += piece) {
            assert_null(reply);
            struct span rest = span_of(bytes + at, sizeof bytes - 1 - at);
            assert_int_equal(reply_reader_feed(r, span_slice(rest, 0, piece), NULL), 0);
            assert_int_equal(reply_reader_next(r, &reply, NULL), 0);
        }
        assert_non_null(reply);
        assert_int_equal(reply->count, 5);
        assert_int_equal(reply_text_at(reply, 0).size, 3);
        assert_int_equal(reply_integer_at(reply, 1), -7);
        assert_int_equal(reply_at(reply, 2)->kind, REPLY_NIL);
        assert_true(reply_is_text(reply_at(reply_at(reply, 3), 0), "OK"));
        assert_int_equal(reply_at(reply, 4)->kind, REPLY_ERROR);
        assert_null(reply_at(reply, 5));
        reply_reader_free(r);
    }
}

static int read_all(const char *text)
{
    struct reply_reader *r = reply_reader_new(4096);
    const struct redis_reply *reply = NULL;
    int rc = reply_reader_feed(r, span_from_string(text), NULL);
    if (rc == 0)
        rc = reply_reader_next(r, &reply, NULL);
    reply_reader_free(r);
    return rc;
}

static void what_would_take_more_than_the_limit_is_refused(void **state)
{
    struct reply_reader *r = reply_reader_new(4096);
    const struct redis_reply *reply = NULL;
    char kilobyte[1024];
    int rc = 0, fed = 0;
    (void)state;
    assert_int_equal(read_all("*2147483647\r\n"), FAULT_PEER);
    assert_int_equal(read_all("*1000\r\n"), FAULT_PEER);
    assert_int_equal(read_all("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"),
                     FAULT_PEER); // too deep
    assert_int_equal(read_all("?what\r\n"), FAULT_PEER);
    memset(kilobyte, 'x', sizeof kilobyte);
    reply_reader_feed(r, SPAN_LITERAL("$1000000\r\n"), NULL);
    for (; rc == 0 && fed < 100; fed++) {
        rc = reply_reader_feed(r, span_of(kilobyte, sizeof kilobyte), NULL);
        if (rc == 0)
            rc = reply_reader_next(r, &reply, NULL);
    }
    assert_int_equal(rc, FAULT_TOO_LARGE);
    assert_true(fed <= 4);
    reply_reader_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_is_read_whatever_pieces_it_comes_in),
        cmocka_unit_test(what_would_take_more_than_the_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
