// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/workers/tools/caller.h"

// G-49: nothing is converted, nothing is ignored.
static void a_wrong_type_is_named(void **state)
{
    box_put(*state, "workspace/a.txt", "one\n");
    box_refused(*state, "Read", "{\"file_path\":\"a.txt\",\"limit\":\"1\"}",
                "Read: argument \"limit\" must be an integer, got the string \"1\"; send the value "
                "without quotes");
    box_refused(*state, "Read", "{\"file_path\":\"a.txt\",\"limit\":1.5}",
                "must be an integer, got the number 1.5; send a whole number");
    box_refused(*state, "Read", "{\"file_path\":7}", "must be a string, got the number 7");
    box_refused(*state, "Read", "{\"file_path\":[\"a.txt\"]}", "got the array [\"a.txt\"]");
    box_refused(*state, "Read", "{\"file_path\":\"a.txt\",\"limit\":null}",
                "not null; leave it out for the default");
    box_refused(*state, "Edit",
                "{\"file_path\":\"a\",\"old_string\":\"x\",\"new_string\":\"y\","
                "\"replace_all\":\"true\"}",
                "\"replace_all\" must be true or false, got the string \"true\"");
}

static void missing_unknown_and_doubled_arguments_are_named(void **state)
{
    box_refused(*state, "Read", "{}", "argument \"file_path\" is missing; it must be a string");
    box_refused(*state, "Read", "{\"file_path\":\"a\",\"path\":\"b\"}",
                "Read has no argument \"path\"; it takes file_path, offset, limit");
    box_refused(*state, "Read", "{\"file_path\":\"a\",\"file_path\":\"b\"}", "stands there twice");
    box_refused(*state, "Read", "[]", "must be an object, got the array");
}

static void ranges_are_told(void **state)
{
    box_refused(*state, "Read", "{\"file_path\":\"a\",\"offset\":0}",
                "argument \"offset\" must be at least 1, got 0");
    box_refused(*state, "Read", "{\"file_path\":\"a\",\"limit\":1000001}",
                "must be between 1 and 1000000, got 1000001");
    box_refused(*state, "Read", "{\"file_path\":\"\"}", "must not be empty");
    box_refused(*state, "Read", "{\"file_path\":\"a\",\"offset\":1e99}", "must be an integer");
}

static void whole_numbers_in_any_spelling_are_integers(void **state)
{
    box_put(*state, "workspace/a.txt", "one\ntwo\n");
    box_ok(*state, "Read", "{\"file_path\":\"a.txt\",\"offset\":2.0}", "2\ttwo\n");
}

static void escapes_in_strings_are_undone(void **state)
{
    box_put(*state, "workspace/\xc3\xa4 b", "one\n");
    box_ok(*state, "Read", "{\"file_path\":\"\\u00e4 b\"}", "1\tone\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLER_TEST(a_wrong_type_is_named),
        CALLER_TEST(missing_unknown_and_doubled_arguments_are_named),
        CALLER_TEST(ranges_are_told),
        CALLER_TEST(whole_numbers_in_any_spelling_are_integers),
        CALLER_TEST(escapes_in_strings_are_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
