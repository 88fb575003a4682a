// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/workers/tools/caller.h"

#include <sys/wait.h>

static void give(struct box *b, const char *content)
{
    box_put(b, "workspace/a.txt", content);
    box_call(b, "Read", "{\"file_path\":\"a.txt\"}");
}

#define EDIT(old, new)                                                                             \
    "{\"file_path\":\"a.txt\",\"old_string\":\"" old "\",\"new_string\":\"" new "\"}"
#define EDIT_ALL(old, new)                                                                         \
    "{\"file_path\":\"a.txt\",\"old_string\":\"" old                                               \
    "\",\"new_string\":\"" new "\",\"replace_all\":true}"

static void one_match_is_replaced(void **state)
{
    give(*state, "one\ntwo\nthree\n");
    box_ok(*state, "Edit", EDIT("two\\nth", "2\\nTH"), "replaced 1 occurrence in a.txt (line 2)");
    box_assert_holds(*state, "workspace/a.txt", "one\n2\nTHree\n");
    box_ok(*state, "Edit", EDIT("one\\n", ""), "replaced 1 occurrence in a.txt (line 1)");
    box_assert_holds(*state, "workspace/a.txt", "2\nTHree\n");
}

static void several_matches_are_counted_and_named(void **state)
{
    give(*state, "x\ny\nx x\n");
    box_refused(*state, "Edit", EDIT("x", "z"), "matched 3 times in a.txt (lines 1, 3, 3)");
    box_assert_holds(*state, "workspace/a.txt", "x\ny\nx x\n");
    box_ok(*state, "Edit", EDIT_ALL("x", "z"), "replaced 3 occurrences in a.txt (lines 1, 3, 3)");
    box_assert_holds(*state, "workspace/a.txt", "z\ny\nz z\n");
}

static void a_miss_is_explained(void **state)
{
    give(*state, "int main(void)\n{\n\treturn 0;\n}\n");
    box_refused(*state, "Edit", EDIT("    return 0;", ""), "at line 3 it differs in white space");
    box_refused(*state, "Edit", EDIT("INT MAIN", ""), "at line 1 it differs in upper and lower");
    box_refused(*state, "Edit", EDIT("3\\t\\treturn 0;", ""), "leave out the line numbers");
    box_refused(*state, "Edit", EDIT("{\\n\\treturn 1;", ""),
                "its first line is found at line 2, but line 3 differs");
    box_refused(*state, "Edit", EDIT("absent", ""), "old_string not found in a.txt");
    box_refused(*state, "Edit", EDIT("", "x"), "must not be empty");
    box_refused(*state, "Edit", EDIT("main", "main"), "are the same");
}

static void an_unread_or_missing_file_is_refused(void **state)
{
    box_put(*state, "workspace/a.txt", "one\n");
    box_refused(*state, "Edit", EDIT("one", "two"), "refusing to edit a.txt: Read it first");
    box_refused(*state, "Edit",
                "{\"file_path\":\"b.txt\",\"old_string\":\"x\",\"new_string\":\"y\"}",
                "b.txt does not exist");
}

// G-27
static void crlf_files_are_edited_with_what_read_shows(void **state)
{
    give(*state, "\xef\xbb\xbf"
                 "one\r\ntwo\r\nthree\r\n");
    box_ok(*state, "Edit", EDIT("one\\ntwo\\n", "1\\n2\\n2b\\n"),
           "replaced 1 occurrence in a.txt (line 1)");
    box_assert_holds(*state, "workspace/a.txt",
                     "\xef\xbb\xbf"
                     "1\r\n2\r\n2b\r\nthree\r\n");
    box_call(*state, "Edit", EDIT("three", "3\\n4"));
    box_assert_holds(*state, "workspace/a.txt",
                     "\xef\xbb\xbf"
                     "1\r\n2\r\n2b\r\n3\r\n4\r\n");
    box_call(*state, "Edit", EDIT("\\n2\\r\\n", "\\n"));
    box_assert_holds(*state, "workspace/a.txt",
                     "\xef\xbb\xbf"
                     "1\r\n2b\r\n3\r\n4\r\n");
}

static void mixed_line_ends_stay_mixed(void **state)
{
    give(*state, "one\r\ntwo\nthree\r\nfour\n");
    box_call(*state, "Edit", EDIT("two\\nthree", "2\\n3"));
    box_assert_holds(*state, "workspace/a.txt", "one\r\n2\n3\r\nfour\n");
}

static void bytes_that_are_not_text_survive(void **state)
{
    give(*state, "caf\xe9 = 1\n\xff\xfe tail\n");
    box_call(*state, "Edit", EDIT("= 1", "= 2"));
    box_assert_holds(*state, "workspace/a.txt", "caf\xe9 = 2\n\xff\xfe tail\n");
}

static int edit_in_child(struct box *b, int which)
{
    char args[128];
    snprintf(args, sizeof args,
             "{\"file_path\":\"a.txt\",\"old_string\":\"<%d>\",\"new_string\":\"[%d]\"}", which,
             which);
    // Other children change the file too; what a reader does about a stale read is to read again.
    for (int i = 0; i < 1000; i++) {
        box_call(b, "Read", "{\"file_path\":\"a.txt\"}");
        box_call(b, "Edit", args);
        if (!b->caller->result.is_error)
            return 0;
    }
    return 1;
}

// G-26: no edit that was accepted is lost.
static void parallel_edits_lose_nothing(void **state)
{
    enum { CHILDREN = 8, EACH = 5 };
    struct box *b = *state;
    struct buffer text;
    buffer_init(&text, 4096);
    for (int i = 0; i < CHILDREN * EACH; i++)
        buffer_printf(&text, "<%d>\n", i);
    box_put_bytes(b, "workspace/a.txt", buffer_span(&text));
    for (int c = 0; c < CHILDREN; c++) {
        if (fork() != 0)
            continue;
        int failed = 0;
        for (int i = 0; i < EACH; i++)
            failed += edit_in_child(b, c * EACH + i);
        _exit(failed);
    }
    for (int c = 0; c < CHILDREN; c++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    buffer_clear(&text);
    for (int i = 0; i < CHILDREN * EACH; i++)
        buffer_printf(&text, "[%d]\n", i);
    buffer_append_char(&text, '\0');
    box_assert_holds(b, "workspace/a.txt", buffer_span(&text).data);
    buffer_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLER_TEST(one_match_is_replaced),
        CALLER_TEST(several_matches_are_counted_and_named),
        CALLER_TEST(a_miss_is_explained),
        CALLER_TEST(an_unread_or_missing_file_is_refused),
        CALLER_TEST(crlf_files_are_edited_with_what_read_shows),
        CALLER_TEST(mixed_line_ends_stay_mixed),
        CALLER_TEST(bytes_that_are_not_text_survive),
        CALLER_TEST(parallel_edits_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
