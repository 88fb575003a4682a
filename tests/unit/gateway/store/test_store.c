// SPDX-License-Identifier: Apache-2.0
// The contract of every store (gateway/store/README.md), run against each implementation of a
// table. Redis is a real server of this test's own.
#include "gateway/store/store.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/lib/base/clock.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/store/memory.h"
#include "gateway/store/redis.h"
#include "tests/unit/gateway/store/redis_server.h"

struct bench {
    struct clock_fake clock;
    struct loop *loop;
    struct store *store;
};

struct heard {
    int count;
    int fault;
    struct store_answer answer;
    char names[STORE_DUE_MAX][STORE_NAME_SIZE];
};

static void hear(void *owner, const struct store_answer *answer, const struct failure *why)
{
    struct heard *h = owner;
    h->count++;
    h->fault = why != NULL ? why->fault : 0;
    h->answer = *answer;
    for (size_t i = 0; answer->names != NULL && i < answer->count; i++)
        memcpy(h->names[i], answer->names[i], STORE_NAME_SIZE);
}

static struct redis_server server;

static int start_redis(void **state)
{
    (void)state;
    return redis_server_start(&server, "noeviction");
}

static int stop_redis(void **state)
{
    (void)state;
    return redis_server_stop(&server);
}

static struct bench *new_bench(void)
{
    struct bench *b = memory_new(sizeof *b);
    clock_fake_init(&b->clock);
    b->loop = loop_new(&b->clock.clock);
    return b;
}

static int open_memory(void **state)
{
    struct bench *b = new_bench();
    struct failure why;
    assert_int_equal(store_memory_open(b->loop, -1, &b->store, &why), 0);
    *state = b;
    return 0;
}

// A fleet of its own: nothing of the tests before it is seen.
static int open_redis(void **state)
{
    struct bench *b = new_bench();
    char fleet[ID_SIZE];
    struct store_redis_options options = {.redis = {.places = &server.place,
                                                    .place_count = 1,
                                                    .connect_ms = 1000 * 1000,
                                                    .command_ms = 1000 * 1000,
                                                    .queue = 1000,
                                                    .reply_bytes = 1 << 20},
                                          .fleet = fleet,
                                          .own_clock = true};
    id_new(fleet);
    b->store = store_redis_open(b->loop, &options);
    *state = b;
    return 0;
}

static int close_store(void **state)
{
    struct bench *b = *state;
    store_close(b->store);
    loop_turn(b->loop, false);
    loop_free(b->loop);
    free(b);
    return 0;
}

// Waits for the answer of one operation.
static int settle(struct bench *b, struct heard *h)
{
    for (int turns = 0; h->count == 0 && turns < 20000; turns++) {
        loop_turn(b->loop, false);
        if (turns > 20)
            usleep(100); // for a server
    }
    assert_int_equal(h->count, 1);
    return h->fault;
}

#define ASK(b, h, op, ...)                                                                         \
    (*(h) = (struct heard){0}, op((b)->store, __VA_ARGS__, hear, h), settle(b, h))

static struct sandbox_record sandbox_named(const char *id)
{
    struct sandbox_record r = {.generation = 1, .created_ms = 5};
    span_copy_string(span_from_string(id), r.id, sizeof r.id);
    span_copy_string(SPAN_LITERAL("default"), r.profile, sizeof r.profile);
    return r;
}

static void an_answer_comes_from_the_loop_and_not_from_the_call(void **state)
{
    struct bench *b = *state;
    struct heard h = {0};
    store_binding_get(b->store, "s:1", hear, &h);
    assert_int_equal(h.count, 0);
    assert_int_equal(settle(b, &h), FAULT_NOT_FOUND);
}

static void a_cancelled_call_is_not_answered_and_those_behind_it_are(void **state)
{
    struct bench *b = *state;
    struct heard first = {0}, second = {0};
    struct store_call *call = store_binding_get(b->store, "s:1", hear, &first);
    store_binding_get(b->store, "s:2", hear, &second);
    store_call_cancel(call);
    settle(b, &second);
    assert_int_equal(first.count, 0);
}

static void a_binding_is_kept_until_its_time_and_not_at_it(void **state)
{
    struct bench *b = *state;
    struct heard h;
    struct binding_record r = {
        .key = "s:1", .principal = "p", .profile = "default", .state = BINDING_ENDED};
    r.until_ms = store_now_ms(b->store) + 1000;
    assert_int_equal(ASK(b, &h, store_binding_put, &r), 0);
    clock_fake_advance_ms(&b->clock, 999);
    assert_int_equal(ASK(b, &h, store_binding_get, "s:1"), 0);
    assert_int_equal(h.answer.binding.state, BINDING_ENDED);
    clock_fake_advance_ms(&b->clock, 1);
    assert_int_equal(ASK(b, &h, store_binding_get, "s:1"), FAULT_NOT_FOUND);
}

static void a_binding_is_claimed_by_the_first_until_it_is_lost(void **state)
{
    struct bench *b = *state;
    struct heard h;
    struct binding_record r = {
        .key = "s:1", .principal = "p", .profile = "default", .state = BINDING_BOUND};
    r.until_ms = store_now_ms(b->store) + 1000;
    memcpy(r.sandbox, "one", 4);
    assert_int_equal(ASK(b, &h, store_binding_claim, &r), 0);
    assert_int_equal(ASK(b, &h, store_binding_claim, &r), 0); // its own
    memcpy(r.sandbox, "two", 4);
    assert_int_equal(ASK(b, &h, store_binding_claim, &r), FAULT_CONFLICT);
    assert_string_equal(h.answer.binding.sandbox, "one");
    memcpy(r.sandbox, "one", 4);
    r.state = BINDING_LOST;
    ASK(b, &h, store_binding_put, &r);
    memcpy(r.sandbox, "two", 4);
    r.state = BINDING_BOUND;
    assert_int_equal(ASK(b, &h, store_binding_claim, &r), 0);
    assert_int_equal(ASK(b, &h, store_binding_get, "s:1"), 0);
    assert_string_equal(h.answer.binding.sandbox, "two");
    r.state = BINDING_ENDED; // nobody brings a session back that was deleted
    ASK(b, &h, store_binding_put, &r);
    r.state = BINDING_BOUND;
    assert_int_equal(ASK(b, &h, store_binding_claim, &r), FAULT_CONFLICT);
    assert_int_equal(h.answer.binding.state, BINDING_ENDED);
    clock_fake_advance_ms(&b->clock, 1000); // what is over stands against nobody
    memcpy(r.sandbox, "one", 4);
    r.until_ms += 1000;
    assert_int_equal(ASK(b, &h, store_binding_claim, &r), 0);
}

static void a_claim_pops_the_oldest_once(void **state)
{
    struct bench *b = *state;
    struct heard h;
    ASK(b, &h, store_warm_put, "default", "one");
    ASK(b, &h, store_warm_put, "default", "two");
    ASK(b, &h, store_warm_put, "default", "one"); // already there: stays first
    assert_int_equal(ASK(b, &h, store_claim, "default", NULL, 0), 0);
    assert_string_equal(h.answer.name, "one");
    assert_int_equal(ASK(b, &h, store_claim, "other", NULL, 0), FAULT_NOT_FOUND);
    assert_int_equal(ASK(b, &h, store_claim, "default", NULL, 0), 0);
    assert_string_equal(h.answer.name, "two");
    // Another replica may take it for warm still.
    ASK(b, &h, store_warm_put, "default", "two");
    assert_int_equal(ASK(b, &h, store_claim, "default", NULL, 0), FAULT_NOT_FOUND);
    ASK(b, &h, store_sandbox_delete, "two");
    ASK(b, &h, store_warm_put, "default", "two");
    assert_int_equal(ASK(b, &h, store_claim, "default", NULL, 0), 0);
}

static void a_full_bucket_leaves_the_others_and_the_pool_as_they_were(void **state)
{
    struct bench *b = *state;
    struct heard h;
    const struct quota_bucket both[] = {{"tenant", 5, 0}, {"principal", 1, 0}};
    const struct quota_bucket tenant[] = {{"tenant", 2, 0}};
    ASK(b, &h, store_warm_put, "default", "one");
    ASK(b, &h, store_warm_put, "default", "two");
    assert_int_equal(ASK(b, &h, store_claim, "default", both, 2), 0);
    assert_int_equal(ASK(b, &h, store_claim, "default", both, 2), FAULT_QUOTA);
    assert_string_equal(h.answer.name, "principal");
    // The refused claim took nothing of the tenant's: one more fits under two.
    assert_int_equal(ASK(b, &h, store_claim, "default", tenant, 1), 0);
    assert_string_equal(h.answer.name, "two");
}

static void a_deleted_sandbox_frees_its_place_everywhere(void **state)
{
    struct bench *b = *state;
    struct heard h;
    struct sandbox_record one = sandbox_named("one"), two = sandbox_named("two");
    const struct quota_bucket bucket[] = {{"principal", 1, 0}};
    ASK(b, &h, store_sandbox_put, &one);
    ASK(b, &h, store_sandbox_put, &two);
    ASK(b, &h, store_warm_put, "default", "one");
    ASK(b, &h, store_warm_put, "default", "two");
    ASK(b, &h, store_claim, "default", bucket, 1);
    ASK(b, &h, store_quota_add, bucket, 1, "one"); // twice is once
    ASK(b, &h, store_deadline_set, DEADLINE_IDLE, "one", 1);
    assert_int_equal(ASK(b, &h, store_sandbox_delete, "one"), 0);
    assert_int_equal(ASK(b, &h, store_sandbox_delete, "one"), 0);
    assert_int_equal(ASK(b, &h, store_deadline_take, DEADLINE_IDLE, 1000), 0);
    assert_int_equal(h.answer.count, 0);
    assert_int_equal(ASK(b, &h, store_claim, "default", bucket, 1), 0);
    h = (struct heard){0};
    store_sandbox_list(b->store, hear, &h);
    settle(b, &h);
    assert_int_equal(h.answer.count, 1);
}

// PI-187, PI-167
static void a_deadline_is_due_at_its_time_and_is_handed_out_once(void **state)
{
    struct bench *b = *state;
    struct heard h;
    int64_t at = store_now_ms(b->store) + 500;
    ASK(b, &h, store_deadline_set, DEADLINE_IDLE, "late", at + 1);
    ASK(b, &h, store_deadline_set, DEADLINE_IDLE, "due", at);
    ASK(b, &h, store_deadline_set, DEADLINE_ABSOLUTE, "other set", at);
    clock_fake_advance_ms(&b->clock, 499);
    ASK(b, &h, store_deadline_take, DEADLINE_IDLE, 1000);
    assert_int_equal(h.answer.count, 0);
    clock_fake_advance_ms(&b->clock, 1);
    ASK(b, &h, store_deadline_take, DEADLINE_IDLE, 1000);
    assert_int_equal(h.answer.count, 1);
    assert_string_equal(h.names[0], "due");
    ASK(b, &h, store_deadline_take, DEADLINE_IDLE, 1000);
    assert_int_equal(h.answer.count, 0);
    // Whoever took it died: it comes again.
    clock_fake_advance_ms(&b->clock, 1000);
    ASK(b, &h, store_deadline_take, DEADLINE_IDLE, 1000);
    assert_int_equal(h.answer.count, 2);
    assert_string_equal(h.names[0], "late");
    ASK(b, &h, store_deadline_set, DEADLINE_IDLE, "due", 0);
    clock_fake_advance_ms(&b->clock, 5000);
    ASK(b, &h, store_deadline_take, DEADLINE_IDLE, 1000);
    assert_int_equal(h.answer.count, 1);
}

static void many_deadlines_come_in_order_and_in_bounded_lots(void **state)
{
    struct bench *b = *state;
    struct heard h;
    int64_t now = store_now_ms(b->store);
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "%03d", i * 77 % 200);
        ASK(b, &h, store_deadline_set, DEADLINE_IDLE, name, now + i * 77 % 200);
    }
    clock_fake_advance_ms(&b->clock, 1000);
    int next = 0;
    do {
        ASK(b, &h, store_deadline_take, DEADLINE_IDLE, 60000);
        assert_true(h.answer.count <= STORE_DUE_MAX);
        for (size_t i = 0; i < h.answer.count; i++)
            assert_int_equal(strtol(h.names[i], NULL, 10), next++);
    } while (h.answer.count > 0);
    assert_int_equal(next, 200);
}

static void a_lease_has_one_holder_and_its_tokens_only_grow(void **state)
{
    struct bench *b = *state;
    struct heard h;
    assert_int_equal(ASK(b, &h, store_lease_take, "keeper", "a", 2000), 0);
    int64_t first = h.answer.number;
    assert_int_equal(ASK(b, &h, store_lease_take, "keeper", "b", 2000), FAULT_CONFLICT);
    clock_fake_advance_ms(&b->clock, 1500);
    assert_int_equal(ASK(b, &h, store_lease_take, "keeper", "a", 2000), 0);
    assert_int_equal(h.answer.number, first); // renewed
    clock_fake_advance_ms(&b->clock, 1500);
    assert_int_equal(ASK(b, &h, store_lease_take, "keeper", "b", 2000), FAULT_CONFLICT);
    clock_fake_advance_ms(&b->clock, 500);
    assert_int_equal(ASK(b, &h, store_lease_take, "keeper", "b", 2000), 0);
    assert_true(h.answer.number > first);
    int64_t second = h.answer.number;
    ASK(b, &h, store_lease_release, "keeper", "a"); // not its own any more
    assert_int_equal(ASK(b, &h, store_lease_take, "keeper", "a", 2000), FAULT_CONFLICT);
    ASK(b, &h, store_lease_release, "keeper", "b");
    assert_int_equal(ASK(b, &h, store_lease_take, "keeper", "a", 2000), 0);
    assert_true(h.answer.number > second);
}

#define CONTRACT(test)                                                                             \
    {"memory: " #test, test, open_memory, close_store, NULL},                                      \
    {                                                                                              \
        "redis: " #test, test, open_redis, close_store, NULL                                       \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(an_answer_comes_from_the_loop_and_not_from_the_call),
        CONTRACT(a_cancelled_call_is_not_answered_and_those_behind_it_are),
        CONTRACT(a_binding_is_kept_until_its_time_and_not_at_it),
        CONTRACT(a_binding_is_claimed_by_the_first_until_it_is_lost),
        CONTRACT(a_claim_pops_the_oldest_once),
        CONTRACT(a_full_bucket_leaves_the_others_and_the_pool_as_they_were),
        CONTRACT(a_deleted_sandbox_frees_its_place_everywhere),
        CONTRACT(a_deadline_is_due_at_its_time_and_is_handed_out_once),
        CONTRACT(many_deadlines_come_in_order_and_in_bounded_lots),
        CONTRACT(a_lease_has_one_holder_and_its_tokens_only_grow),
    };
    return cmocka_run_group_tests(tests, start_redis, stop_redis);
}
