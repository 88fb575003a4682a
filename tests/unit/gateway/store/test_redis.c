// SPDX-License-Identifier: Apache-2.0
// What the store on Redis does beyond the contract, against a real server.
#include "gateway/store/redis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "tests/unit/gateway/store/redis_server.h"

struct bench {
    struct loop *loop;
    struct redis_server server;
    struct store *store;
    struct redis *raw; // to look at what stands in the server
};

struct heard {
    int count, fault;
    size_t rows;
    int64_t integer, number;
};

static void hear(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct heard *h = owner;
    h->count++;
    h->fault = why != NULL ? why->fault : 0;
    h->rows = answer->count;
    h->number = answer->number;
}

static void hear_raw(void *owner, const struct redis_reply *reply, const struct failure *why)
{
    struct heard *h = owner;
    h->count++;
    h->fault = why != NULL ? why->fault : 0;
    h->rows = why == NULL ? reply->count : 0;
    h->integer = why == NULL ? reply->integer : -1;
}

static int settle(struct bench *b, struct heard *h)
{
    for (int i = 0; h->count == 0 && i < 20000; i++) {
        loop_turn(b->loop, false);
        usleep(200);
    }
    assert_int_equal(h->count, 1);
    return h->fault;
}

#define ASK(b, h, op, ...)                                                                         \
    (*(h) = (struct heard){0}, op((b)->store, __VA_ARGS__, hear, h), settle(b, h))

static int64_t raw(struct bench *b, int argc, const char *const *argv, struct heard *h)
{
    *h = (struct heard){0};
    redis_ask(b->raw, argc, argv, NULL, hear_raw, h);
    assert_int_equal(settle(b, h), 0);
    return h->integer;
}
#define RAW(b, h, ...)                                                                             \
    raw(b, (int)ARRAY_COUNT(((const char *const[]){__VA_ARGS__})),                                 \
        (const char *const[]){__VA_ARGS__}, h)

static struct store *open_store_with(struct bench *b, int64_t command_ms)
{
    const struct store_redis_options options = {.redis = {.places = &b->server.place,
                                                          .place_count = 1,
                                                          .connect_ms = 60 * 1000,
                                                          .command_ms = command_ms,
                                                          .queue = 1000,
                                                          .reply_bytes = 1 << 20},
                                                .fleet = "f"};
    return store_redis_open(b->loop, &options);
}

static struct store *open_store(struct bench *b)
{
    return open_store_with(b, 60 * 1000);
}

static int open_bench_with(void **state, const char *policy)
{
    struct bench *b = memory_new(sizeof *b);
    b->loop = loop_new(clock_system());
    assert_int_equal(redis_server_start(&b->server, policy), 0);
    b->store = open_store(b);
    const struct redis_options options = {.places = &b->server.place,
                                          .place_count = 1,
                                          .connect_ms = 60 * 1000,
                                          .command_ms = 60 * 1000,
                                          .queue = 10,
                                          .reply_bytes = 1 << 20};
    b->raw = redis_open(b->loop, &options);
    *state = b;
    return 0;
}

static int open_bench(void **state)
{
    return open_bench_with(state, "noeviction");
}

static int open_evicting(void **state)
{
    return open_bench_with(state, "allkeys-lru");
}

static int close_bench(void **state)
{
    struct bench *b = *state;
    store_close(b->store);
    redis_close(b->raw);
    loop_turn(b->loop, false);
    loop_free(b->loop);
    int rc = redis_server_stop(&b->server);
    free(b);
    return rc;
}

static struct sandbox_record sandbox_named(const char *id)
{
    struct sandbox_record r = {.generation = 1, .profile = "default"};
    span_copy_string(span_from_string(id), r.id, sizeof r.id);
    return r;
}

static void a_server_that_evicts_keys_is_refused_and_the_reason_says_what_to_set(void **state)
{
    struct bench *b = *state;
    struct failure why;
    struct heard h;
    assert_int_equal(store_redis_meet(b->store, 5000, &why), FAULT_INVALID);
    assert_non_null(strstr(why.text, "allkeys-lru"));
    assert_non_null(strstr(why.text, "noeviction"));
    assert_int_equal(ASK(b, &h, store_binding_get, "s:1"), FAULT_UNAVAILABLE);
}

static void without_memory_writes_are_unavailable_and_reads_work(void **state)
{
    struct bench *b = *state;
    struct failure why;
    struct heard h;
    struct sandbox_record one = sandbox_named("one"), two = sandbox_named("two");
    struct binding_record bound = {.key = "s:1", .principal = "p", .profile = "default"};
    assert_int_equal(store_redis_meet(b->store, 5000, &why), 0);
    bound.until_ms = store_now_ms(b->store) + 60000;
    assert_int_equal(ASK(b, &h, store_sandbox_put, &one), 0);
    assert_int_equal(ASK(b, &h, store_binding_put, &bound), 0);
    RAW(b, &h, "CONFIG", "SET", "maxmemory", "1");
    assert_int_equal(ASK(b, &h, store_sandbox_put, &two), FAULT_UNAVAILABLE);
    assert_int_equal(ASK(b, &h, store_binding_get, "s:1"), 0);
    assert_int_equal(ASK(b, &h, store_sandbox_delete, "one"), 0);
    RAW(b, &h, "CONFIG", "SET", "maxmemory", "0");
    assert_int_equal(ASK(b, &h, store_sandbox_put, &two), 0);
}

// A claim is several changes: what fails half way must not have taken the sandbox off its pool.
static void a_claim_that_fails_for_want_of_memory_took_nothing(void **state)
{
    struct bench *b = *state;
    struct failure why;
    struct heard h;
    struct sandbox_record one = sandbox_named("one");
    const struct quota_bucket bucket[] = {{"q:p:default", 5, 0}};
    assert_int_equal(store_redis_meet(b->store, 5000, &why), 0);
    ASK(b, &h, store_sandbox_put, &one);
    ASK(b, &h, store_warm_put, "default", "one");
    RAW(b, &h, "CONFIG", "SET", "maxmemory", "1");
    assert_int_equal(ASK(b, &h, store_claim, "default", bucket, 1), FAULT_UNAVAILABLE);
    RAW(b, &h, "CONFIG", "SET", "maxmemory", "0");
    assert_int_equal(RAW(b, &h, "SCARD", "{wrist:f}:quota:q:p:default"), 0);
    assert_int_equal(ASK(b, &h, store_claim, "default", bucket, 1), 0);
}

static bool comes_to(struct bench *b, int64_t wanted, const char *command, const char *key)
{
    struct heard h;
    for (int i = 0; i < 500; i++) {
        if (RAW(b, &h, command, key) == wanted)
            return true;
        usleep(20 * 1000);
        loop_turn(b->loop, false);
    }
    return false;
}

// A server that hung has the command in its socket, and carries it out when nobody waits any more.
static void a_claim_whose_answer_never_came_is_taken_back(void **state)
{
    struct bench *b = *state;
    struct failure why;
    struct heard h;
    struct sandbox_record one = sandbox_named("one");
    const struct quota_bucket bucket[] = {{"q:p:default", 1, 0}};
    store_close(b->store);
    b->store = open_store_with(b, 200);
    assert_int_equal(store_redis_meet(b->store, 5000, &why), 0);
    ASK(b, &h, store_sandbox_put, &one);
    ASK(b, &h, store_warm_put, "default", "one");
    kill(b->server.pid, SIGSTOP);
    assert_int_equal(ASK(b, &h, store_claim, "default", bucket, 1), FAULT_UNAVAILABLE);
    kill(b->server.pid, SIGCONT);
    assert_true(comes_to(b, 1, "EXISTS", "{wrist:f}:taken:one") ||
                comes_to(b, 1, "ZCARD", "{wrist:f}:warm:default"));
    assert_true(comes_to(b, 1, "ZCARD", "{wrist:f}:warm:default"));
    assert_true(comes_to(b, 0, "SCARD", "{wrist:f}:quota:q:p:default"));
    assert_int_equal(ASK(b, &h, store_claim, "default", bucket, 1), 0);
}

// So many a minute, and at once, whichever replica asks.
static void claims_past_a_rate_are_told_when_to_come_again(void **state)
{
    struct bench *b = *state;
    struct heard h;
    const struct quota_bucket bucket[] = {{"q:p:default", 0, 3}};
    struct store *other = open_store(b);
    for (int i = 0; i < 5; i++) {
        char id[16];
        snprintf(id, sizeof id, "id%d", i);
        struct sandbox_record r = sandbox_named(id);
        ASK(b, &h, store_sandbox_put, &r);
        ASK(b, &h, store_warm_put, "default", id);
    }
    assert_int_equal(ASK(b, &h, store_claim, "default", bucket, 1), 0);
    assert_int_equal(ASK(b, &h, store_claim, "default", bucket, 1), 0);
    h = (struct heard){0};
    store_claim(other, "default", bucket, 1, hear, &h);
    assert_int_equal(settle(b, &h), 0);
    assert_int_equal(ASK(b, &h, store_claim, "default", bucket, 1), FAULT_QUOTA);
    assert_true(h.number > 15000 && h.number <= 20000); // a third of a minute after the first
    assert_int_equal(RAW(b, &h, "ZCARD", "{wrist:f}:warm:default"), 2);
    assert_true(RAW(b, &h, "PTTL", "{wrist:f}:pace:q:p:default") <= 61000);
    store_close(other);
}

// After two claims of one sandbox only one can stand.
static void a_sandbox_counts_for_whom_it_is_bound_to_and_for_nobody_else(void **state)
{
    struct bench *b = *state;
    struct heard h;
    struct sandbox_record one = sandbox_named("one");
    const struct quota_bucket first[] = {{"q:a:default", 5, 0}}, second[] = {{"q:b:default", 5, 0}};
    ASK(b, &h, store_sandbox_put, &one);
    ASK(b, &h, store_warm_put, "default", "one");
    ASK(b, &h, store_claim, "default", second, 1);
    ASK(b, &h, store_quota_add, first, 1, "one");
    assert_int_equal(RAW(b, &h, "SCARD", "{wrist:f}:quota:q:a:default"), 1);
    assert_int_equal(RAW(b, &h, "SCARD", "{wrist:f}:quota:q:b:default"), 0);
}

static void keys_are_back_to_the_epoch_and_the_counters_once_sandboxes_are_deleted(void **state)
{
    struct bench *b = *state;
    struct heard h;
    const struct quota_bucket bucket[] = {{"q:p:default", 5, 0}};
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "id%d", i);
        struct sandbox_record r = sandbox_named(id);
        ASK(b, &h, store_sandbox_put, &r);
        ASK(b, &h, store_warm_put, "default", id);
        ASK(b, &h, store_deadline_set, DEADLINE_IDLE, id, 5);
        ASK(b, &h, store_deadline_set, DEADLINE_ABSOLUTE, id, 5);
        if (i % 2 == 0)
            ASK(b, &h, store_claim, "default", bucket, 1);
    }
    assert_true(RAW(b, &h, "DBSIZE") > 20);
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "id%d", i);
        ASK(b, &h, store_sandbox_delete, id);
    }
    assert_int_equal(RAW(b, &h, "DBSIZE"), 2); // epoch, sequence
}

// PI-157
static void an_id_without_a_record_leaves_the_list_and_the_rest_is_listed_page_by_page(void **state)
{
    struct bench *b = *state;
    struct heard h;
    for (int i = 0; i < 1234; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        struct sandbox_record r = sandbox_named(id);
        store_sandbox_put(b->store, &r, NULL, NULL);
        if (i % 500 == 0) {
            struct sandbox_record again = sandbox_named("0");
            ASK(b, &h, store_sandbox_put, &again);
        }
    }
    RAW(b, &h, "ZADD", "{wrist:f}:sandboxes", "0", "ghost");
    h = (struct heard){0};
    store_sandbox_list(b->store, hear, &h);
    assert_int_equal(settle(b, &h), 0);
    assert_int_equal(h.rows, 1234);
    assert_int_equal(RAW(b, &h, "ZCARD", "{wrist:f}:sandboxes"), 1234);
}

// PI-161
static void what_stands_in_the_server_has_an_end_and_no_secret(void **state)
{
    struct bench *b = *state;
    struct heard h;
    struct sandbox_record one = sandbox_named("one");
    struct binding_record bound = {.key = "s:1", .principal = "p", .profile = "default"};
    ASK(b, &h, store_lease_take, "keeper", "a", 2000);
    bound.until_ms = store_now_ms(b->store) + 60000;
    ASK(b, &h, store_sandbox_put, &one);
    ASK(b, &h, store_binding_put, &bound);
    assert_true(RAW(b, &h, "PTTL", "{wrist:f}:sandbox:one") > 0);
    assert_true(RAW(b, &h, "PTTL", "{wrist:f}:binding:s:1") > 60000);
    assert_true(RAW(b, &h, "PTTL", "{wrist:f}:lease:keeper") > 0);
}

static void a_store_that_was_there_before_is_not_empty_and_one_that_was_flushed_is(void **state)
{
    struct bench *b = *state;
    struct failure why;
    struct heard h;
    assert_int_equal(store_redis_meet(b->store, 5000, &why), 0);
    assert_true(store_was_empty(b->store));
    store_close(b->store);
    b->store = open_store(b);
    assert_true(store_was_empty(b->store)); // not known yet: as if
    assert_int_equal(store_redis_meet(b->store, 5000, &why), 0);
    assert_false(store_was_empty(b->store));
    RAW(b, &h, "FLUSHALL");
    store_close(b->store);
    b->store = open_store(b);
    assert_int_equal(store_redis_meet(b->store, 5000, &why), 0);
    assert_true(store_was_empty(b->store));
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, open_bench, close_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_server_that_evicts_keys_is_refused_and_the_reason_says_what_to_set, open_evicting,
            close_bench),
        WITH_SERVER(without_memory_writes_are_unavailable_and_reads_work),
        WITH_SERVER(a_claim_that_fails_for_want_of_memory_took_nothing),
        WITH_SERVER(a_claim_whose_answer_never_came_is_taken_back),
        WITH_SERVER(claims_past_a_rate_are_told_when_to_come_again),
        WITH_SERVER(a_sandbox_counts_for_whom_it_is_bound_to_and_for_nobody_else),
        WITH_SERVER(keys_are_back_to_the_epoch_and_the_counters_once_sandboxes_are_deleted),
        WITH_SERVER(an_id_without_a_record_leaves_the_list_and_the_rest_is_listed_page_by_page),
        WITH_SERVER(what_stands_in_the_server_has_an_end_and_no_secret),
        WITH_SERVER(a_store_that_was_there_before_is_not_empty_and_one_that_was_flushed_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
