// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/workers/tools/caller.h"

static void lines_are_numbered_from_one(void **state)
{
    box_put(*state, "workspace/a.txt", "one\ntwo\n\nfour");
    box_ok(*state, "Read", "{\"file_path\":\"a.txt\"}", "1\tone\n2\ttwo\n3\t\n4\tfour\n");
    box_ok(*state, "Read", "{\"file_path\":\"/workspace/a.txt\"}",
           "1\tone\n2\ttwo\n3\t\n4\tfour\n");
}

static void a_window_says_how_to_go_on(void **state)
{
    box_put(*state, "workspace/a.txt", "one\ntwo\nthree\nfour\n");
    box_ok(*state, "Read", "{\"file_path\":\"a.txt\",\"offset\":2,\"limit\":2}",
           "2\ttwo\n3\tthree\n[lines 2-3 of 4; go on with offset=4]\n");
    box_ok(*state, "Read", "{\"file_path\":\"a.txt\",\"offset\":4}", "4\tfour\n");
    box_refused(*state, "Read", "{\"file_path\":\"a.txt\",\"offset\":5}",
                "offset 5 is past the end: a.txt has 4 lines");
}

static void two_thousand_lines_are_the_default(void **state)
{
    struct buffer text;
    buffer_init(&text, 1 << 20);
    for (int i = 1; i <= 2005; i++)
        buffer_printf(&text, "%d\n", i);
    box_put_bytes(*state, "workspace/a.txt", buffer_span(&text));
    buffer_fini(&text);
    box_contains(*state, "Read", "{\"file_path\":\"a.txt\"}",
                 "2000\t2000\n[lines 1-2000 of 2005; go on with offset=2001]\n");
}

// G-28: a line of more than a mebibyte must not make the file unreadable.
static void a_huge_line_is_cut_and_the_rest_is_read(void **state)
{
    struct buffer text;
    buffer_init(&text, 4 << 20);
    for (int i = 0; i < 3 << 20; i++)
        buffer_append_char(&text, 'x');
    buffer_append_string(&text, "\nlast\n");
    box_put_bytes(*state, "workspace/a.txt", buffer_span(&text));
    buffer_fini(&text);
    box_contains(*state, "Read", "{\"file_path\":\"a.txt\"}",
                 "xxx… [line cut: it has 3145728 bytes]\n2\tlast\n");
}

static void an_answer_has_a_budget_of_bytes(void **state)
{
    struct box *b = *state;
    struct buffer text;
    buffer_init(&text, 4 << 20);
    for (int i = 0; i < 1000; i++)
        buffer_printf(&text, "%01000d\n", i);
    box_put_bytes(b, "workspace/a.txt", buffer_span(&text));
    buffer_fini(&text);
    box_contains(b, "Read", "{\"file_path\":\"a.txt\"}", "of 1000, cut at 256 KiB; go on with");
    assert_true(buffer_size(&b->caller->result.text) <= 256 << 10);
}

static void a_character_is_never_cut_in_two(void **state)
{
    struct box *b = *state;
    struct buffer text;
    buffer_init(&text, 4 << 20);
    buffer_append_char(&text, 'x');
    for (int i = 0; i < 2000; i++)
        buffer_append_string(&text, "ä");
    box_put_bytes(b, "workspace/a.txt", buffer_span(&text));
    buffer_fini(&text);
    box_contains(b, "Read", "{\"file_path\":\"a.txt\"}", "ä… [line cut: it has 4001 bytes]");
}

static void binary_empty_and_odd_files_are_told(void **state)
{
    struct box *b = *state;
    box_put_bytes(b, "workspace/bin", SPAN_LITERAL("ELF\0\1\2"));
    box_put(b, "workspace/empty", "");
    box_ok(b, "Read", "{\"file_path\":\"bin\"}",
           "[bin is a binary file of 6 bytes; its content is not shown]\n");
    box_ok(b, "Read", "{\"file_path\":\"empty\"}", "[empty is empty]\n");
    box_refused(b, "Read", "{\"file_path\":\"none\"}", "none does not exist");
    box_refused(b, "Read", "{\"file_path\":\".\"}", "is a directory, not a file; use Glob");
    box_refused(b, "Read", "{\"file_path\":\"/workspace\"}", "is a directory");
}

static void crlf_and_the_byte_order_mark_are_not_shown(void **state)
{
    box_put(*state, "workspace/a.txt", "\xef\xbb\xbfone\r\ntwo\r\n");
    box_ok(*state, "Read", "{\"file_path\":\"a.txt\"}",
           "1\tone\n2\ttwo\n[line ends are CRLF; Edit and Write keep them]\n");
}

// G-02: a FIFO without a writer blocks whoever opens it; a device may do anything.
static void nothing_but_regular_files_is_opened(void **state)
{
    struct box *b = *state;
    assert_int_equal(mkfifo(box_path(b, "workspace/fifo"), 0644), 0);
    box_refused(b, "Read", "{\"file_path\":\"fifo\"}", "fifo is a FIFO; only regular files");
    box_refused(b, "Write", "{\"file_path\":\"fifo\",\"content\":\"\"}", "fifo is a FIFO");
    assert_int_equal(symlink("/dev/null", box_path(b, "workspace/null")), 0);
    box_refused(b, "Read", "{\"file_path\":\"null\"}", "the path leads out of /workspace");
}

static void inputs_can_be_read(void **state)
{
    struct box *b = *state;
    box_put(b, "inputs/data/a.txt", "given\n");
    box_ok(b, "Read", "{\"file_path\":\"/inputs/data/a.txt\"}", "1\tgiven\n");
    box_refused(b, "Read", "{\"file_path\":\"/etc/passwd\"}",
                "/etc/passwd is outside /workspace and /inputs");
    box_refused(b, "Read", "{\"file_path\":\"/workspaces/a\"}", "is outside");
    box_refused(b, "Read", "{\"file_path\":\"a\\u0000b\"}", "NUL byte");
}

static void a_cancelled_call_ends(void **state)
{
    struct box *b = *state;
    box_put(b, "workspace/a.txt", "one\n");
    b->caller->cancelled = true;
    box_refused(b, "Read", "{\"file_path\":\"a.txt\"}", "cancelled");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLER_TEST(lines_are_numbered_from_one),
        CALLER_TEST(a_window_says_how_to_go_on),
        CALLER_TEST(two_thousand_lines_are_the_default),
        CALLER_TEST(a_huge_line_is_cut_and_the_rest_is_read),
        CALLER_TEST(an_answer_has_a_budget_of_bytes),
        CALLER_TEST(a_character_is_never_cut_in_two),
        CALLER_TEST(binary_empty_and_odd_files_are_told),
        CALLER_TEST(crlf_and_the_byte_order_mark_are_not_shown),
        CALLER_TEST(nothing_but_regular_files_is_opened),
        CALLER_TEST(inputs_can_be_read),
        CALLER_TEST(a_cancelled_call_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
