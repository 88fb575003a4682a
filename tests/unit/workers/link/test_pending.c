// SPDX-License-Identifier: Apache-2.0
#include "workers/link/pending.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/telemetry/log.h"
#include "tests/unit/workers/link/client.h"
#include "workers/link/answer.h"
#include "workers/link/replay.h"

#include <unistd.h>

// --- calls that end when the test says so -----------------------------------------------------

struct call {
    bool is_live;
    char id[64], link_id[64];
    void (*ended)(void *owner, struct span result);
    void *owner;
};

static struct call calls[8];
static int started, cancelled;

struct call *call_start(struct calls *c, const struct call_request *request,
                        void (*ended)(void *owner, struct span result), void *owner)
{
    (void)c;
    struct call *call = &calls[started++];
    *call = (struct call){.is_live = true, .ended = ended, .owner = owner};
    call_rename(call, request->id, request->link_id);
    return call;
}

void call_rename(struct call *call, struct span id, struct span link_id)
{
    assert_true(span_copy_string(id, call->id, sizeof call->id));
    assert_true(span_copy_string(link_id, call->link_id, sizeof call->link_id));
}

static void call_ends(struct call *call, const char *result)
{
    assert_true(call->is_live);
    call->is_live = false;
    call->ended(call->owner, result != NULL ? span_from_string(result) : SPAN_NONE);
    turns();
}

void call_cancel(struct call *call)
{
    cancelled++;
    call_ends(call, NULL);
}

size_t calls_cancel_request(struct calls *c, struct span session, struct span id)
{
    (void)c;
    (void)session;
    for (int i = 0; i < started; i++)
        if (calls[i].is_live && span_is(id, calls[i].id))
            call_cancel(&calls[i]);
    return 0;
}

size_t calls_cancel_link(struct calls *c, struct span link_id)
{
    (void)c;
    for (int i = 0; i < started; i++)
        if (calls[i].is_live && span_is(link_id, calls[i].link_id))
            call_cancel(&calls[i]);
    return 0;
}

size_t calls_cancel_session(struct calls *c, struct span session)
{
    (void)c;
    (void)session;
    return 0;
}

// --- the place --------------------------------------------------------------------------------

static struct pendings *pendings;
static struct replay *replay;
static const struct tool tool = {.name = "Bash"};
static const char *message; // of the next request
static struct caller caller;
static bool accepts_json;

static void take(struct exchange *ex)
{
    struct json *doc;
    struct failure why;
    struct mcp_message m;
    bool is_legacy = caller.era == MCP_ERA_LEGACY;
    assert_int_equal(json_parse(span_from_string(message), NULL, &doc, &why), 0);
    assert_int_equal(mcp_message_read(doc, JSON_ROOT, exchange_arena(ex), &m, &why), 0);
    const struct answer_options options = {
        .expected = 1,
        .accepts_json = accepts_json,
        .accepts_events = true,
        .replay = is_legacy ? replay : NULL,
        .ring = caller.session,
        .primes = true,
    };
    pending_call(pendings, &tool, doc, &m, &caller, answer_new(place.loop, ex, &options));
    json_free(doc);
}

static void reopen(bool detaches)
{
    pendings_free(pendings);
    pendings = pendings_new(place.loop, NULL, detaches);
}

static int setup(void **state)
{
    (void)state;
    log_open("test", LOG_ERROR, STDERR_FILENO);
    started = cancelled = 0;
    place_open(take);
    replay = replay_new(place.loop);
    pendings = NULL;
    reopen(true);
    accepts_json = true;
    caller = (struct caller){
        .reader = SPAN_LITERAL("ann"), .link_id = SPAN_LITERAL("link-1"), .era = MCP_ERA_MODERN};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < started; i++)
        assert_false(calls[i].is_live);
    pendings_free(pendings);
    replay_free(replay);
    place_close();
    return 0;
}

static void use_legacy(void)
{
    caller = (struct caller){.reader = SPAN_LITERAL("s"),
                             .session = SPAN_LITERAL("s"),
                             .link_id = SPAN_LITERAL("link-1"),
                             .era = MCP_ERA_LEGACY};
}

#define CALL(id, arguments, meta)                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"Bash\","  \
    "\"arguments\":" arguments meta "}}"
#define MAKE(id) CALL(id, "{\"command\":\"make\"}", "")

static void ask(struct client *c, const char *json)
{
    message = json;
    client_open(c, "");
}

static void pass(int64_t ms)
{
    clock_fake_advance_ms(&place.clock, ms);
    turns();
}

static void a_call_again_after_a_lost_link_gets_the_running_one(void **state)
{
    struct client c, again;
    (void)state;
    ask(&c, MAKE("1"));
    client_cut(&c);
    pass(29000);
    caller.link_id = SPAN_LITERAL("link-2");
    ask(&again, CALL("2", "{\"command\":\"make\"}", ",\"_meta\":{\"progressToken\":\"p2\"}"));
    assert_int_equal(started, 1);
    pass(29000); // its patience was for the lost link only
    assert_string_equal(calls[0].id, "2");
    assert_string_equal(calls[0].link_id, "link-2");
    assert_non_null(strstr(client_text(&again), "\"progressToken\":\"p2\""));
    call_ends(&calls[0], "{\"content\":[]}");
    assert_non_null(
        strstr(client_text(&again), "\"id\":2,\"result\":{\"resultType\":\"complete\""));
    client_cut(&again);
}

static void one_that_ended_meanwhile_gives_its_result_once(void **state)
{
    struct client c, again;
    (void)state;
    ask(&c, MAKE("1"));
    client_cut(&c);
    call_ends(&calls[0], "{\"content\":[7]}");
    ask(&again, MAKE("\"b\""));
    assert_non_null(strstr(client_text(&again), "\"id\":\"b\",\"result\":{"));
    client_cut(&again);
    assert_int_equal(started, 1);
    ask(&again, MAKE("3")); // the same again is meant to run again
    assert_int_equal(started, 2);
    call_ends(&calls[1], "{\"content\":[]}");
    client_cut(&again);
}

static void after_thirty_seconds_it_is_cancelled(void **state)
{
    struct client c;
    (void)state;
    ask(&c, MAKE("1"));
    client_cut(&c);
    pass(DETACHED_MS - 1);
    assert_int_equal(cancelled, 0);
    pass(2);
    assert_int_equal(cancelled, 1);
    ask(&c, MAKE("2"));
    assert_int_equal(started, 2);
    call_ends(&calls[1], "{}");
    client_cut(&c);
}

static void after_thirty_seconds_a_result_is_forgotten(void **state)
{
    struct client c;
    (void)state;
    ask(&c, MAKE("1"));
    client_cut(&c);
    call_ends(&calls[0], "{\"content\":[]}");
    pass(DETACHED_MS + 1);
    ask(&c, MAKE("2"));
    assert_int_equal(started, 2);
    call_ends(&calls[1], "{}");
    client_cut(&c);
}

static void what_differs_runs_by_itself(void **state)
{
    struct client c, other;
    (void)state;
    ask(&c, MAKE("1"));
    client_cut(&c);
    ask(&other, CALL("2", "{\"command\":\"make all\"}", ""));
    assert_int_equal(started, 2);
    caller.reader = SPAN_LITERAL("bob");
    struct client bob;
    ask(&bob, MAKE("3"));
    assert_int_equal(started, 3);
    for (int i = 0; i < 3; i++)
        call_ends(&calls[i], "{}");
    client_cut(&other);
    client_cut(&bob);
}

static void two_that_are_waited_for_are_two(void **state)
{
    struct client a, b;
    (void)state;
    ask(&a, MAKE("1"));
    ask(&b, MAKE("2"));
    assert_int_equal(started, 2);
    client_cut(&a);
    client_cut(&b);
    ask(&a, MAKE("3"));
    ask(&b, MAKE("4"));
    assert_int_equal(started, 2);
    call_ends(&calls[0], "{\"content\":[1]}");
    call_ends(&calls[1], "{\"content\":[2]}");
    assert_non_null(strstr(client_text(&a), "\"content\":[1]"));
    assert_non_null(strstr(client_text(&b), "\"content\":[2]"));
    client_cut(&a);
    client_cut(&b);
}

static void a_reset_is_told_by_a_cancel_and_leaves_nothing_to_attach_to(void **state)
{
    struct client c;
    (void)state;
    ask(&c, MAKE("1"));
    client_cut(&c);
    pendings_cancel_link(pendings, SPAN_LITERAL("link-1"));
    assert_int_equal(cancelled, 1);
    // Nor where the call had ended before the cancel came.
    ask(&c, MAKE("2"));
    client_cut(&c);
    call_ends(&calls[1], "{\"content\":[]}");
    pendings_cancel_link(pendings, SPAN_LITERAL("link-1"));
    ask(&c, MAKE("3"));
    assert_int_equal(started, 3);
    call_ends(&calls[2], "{}");
    client_cut(&c);
}

static void a_legacy_call_is_not_ended_by_a_lost_link(void **state)
{
    struct client c;
    (void)state;
    use_legacy();
    ask(&c, MAKE("1"));
    client_cut(&c);
    pass(10 * DETACHED_MS);
    assert_int_equal(cancelled, 0);
    call_ends(&calls[0], "{\"content\":[7]}");
    pass(DETACHED_MS - 1);
    ask(&c, MAKE("2"));
    assert_int_equal(started, 1);
    assert_non_null(strstr(client_text(&c), "\"content\":[7]"));
    client_cut(&c);
}

static void a_legacy_stream_keeps_what_comes_instead(void **state)
{
    struct client c;
    (void)state;
    use_legacy();
    ask(&c, MAKE("1"));
    pass(ANSWER_COMMIT_MS + 1);
    const char *id = strstr(client_text(&c), "\r\nid: ");
    assert_non_null(id);
    char last[64];
    snprintf(last, sizeof last, "%.*s", (int)strcspn(id + 6, "\n"), id + 6);
    client_cut(&c);
    call_ends(&calls[0], "{\"content\":[7]}");
    assert_non_null(replay_find(replay, SPAN_LITERAL("s"), span_from_string(last)));
    ask(&c, MAKE("2"));
    assert_int_equal(started, 2);
    call_ends(&calls[1], "{}");
    client_cut(&c);
    replay_forget(replay, SPAN_LITERAL("s"));
}

static void who_takes_events_alone_gets_an_id_at_once(void **state)
{
    struct client c;
    (void)state;
    use_legacy();
    accepts_json = false;
    ask(&c, MAKE("1"));
    assert_non_null(strstr(client_text(&c), "-0\nretry: "));
    call_ends(&calls[0], "{\"content\":[]}");
    assert_true(ends(client_text(&c)));
    client_cut(&c);
    replay_forget(replay, SPAN_LITERAL("s"));
}

static void a_legacy_cancellation_forgets_a_result_too(void **state)
{
    struct client c;
    (void)state;
    use_legacy();
    ask(&c, MAKE("1"));
    client_cut(&c);
    call_ends(&calls[0], "{\"content\":[]}");
    pendings_cancel_request(pendings, SPAN_LITERAL("other"), SPAN_LITERAL("1"));
    pendings_cancel_request(pendings, SPAN_LITERAL("s"), SPAN_LITERAL("1"));
    ask(&c, MAKE("2"));
    assert_int_equal(started, 2);
    call_ends(&calls[1], "{}");
    client_cut(&c);
}

static void results_that_wait_are_bounded_and_the_oldest_go(void **state)
{
    struct client c[3];
    char *result = calloc(1, (7 << 20) + 3);
    (void)state;
    memset(result, ' ', (7 << 20) + 2);
    result[0] = '{';
    result[(7 << 20) + 1] = '}';
    for (int i = 0; i < 3; i++) {
        ask(&c[i], MAKE("1"));
        assert_int_equal(started, i + 1);
    }
    for (int i = 0; i < 3; i++) {
        client_cut(&c[i]);
        call_ends(&calls[i], result);
    }
    for (int i = 0; i < 2; i++) {
        ask(&c[i], MAKE("2"));
        assert_int_equal(started, 3);
        client_cut(&c[i]);
    }
    ask(&c[0], MAKE("2")); // of three there was room for two
    assert_int_equal(started, 4);
    call_ends(&calls[3], "{}");
    client_cut(&c[0]);
    free(result);
}

static void stand_alone_a_client_that_left_is_no_lost_link(void **state)
{
    struct client c;
    (void)state;
    reopen(false);
    use_legacy();
    ask(&c, MAKE("1"));
    client_cut(&c);
    ask(&c, MAKE("2"));
    assert_int_equal(started, 2);
    call_ends(&calls[0], "{}");
    call_ends(&calls[1], "{\"content\":[9]}");
    assert_non_null(strstr(client_text(&c), "\"content\":[9]"));
    client_cut(&c);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(a_call_again_after_a_lost_link_gets_the_running_one),
        ONE(one_that_ended_meanwhile_gives_its_result_once),
        ONE(after_thirty_seconds_it_is_cancelled),
        ONE(after_thirty_seconds_a_result_is_forgotten),
        ONE(what_differs_runs_by_itself),
        ONE(two_that_are_waited_for_are_two),
        ONE(a_reset_is_told_by_a_cancel_and_leaves_nothing_to_attach_to),
        ONE(a_legacy_call_is_not_ended_by_a_lost_link),
        ONE(a_legacy_stream_keeps_what_comes_instead),
        ONE(who_takes_events_alone_gets_an_id_at_once),
        ONE(a_legacy_cancellation_forgets_a_result_too),
        ONE(results_that_wait_are_bounded_and_the_oldest_go),
        ONE(stand_alone_a_client_that_left_is_no_lost_link),
    };
    return cmocka_run_group_tests_name("pending", tests, NULL, NULL);
}
