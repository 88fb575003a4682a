// SPDX-License-Identifier: Apache-2.0
#include "workers/link/replay.h"

#include "tests/unit/workers/link/client.h"

#define SESSION SPAN_LITERAL("session-a")
#define OTHER   SPAN_LITERAL("session-b")

static struct replay *replay;
static struct replay_stream *opened; // by the last request without Last-Event-ID
static bool primes;

// With Last-Event-ID it resumes, else it begins a stream; `x-session` names another session.
static void take(struct exchange *ex)
{
    struct span last = exchange_header(ex, "last-event-id");
    struct span named = exchange_header(ex, "x-session");
    struct span session = span_is_absent(named) ? SESSION : named;
    if (span_is_absent(last)) {
        opened = replay_open(replay, session);
        respond_events(ex, "");
        replay_read(opened, ex, primes);
        return;
    }
    struct replay_stream *found = replay_find(replay, session, last);
    if (found == NULL) {
        respond_status(ex, 204);
        return;
    }
    respond_events(ex, "");
    replay_resume(found, last, ex);
}

static int setup(void **state)
{
    (void)state;
    place_open(take);
    replay = replay_new(place.loop);
    primes = true;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(replay_bytes(replay), 0);
    replay_free(replay);
    place_close();
    return 0;
}

static void say(struct replay_stream *s, const char *message)
{
    replay_say(s, span_from_string(message), SPAN_NONE);
}

// The id of the last event in a text.
static const char *last_id(const char *text)
{
    static char id[64];
    const char *at = NULL;
    for (const char *next = strstr(text, "id: "); next != NULL; next = strstr(next + 1, "id: "))
        at = next;
    assert_non_null(at);
    snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 4, "\n"), at + 4);
    return id;
}

static void resume(struct client *c, const char *id)
{
    char headers[128];
    snprintf(headers, sizeof headers, "last-event-id: %s\r\n", id);
    client_open(c, headers);
}

static void a_stream_begins_with_an_id_to_resume_from_and_when(void **state)
{
    struct client c;
    (void)state;
    client_open(&c, "");
    const char *text = client_text(&c);
    assert_non_null(strstr(text, "-0\nretry: 5000\ndata: \n\n"));
    assert_non_null(strstr(text, "\r\nid: "));
    replay_close(opened);
    assert_true(ends(client_text(&c)));
    client_cut(&c);
}

static void older_clients_get_ids_but_no_event_without_data(void **state)
{
    struct client c;
    (void)state;
    primes = false;
    client_open(&c, "");
    assert_null(strstr(client_text(&c), "data:"));
    say(opened, "{\"a\":1}");
    assert_non_null(strstr(client_text(&c), "-1\nevent: message\ndata: {\"a\":1}\n\n"));
    replay_close(opened);
    client_cut(&c);
    replay_forget(replay, SESSION);
}

static void what_was_said_while_nobody_read_comes_after_the_named_event(void **state)
{
    struct client c, again;
    char id[64];
    (void)state;
    client_open(&c, "");
    say(opened, "1");
    snprintf(id, sizeof id, "%s", last_id(client_text(&c)));
    client_cut(&c);
    say(opened, "2");
    say(opened, "3");
    resume(&again, id);
    const char *text = client_text(&again);
    assert_null(strstr(text, "data: 1\n"));
    assert_true(strstr(text, "data: 2\n") < strstr(text, "data: 3\n"));
    assert_non_null(strstr(text, "data: 2\n"));
    say(opened, "4");
    text = client_text(&again);
    assert_non_null(strstr(text, "data: 4\n"));
    assert_false(ends(text));
    replay_close(opened);
    assert_true(ends(client_text(&again)));
    client_cut(&again);
    replay_forget(replay, SESSION);
}

static void a_stream_that_has_ended_is_read_to_its_end_as_often_as_one_likes(void **state)
{
    struct client c, again;
    char id[64];
    (void)state;
    client_open(&c, "");
    snprintf(id, sizeof id, "%s", last_id(client_text(&c)));
    client_cut(&c);
    say(opened, "result");
    replay_close(opened);
    for (int i = 0; i < 3; i++) {
        resume(&again, id);
        const char *text = client_text(&again);
        assert_non_null(strstr(text, "data: result\n"));
        assert_true(ends(text));
        client_cut(&again);
    }
    replay_forget(replay, SESSION);
}

static void nothing_is_resumed_after_the_last_event_of_a_stream_that_ended(void **state)
{
    struct client c, again;
    char id[64];
    (void)state;
    client_open(&c, "");
    say(opened, "result");
    replay_close(opened);
    snprintf(id, sizeof id, "%s", last_id(client_text(&c)));
    client_cut(&c);
    resume(&again, id);
    assert_non_null(strstr(client_text(&again), " 204 "));
    client_cut(&again);
    replay_forget(replay, SESSION);
}

static void a_stream_gives_its_own_events_only(void **state)
{
    struct client a, b, again;
    char id[64];
    (void)state;
    client_open(&a, "");
    struct replay_stream *first = opened;
    snprintf(id, sizeof id, "%s", last_id(client_text(&a)));
    client_open(&b, "");
    say(opened, "of b");
    say(first, "of a");
    client_cut(&a);
    resume(&again, id);
    const char *text = client_text(&again);
    assert_non_null(strstr(text, "of a"));
    assert_null(strstr(text, "of b"));
    replay_close(first);
    replay_close(opened);
    client_cut(&again);
    client_cut(&b);
    replay_forget(replay, SESSION);
}

static void ids_of_others_and_made_up_ones_resume_nothing(void **state)
{
    static const char *const ids[] = {"",
                                      "-",
                                      "0-0",
                                      "0123456789abcdef-0",
                                      "0123456789abcdef",
                                      "0123456789abcdef-99999999999999999999999"};
    struct client c, again;
    char id[64], headers[128];
    (void)state;
    client_open(&c, "");
    snprintf(id, sizeof id, "%s", last_id(client_text(&c)));
    client_cut(&c);
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        resume(&again, ids[i]);
        assert_non_null(strstr(client_text(&again), " 204 "));
        client_cut(&again);
    }
    // Another session does not get it, nor does an event that is still to come.
    snprintf(headers, sizeof headers, "last-event-id: %s\r\nx-session: session-b\r\n", id);
    client_open(&again, headers);
    assert_non_null(strstr(client_text(&again), " 204 "));
    client_cut(&again);
    *strrchr(id, '-') = '\0';
    snprintf(headers, sizeof headers, "last-event-id: %s-7\r\n", id);
    client_open(&again, headers);
    assert_non_null(strstr(client_text(&again), " 204 "));
    client_cut(&again);
    replay_close(opened);
}

static void a_second_reader_takes_over_and_the_first_ends(void **state)
{
    struct client c, again;
    char id[64];
    (void)state;
    client_open(&c, "");
    snprintf(id, sizeof id, "%s", last_id(client_text(&c)));
    resume(&again, id);
    assert_true(ends(client_text(&c)));
    say(opened, "here");
    assert_non_null(strstr(client_text(&again), "data: here\n"));
    assert_string_equal(client_text(&c), "");
    replay_close(opened);
    client_cut(&c);
    client_cut(&again);
    replay_forget(replay, SESSION);
}

// PI-094
static void a_session_that_never_reads_costs_its_cap_and_the_newest_stay(void **state)
{
    struct client c, again;
    char id[64], *message = calloc(1, (100 << 10) + 1);
    (void)state;
    memset(message, 'x', 100 << 10);
    client_open(&c, "");
    snprintf(id, sizeof id, "%s", last_id(client_text(&c)));
    client_cut(&c);
    for (int i = 0; i < 1000; i++) {
        say(opened, message);
        assert_true(replay_bytes(replay) <= REPLAY_SESSION_BYTES);
    }
    say(opened, "newest");
    resume(&again, id);
    turns();
    struct span all = buffer_span(&again.in);
    assert_in_range(all.size, 1 << 20, REPLAY_SESSION_BYTES + (64 << 10));
    assert_non_null(memmem(all.data, all.size, "data: newest\n", 13));
    client_cut(&again);
    for (int i = 0; i < 10000; i++)
        say(opened, "small");
    assert_true(replay_bytes(replay) <= REPLAY_SESSION_EVENTS * 200);
    replay_close(opened);
    replay_forget(replay, SESSION);
    free(message);
}

static void all_sessions_together_cost_the_cap_of_all(void **state)
{
    char headers[64], *message = calloc(1, (1 << 20) + 1);
    struct client c;
    (void)state;
    memset(message, 'x', 1 << 20);
    for (int i = 0; i < 40; i++) {
        snprintf(headers, sizeof headers, "x-session: s%d\r\n", i);
        client_open(&c, headers);
        client_cut(&c);
        say(opened, message);
        replay_close(opened);
        assert_true(replay_bytes(replay) <= REPLAY_BYTES);
    }
    assert_in_range(replay_bytes(replay), REPLAY_BYTES - (2 << 20), REPLAY_BYTES);
    for (int i = 0; i < 40; i++) {
        snprintf(headers, sizeof headers, "s%d", i);
        replay_forget(replay, span_from_string(headers));
    }
    free(message);
}

static void ten_thousand_streams_of_a_session_are_not_all_kept(void **state)
{
    struct client c;
    char id[64];
    (void)state;
    for (int i = 0; i < 10000; i++) {
        struct replay_stream *s = replay_open(replay, SESSION);
        say(s, "a result");
        replay_close(s);
        turns();
        assert_true(replay_bytes(replay) <= REPLAY_SESSION_STREAMS * 200);
    }
    client_open(&c, "");
    snprintf(id, sizeof id, "%s", last_id(client_text(&c)));
    say(opened, "newest");
    client_cut(&c);
    resume(&c, id);
    assert_non_null(strstr(client_text(&c), "data: newest\n"));
    replay_close(opened);
    client_cut(&c);
    replay_forget(replay, SESSION);
}

static void an_answer_too_large_to_be_kept_is_kept_as_an_error_that_says_so(void **state)
{
    struct client c, again;
    char id[64], *message = calloc(1, (3 << 20) + 1);
    (void)state;
    memset(message, 'x', 3 << 20);
    client_open(&c, "");
    snprintf(id, sizeof id, "%s", last_id(client_text(&c)));
    replay_say(opened, span_from_string(message), SPAN_LITERAL("\"seven\""));
    turns();
    assert_true(buffer_size(&c.in) > 3 << 20); // who was there got it
    client_cut(&c);
    replay_close(opened);
    resume(&again, id);
    const char *text = client_text(&again);
    assert_non_null(strstr(text, "\"id\":\"seven\",\"error\""));
    assert_non_null(strstr(text, "The call ran"));
    client_cut(&again);
    replay_forget(replay, SESSION);
    free(message);
}

static void the_end_of_a_session_frees_its_ring_and_ends_its_readers(void **state)
{
    struct client c, again;
    char id[64];
    (void)state;
    client_open(&c, "");
    say(opened, "1");
    snprintf(id, sizeof id, "%s", last_id(client_text(&c)));
    replay_forget(replay, SESSION);
    assert_int_equal(replay_bytes(replay), 0);
    assert_true(ends(client_text(&c)));
    say(opened, "2"); // its call has not ended yet
    resume(&again, id);
    assert_non_null(strstr(client_text(&again), " 204 "));
    assert_int_equal(replay_bytes(replay), 0);
    replay_close(opened);
    client_cut(&c);
    client_cut(&again);
    replay_forget(replay, OTHER); // that never was
}

static void a_quiet_stream_is_kept_alive_by_comments(void **state)
{
    struct client c;
    (void)state;
    client_open(&c, "");
    client_text(&c);
    clock_fake_advance_ms(&place.clock, REPLAY_COMMENT_MS + 1);
    assert_non_null(strstr(client_text(&c), ": working\n\n"));
    clock_fake_advance_ms(&place.clock, REPLAY_COMMENT_MS + 1);
    assert_non_null(strstr(client_text(&c), ": working\n\n"));
    replay_close(opened);
    client_cut(&c);
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(a_stream_begins_with_an_id_to_resume_from_and_when),
        ONE(older_clients_get_ids_but_no_event_without_data),
        ONE(what_was_said_while_nobody_read_comes_after_the_named_event),
        ONE(a_stream_that_has_ended_is_read_to_its_end_as_often_as_one_likes),
        ONE(nothing_is_resumed_after_the_last_event_of_a_stream_that_ended),
        ONE(a_stream_gives_its_own_events_only),
        ONE(ids_of_others_and_made_up_ones_resume_nothing),
        ONE(a_second_reader_takes_over_and_the_first_ends),
        ONE(a_session_that_never_reads_costs_its_cap_and_the_newest_stay),
        ONE(all_sessions_together_cost_the_cap_of_all),
        ONE(ten_thousand_streams_of_a_session_are_not_all_kept),
        ONE(an_answer_too_large_to_be_kept_is_kept_as_an_error_that_says_so),
        ONE(the_end_of_a_session_frees_its_ring_and_ends_its_readers),
        ONE(a_quiet_stream_is_kept_alive_by_comments),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
