// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/redis/redis.h"

static void an_url_says_place_user_database_and_tls(void **state)
{
    static const struct {
        const char *text, *host, *user, *password;
        int port, database;
        bool tls;
    } rows[] = {
        {"redis://cache", "cache", "", "", 6379, 0, false},
        {"redis://10.0.0.7:7000/3", "10.0.0.7", "", "", 7000, 3, false},
        {"rediss://wrist:p%40ss%3Aw@[fd00::1]:6380/", "fd00::1", "wrist", "p@ss:w", 6380, 0, true},
        {"redis://:only@h:1", "h", "", "only", 1, 0, false},
        {"unix:///run/redis.sock", "unix:/run/redis.sock", "", "", 0, 0, false},
        {"unix:///run/redis.sock?db=2", "unix:/run/redis.sock", "", "", 0, 2, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct redis_url url;
        assert_int_equal(redis_url_parse(span_from_string(rows[i].text), &url, NULL), 0);
        assert_string_equal(url.place.host, rows[i].host);
        assert_string_equal(url.user, rows[i].user);
        assert_string_equal(url.password, rows[i].password);
        assert_int_equal(url.place.port, rows[i].port);
        assert_int_equal(url.database, rows[i].database);
        assert_int_equal(url.tls, rows[i].tls);
    }
}

static void what_is_no_url_of_a_redis_is_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "redis://",
        "http://h",
        "redis://h:0",
        "redis://h:99999",
        "redis://h/x",
        "redis://h/70000",
        "redis://u:%zz@h",
        "redis://u:%00@h",
        "unix://relative",
        "unix:///s?x",
        "memory",
        "redis://u:abc%4@h",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct redis_url url;
        struct failure why;
        assert_int_equal(redis_url_parse(span_from_string(rows[i]), &url, &why), FAULT_INVALID);
        assert_true(span_starts_with(span_from_string(why.text), SPAN_LITERAL("expected ")));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_url_says_place_user_database_and_tls),
        cmocka_unit_test(what_is_no_url_of_a_redis_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
