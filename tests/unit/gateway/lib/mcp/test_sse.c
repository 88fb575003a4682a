// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/mcp/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// What a reader told, as text: one line an event.
struct heard {
    struct buffer text;
    struct sse_reader *reader;
    int refuse;
};

static int hear_event(void *owner, const struct sse_event *e)
{
    struct heard *h = owner;
    buffer_printf(&h->text, "[%.*s|%.*s|", SPAN_ARGS(e->type), SPAN_ARGS(e->id));
    buffer_append(&h->text, e->data);
    buffer_printf(&h->text, "%s]", e->has_id ? "!" : "");
    return h->refuse;
}

static void hear_comment(void *owner, struct span piece)
{
    (void)piece;
    assert_non_null(owner);
}

static void hear_retry(void *owner, int64_t ms)
{
    buffer_printf(&((struct heard *)owner)->text, "(%lld)", (long long)ms);
}

static void hear_primed(void *owner, struct span id)
{
    buffer_printf(&((struct heard *)owner)->text, "<%.*s>", SPAN_ARGS(id));
}

static const struct sse_reader_ops ops = {hear_event, hear_comment, hear_retry, hear_primed};

static void heard_init(struct heard *h, size_t limit)
{
    *h = (struct heard){0};
    buffer_init(&h->text, 1 << 20);
    h->reader = sse_reader_new(limit, &ops, h);
}

static void heard_fini(struct heard *h)
{
    sse_reader_free(h->reader);
    buffer_fini(&h->text);
}

// Feeds `stream` in pieces of every size from one byte on: all must tell the same.
static void assert_heard(struct span stream, const char *expected)
{
    for (size_t piece = 1; piece <= stream.size; piece++) {
        struct heard h;
        heard_init(&h, 1000);
        for (size_t at = 0; at < stream.size; at += piece)
            assert_int_equal(sse_reader_feed(h.reader, span_slice(stream, at, at + piece), NULL),
                             0);
        buffer_append_char(&h.text, '\0');
        assert_string_equal(buffer_span(&h.text).data, expected);
        heard_fini(&h);
    }
}

static void line_ends_of_all_three_kinds_are_read_alike(void **state)
{
    (void)state;
    assert_heard(SPAN_LITERAL("data: a\ndata: b\n\n"), "[message||a\nb]");
    assert_heard(SPAN_LITERAL("data: a\rdata: b\r\r"), "[message||a\nb]");
    assert_heard(SPAN_LITERAL("data: a\r\ndata: b\r\n\r\n"), "[message||a\nb]");
    assert_heard(SPAN_LITERAL("data: a\r\ndata: b\n\rdata:c\r\r"), "[message||a\nb][message||c]");
}

static void a_byte_order_mark_is_dropped_at_the_start_only(void **state)
{
    (void)state;
    assert_heard(SPAN_LITERAL("\xef\xbb\xbf"
                              "data: a\n\n\xef\xbb\xbf"
                              "data: b\n\n"),
                 "[message||a]");
    assert_heard(SPAN_LITERAL("\xef\xbb"
                              "data: b\n\ndata: c\n\n"),
                 "[message||c]");
}

static void one_space_after_the_colon_is_dropped(void **state)
{
    (void)state;
    assert_heard(SPAN_LITERAL("data:a\ndata: b\ndata:  c\ndata\ndata:\n\n"),
                 "[message||a\nb\n c\n\n]");
}

static void comments_and_unknown_fields_are_no_events(void **state)
{
    (void)state;
    assert_heard(SPAN_LITERAL(": keepalive\n\n:\n\nfoo: bar\ndatadatadata: x\ndat: y\n\n"), "");
}

static void types_ids_and_retry_are_told(void **state)
{
    (void)state;
    assert_heard(SPAN_LITERAL("event: ping\nid: 7\ndata: x\n\ndata: y\n\n"),
                 "[ping|7|x!][message|7|y]");
    assert_heard(SPAN_LITERAL("retry: 5000\nretry: 5s\nretry: -1\n\n"), "(5000)");
}

static void empty_data_primes_the_id_and_is_no_event(void **state)
{
    (void)state;
    assert_heard(SPAN_LITERAL("id: 9\nretry: 10\ndata: \n\ndata: z\n\n"), "(10)<9>[message|9|z]");
}

static void an_id_with_a_nul_is_ignored(void **state)
{
    (void)state;
    assert_heard(SPAN_LITERAL("id: a\0b\ndata: z\n\n"), "[message||z]");
}

static void an_event_without_its_empty_line_is_not_told(void **state)
{
    (void)state;
    assert_heard(SPAN_LITERAL("data: a\n\ndata: b\n"), "[message||a]");
    struct heard h;
    heard_init(&h, 100);
    assert_true(sse_reader_is_between_events(h.reader));
    sse_reader_feed(h.reader, SPAN_LITERAL("data: b\n"), NULL);
    assert_false(sse_reader_is_between_events(h.reader));
    sse_reader_feed(h.reader, SPAN_LITERAL("\n"), NULL);
    assert_true(sse_reader_is_between_events(h.reader));
    heard_fini(&h);
}

static void an_event_past_the_limit_is_a_fault_that_stays(void **state)
{
    (void)state;
    struct heard h;
    heard_init(&h, 10);
    struct failure why;
    assert_int_equal(sse_reader_feed(h.reader, SPAN_LITERAL("data: 0123456789\n\n"), &why), 0);
    assert_int_equal(sse_reader_feed(h.reader, SPAN_LITERAL("data: 01234\ndata: 56789"), &why),
                     FAULT_TOO_LARGE);
    assert_non_null(strstr(why.text, "10 bytes"));
    assert_int_equal(sse_reader_feed(h.reader, SPAN_LITERAL("\n\n"), &why), FAULT_TOO_LARGE);
    heard_fini(&h);
}

static void long_comments_and_unknown_fields_cost_nothing(void **state)
{
    (void)state;
    struct heard h;
    heard_init(&h, 10);
    char junk[4096];
    memset(junk, 'x', sizeof junk);
    sse_reader_feed(h.reader, SPAN_LITERAL(":"), NULL);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sse_reader_feed(h.reader, span_of(junk, sizeof junk), NULL), 0);
    sse_reader_feed(h.reader, SPAN_LITERAL("\n"), NULL);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sse_reader_feed(h.reader, span_of(junk, sizeof junk), NULL), 0);
    assert_int_equal(sse_reader_feed(h.reader, SPAN_LITERAL("\ndata: a\n\n"), NULL), 0);
    assert_true(span_is(buffer_span(&h.text), "[message||a]"));
    heard_fini(&h);
}

static void a_reader_that_its_owner_stops_stays_stopped(void **state)
{
    (void)state;
    struct heard h;
    heard_init(&h, 100);
    h.refuse = FAULT_PEER;
    assert_int_equal(sse_reader_feed(h.reader, SPAN_LITERAL("data: a\n\ndata: b\n\n"), NULL),
                     FAULT_PEER);
    assert_true(span_is(buffer_span(&h.text), "[message||a]"));
    heard_fini(&h);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    struct buffer out;
    buffer_init(&out, 4096);
    sse_write_comment(&out, SPAN_LITERAL("keep\nalive"));
    sse_write_retry(&out, 5000);
    sse_write_event(&out, SPAN_LITERAL("s::1"), SPAN_LITERAL("{\"a\":1}"));
    sse_write_event(&out, SPAN_NONE, SPAN_LITERAL("one\r\ntwo\rthree\n"));
    assert_heard(buffer_span(&out),
                 "(5000)[message|s::1|{\"a\":1}!][message|s::1|one\ntwo\nthree\n]");
    buffer_fini(&out);
}

static void an_event_that_does_not_fit_leaves_no_half(void **state)
{
    (void)state;
    struct buffer out;
    buffer_init(&out, 40);
    assert_int_equal(sse_write_event(&out, SPAN_NONE, SPAN_LITERAL("0123456789")), 0);
    size_t before = buffer_size(&out);
    assert_int_equal(sse_write_event(&out, SPAN_NONE, SPAN_LITERAL("0123456789")), FAULT_TOO_LARGE);
    assert_int_equal(buffer_size(&out), before);
    buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_ends_of_all_three_kinds_are_read_alike),
        cmocka_unit_test(a_byte_order_mark_is_dropped_at_the_start_only),
        cmocka_unit_test(one_space_after_the_colon_is_dropped),
        cmocka_unit_test(comments_and_unknown_fields_are_no_events),
        cmocka_unit_test(types_ids_and_retry_are_told),
        cmocka_unit_test(empty_data_primes_the_id_and_is_no_event),
        cmocka_unit_test(an_id_with_a_nul_is_ignored),
        cmocka_unit_test(an_event_without_its_empty_line_is_not_told),
        cmocka_unit_test(an_event_past_the_limit_is_a_fault_that_stays),
        cmocka_unit_test(long_comments_and_unknown_fields_cost_nothing),
        cmocka_unit_test(a_reader_that_its_owner_stops_stays_stopped),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(an_event_that_does_not_fit_leaves_no_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
