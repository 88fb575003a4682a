// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gateway/lib/base/memory.h"

struct pattern_case {
    const char *pattern, *path;
    bool matches;
};

static const struct pattern_case cases[] = {
    {"a", "a", true},
    {"a", "ab", false},
    {"*", "", true},
    {"*", "abc", true},
    {"*", "a/b", false},
    {"*.c", "a.c", true},
    {"*.c", ".c", true},
    {"*.c", "a.ch", false},
    {"a*b*c", "aXbYc", true},
    {"a*b*c", "abcb", false},
    {"?", "\xc3\xa4", true},
    {"?", "/", false},
    {"??", "\xc3\xa4", false},
    {"[a-c]", "b", true},
    {"[a-c]", "d", false},
    {"[!a-c]", "d", true},
    {"[^a-c]", "a", false},
    {"[!a]", "/", false},
    {"[]a]", "]", true},
    {"[a-]", "-", true},
    {"[[:digit:]x]", "7", true},
    {"[[:digit:]x]", "y", false},
    {"[\xc3\xa0-\xc3\xb0]", "\xc3\xa4", true},
    {"[ab", "[ab", true}, // not closed: itself
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"[\\]]", "]", true},
    {"**", "a/b/c", true},
    {"**/x", "x", true},
    {"**/x", "a/b/x", true},
    {"**/x", "a/bx", false},
    {"a/**", "a/b/c", true},
    {"a/**", "a", false},
    {"a/**/b", "a/b", true},
    {"a/**/b", "a/x/y/b", true},
    {"a/**/b", "ab", false},
    {"a**b", "aXb", true},
    {"a**b", "a/b", false},
    {"**/*.c", "x/a.c", true},
    {"**/a/*/b", "z/a/1/2/a/3/b", true},
    {"*/*", "a/b", true},
    {"*/*", "a/b/c", false},
};

static void patterns_match_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        if (pattern_matches(span_from_string(cases[i].pattern), span_from_string(cases[i].path)) !=
            cases[i].matches)
            fail_msg("%s against %s", cases[i].pattern, cases[i].path);
}

static void many_stars_take_no_time(void **state)
{
    (void)state;
    char pattern[4001], path[4001];
    for (size_t i = 0; i < 4000; i += 2)
        memcpy(pattern + i, "*a", 2);
    memset(path, 'a', 4000);
    pattern[4000] = 'b';
    assert_false(pattern_matches(span_of(pattern, 4001), span_of(path, 4000)));
    for (size_t i = 0; i + 4 <= 4000; i += 4) {
        memcpy(pattern + i, "**/a", 4);
        pattern[i] = '*';
    }
    for (size_t i = 1; i < 4000; i += 2)
        path[i] = '/';
    assert_false(pattern_matches(span_of(pattern, 4001), span_of(path, 4000)));
}

static void assert_expands(const char *text, size_t count, const char *last)
{
    struct pattern_set set;
    struct failure why = {0};
    assert_int_equal(pattern_set_parse(span_from_string(text), &set, &why), 0);
    assert_int_equal(set.count, count);
    assert_true(span_is(set.pattern[count - 1], last));
    pattern_set_fini(&set);
}

static void braces_are_expanded(void **state)
{
    (void)state;
    assert_expands("a", 1, "a");
    assert_expands("*.{c,h}", 2, "*.h");
    assert_expands("{a,b{1,2}}x", 3, "b2x");
    assert_expands("{a,b}{c,d}", 4, "bd");
    assert_expands("{,x}", 2, "x");
    assert_expands("\\{a,b}", 1, "\\{a,b}");
    assert_expands("[{]a", 1, "[{]a");
}

static void too_many_or_open_braces_are_refused(void **state)
{
    (void)state;
    struct pattern_set set;
    struct failure why = {0};
    assert_true(pattern_set_parse(SPAN_LITERAL("{a,b"), &set, &why) < 0);
    assert_true(
        pattern_set_parse(SPAN_LITERAL("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"
                                       "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"),
                          &set, &why) < 0);
    char deep[200];
    memset(deep, '{', 100);
    memset(deep + 100, '}', 100);
    assert_true(pattern_set_parse(span_of(deep, 200), &set, &why) < 0);
}

static void without_a_slash_the_name_decides(void **state)
{
    (void)state;
    struct pattern_set set;
    assert_int_equal(pattern_set_parse(SPAN_LITERAL("{*.c,src/*.h}"), &set, NULL), 0);
    assert_true(pattern_set_matches(&set, SPAN_LITERAL("deep/down/a.c")));
    assert_true(pattern_set_matches(&set, SPAN_LITERAL("src/a.h")));
    assert_false(pattern_set_matches(&set, SPAN_LITERAL("deep/src/a.h")));
    pattern_set_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_what_they_say),
        cmocka_unit_test(many_stars_take_no_time),
        cmocka_unit_test(braces_are_expanded),
        cmocka_unit_test(too_many_or_open_braces_are_refused),
        cmocka_unit_test(without_a_slash_the_name_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
