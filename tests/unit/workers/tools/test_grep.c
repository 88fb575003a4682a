// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/workers/tools/caller.h"

static void put_tree(struct box *b)
{
    box_put(b, "workspace/a.c", "int one;\nint two;\nchar three;\n");
    box_put(b, "workspace/src/b.py", "def one():\n    return 1\n");
    box_put(b, "workspace/src/c.md", "One\n");
}

static void three_modes(void **state)
{
    put_tree(*state);
    box_ok(*state, "Grep", "{\"pattern\":\"one\"}", "a.c:1:int one;\nsrc/b.py:1:def one():\n");
    box_ok(*state, "Grep", "{\"pattern\":\"^int\",\"output_mode\":\"count\"}", "a.c:2\n");
    box_ok(*state, "Grep",
           "{\"pattern\":\"one\",\"output_mode\":\"files_with_matches\",\"case_insensitive\":true}",
           "a.c\nsrc/b.py\nsrc/c.md\n");
    box_ok(*state, "Grep", "{\"pattern\":\"nowhere\"}", "[no matches in 3 files]\n");
    box_refused(*state, "Grep", "{\"pattern\":\"x\",\"output_mode\":\"json\"}",
                "must be one of content, files_with_matches, count, got \"json\"");
}

static void paths_globs_and_types_narrow_the_search(void **state)
{
    put_tree(*state);
    box_ok(*state, "Grep", "{\"pattern\":\"one\",\"path\":\"src\"}", "src/b.py:1:def one():\n");
    box_ok(*state, "Grep", "{\"pattern\":\"one\",\"path\":\"a.c\"}", "a.c:1:int one;\n");
    box_ok(*state, "Grep", "{\"pattern\":\"one\",\"glob\":\"*.py\"}", "src/b.py:1:def one():\n");
    box_ok(*state, "Grep", "{\"pattern\":\"one\",\"glob\":\"!*.{py,md}\"}", "a.c:1:int one;\n");
    box_ok(*state, "Grep", "{\"pattern\":\"one\",\"glob\":\"src/**\"}", "src/b.py:1:def one():\n");
    box_ok(*state, "Grep", "{\"pattern\":\"one\",\"type\":\"c\"}", "a.c:1:int one;\n");
    box_refused(*state, "Grep", "{\"pattern\":\"one\",\"type\":\"cobol\"}",
                "must be one of c, cpp");
    box_refused(*state, "Grep", "{\"pattern\":\"one\",\"path\":\"none\"}", "none does not exist");
    box_refused(*state, "Grep", "{\"pattern\":\"one\",\"path\":\"/etc\"}", "outside /workspace");
}

static void context_is_marked_and_groups_are_separated(void **state)
{
    box_put(*state, "workspace/a", "1\n2\nx\n4\n5\n6\n7\nx\n9\nx\n");
    box_ok(*state, "Grep", "{\"pattern\":\"x\",\"context\":1}",
           "a-2-2\na:3:x\na-4-4\n--\na-7-7\na:8:x\na-9-9\na:10:x\n");
    box_ok(*state, "Grep", "{\"pattern\":\"x\",\"context_after\":2}",
           "a:3:x\na-4-4\na-5-5\n--\na:8:x\na-9-9\na:10:x\n");
    box_ok(*state, "Grep", "{\"pattern\":\"4\",\"context_before\":9}",
           "a-1-1\na-2-2\na-3-x\na:4:4\n");
    box_ok(*state, "Grep", "{\"pattern\":\"^[27]$\",\"context\":2}",
           "a-1-1\na:2:2\na-3-x\na-4-4\na-5-5\na-6-6\na:7:7\na-8-x\na-9-9\n");
}

static void multiline_patterns_cross_line_ends(void **state)
{
    box_put(*state, "workspace/a", "one {\n  two\n}\nthree\n");
    box_ok(*state, "Grep", "{\"pattern\":\"\\\\{.*?\\\\}\",\"multiline\":true}",
           "a:1:one {\na:2:  two\na:3:}\n");
    box_ok(*state, "Grep", "{\"pattern\":\"\\\\{\\\\s*two\"}", "[no matches in 1 files]\n");
    box_ok(*state, "Grep", "{\"pattern\":\"three\\\\s*\",\"multiline\":true}", "a:4:three\n");
}

// The fast ways must answer as line by line would.
static void no_match_reaches_over_a_line_end(void **state)
{
    box_put(*state, "workspace/a", "ab\ncd\n\nef");
    box_ok(*state, "Grep", "{\"pattern\":\"b[^x]c\"}", "[no matches in 1 files]\n");
    box_ok(*state, "Grep", "{\"pattern\":\"b\\\\sc\"}", "[no matches in 1 files]\n");
    box_ok(*state, "Grep", "{\"pattern\":\"b$\"}", "a:1:ab\n");
    box_ok(*state, "Grep", "{\"pattern\":\"^$\"}", "a:3:\n");
    box_ok(*state, "Grep", "{\"pattern\":\"$\",\"output_mode\":\"count\"}", "a:4\n");
    box_ok(*state, "Grep", "{\"pattern\":\"\\\\Acd\\\\z\"}", "a:2:cd\n");
    box_ok(*state, "Grep", "{\"pattern\":\"^[a-z]f?$\",\"output_mode\":\"count\"}", "a:1\n");
    box_put(*state, "workspace/a", "ab\r\ncd\r\n");
    box_ok(*state, "Grep", "{\"pattern\":\"b$\"}", "a:1:ab\n");
    box_ok(*state, "Grep", "{\"pattern\":\"[bd].\"}", "[no matches in 1 files]\n");
}

static void long_lines_are_cut_around_the_match(void **state)
{
    struct box *b = *state;
    struct buffer text;
    buffer_init(&text, 1 << 20);
    for (int i = 0; i < 5000; i++)
        buffer_append_string(&text, "abc ");
    buffer_append_string(&text, "needle");
    for (int i = 0; i < 5000; i++)
        buffer_append_string(&text, "abc ");
    box_put_bytes(b, "workspace/a", buffer_span(&text));
    buffer_fini(&text);
    box_contains(b, "Grep", "{\"pattern\":\"needle\"}", "needle");
    assert_true(buffer_size(&b->caller->result.text) < 700);
    box_contains(b, "Grep", "{\"pattern\":\"needle\"}", "… [line cut: it has 40006 bytes]");
}

static void a_cut_answer_says_how_much_there_is(void **state)
{
    struct buffer text;
    buffer_init(&text, 1 << 20);
    for (int i = 0; i < 1000; i++)
        buffer_append_string(&text, "x\n");
    box_put_bytes(*state, "workspace/a", buffer_span(&text));
    box_put_bytes(*state, "workspace/b", buffer_span(&text));
    buffer_fini(&text);
    box_ok(*state, "Grep", "{\"pattern\":\"x\",\"head_limit\":1}",
           "a:1:x\n[cut after 1 lines; in all 2000 matches in 2 files. Narrow the search, or raise "
           "head_limit]\n");
    box_contains(*state, "Grep", "{\"pattern\":\"x\"}", "a:500:x\n[cut after 500 lines");
}

static void binary_files_are_skipped_and_hidden_ones_searched(void **state)
{
    box_put_bytes(*state, "workspace/bin", SPAN_LITERAL("x\0x\n"));
    box_put(*state, "workspace/.env", "x=1\n");
    box_put(*state, "workspace/.git/config", "x\n");
    box_put(*state, "workspace/.gitignore", "*.log\n");
    box_put(*state, "workspace/a.log", "x=2\n");
    box_ok(*state, "Grep", "{\"pattern\":\"x\"}", ".env:1:x=1\n[1 binary file was skipped]\n");
    box_ok(*state, "Grep", "{\"pattern\":\"x=\",\"include_ignored\":true,\"glob\":\"*.log\"}",
           "a.log:1:x=2\n");
}

static void bytes_that_are_not_utf8_are_searched(void **state)
{
    box_put(*state, "workspace/a", "caf\xe9 one\nb\xc3\xa4r two\n");
    box_ok(*state, "Grep", "{\"pattern\":\"caf. one|tw\"}", "a:2:b\xc3\xa4r two\n");
    box_ok(*state, "Grep", "{\"pattern\":\"B\xc3\x84R\",\"case_insensitive\":true}",
           "a:2:b\xc3\xa4r two\n");
    box_ok(*state, "Grep", "{\"pattern\":\"^b.r\"}", "a:2:b\xc3\xa4r two\n");
}

static void a_broken_pattern_is_explained(void **state)
{
    box_refused(*state, "Grep", "{\"pattern\":\"a(b\"}",
                "argument \"pattern\": missing closing parenthesis at byte 3");
    box_refused(*state, "Grep", "{\"pattern\":\"a\",\"glob\":\"{a\"}", "argument \"glob\": a { wi");
}

static void a_pattern_that_explodes_is_given_up(void **state)
{
    struct buffer text;
    buffer_init(&text, 1 << 20);
    for (int i = 0; i < 60; i++)
        buffer_append_char(&text, 'a');
    buffer_append_string(&text, "b\n");
    box_put_bytes(*state, "workspace/a", buffer_span(&text));
    buffer_fini(&text);
    box_ok(*state, "Grep", "{\"pattern\":\"^(a+)+$\"}",
           "[no matches in 1 files]\n[1 line was given up: the pattern takes too long on it]\n");
}

static void a_fifo_does_not_stop_the_search(void **state)
{
    struct box *b = *state;
    box_put(b, "workspace/a", "x\n");
    assert_int_equal(mkfifo(box_path(b, "workspace/fifo"), 0644), 0);
    box_ok(b, "Grep", "{\"pattern\":\"x\"}", "a:1:x\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLER_TEST(three_modes),
        CALLER_TEST(paths_globs_and_types_narrow_the_search),
        CALLER_TEST(context_is_marked_and_groups_are_separated),
        CALLER_TEST(multiline_patterns_cross_line_ends),
        CALLER_TEST(no_match_reaches_over_a_line_end),
        CALLER_TEST(long_lines_are_cut_around_the_match),
        CALLER_TEST(a_cut_answer_says_how_much_there_is),
        CALLER_TEST(binary_files_are_skipped_and_hidden_ones_searched),
        CALLER_TEST(bytes_that_are_not_utf8_are_searched),
        CALLER_TEST(a_broken_pattern_is_explained),
        CALLER_TEST(a_pattern_that_explodes_is_given_up),
        CALLER_TEST(a_fifo_does_not_stop_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
