// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/ignore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct ignore *rules;

static int setup(void **state)
{
    (void)state;
    rules = ignore_push_text(NULL,
                             SPAN_LITERAL("# a comment\r\n"
                                          "\n"
                                          "*.o\n"
                                          "build/\n"
                                          "/only-here\n"
                                          "docs/*.html\n"
                                          "**/cache/**\n"
                                          "!keep.o\n"
                                          "spaces   \n"
                                          "kept\\ \n"
                                          "\\#hash\n"
                                          "crlf\r\n"),
                             0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ignore_pop(rules, NULL);
    return 0;
}

static bool covers(const char *path)
{
    return ignore_covers(rules, span_from_string(path), false);
}

static void rules_mean_what_git_says(void **state)
{
    (void)state;
    assert_true(covers("a.o"));
    assert_true(covers("deep/a.o"));
    assert_false(covers("deep/keep.o")); // the last rule that matches decides
    assert_true(ignore_covers(rules, SPAN_LITERAL("src/build"), true));
    assert_false(covers("src/build")); // a file of that name
    assert_true(covers("only-here"));
    assert_false(covers("deep/only-here"));
    assert_true(covers("docs/a.html"));
    assert_false(covers("deep/docs/a.html"));
    assert_false(covers("docs/deep/a.html"));
    assert_true(covers("x/cache/y"));
    assert_true(covers("spaces"));
    assert_true(covers("kept "));
    assert_true(covers("#hash"));
    assert_true(covers("crlf"));
    assert_false(covers("# a comment"));
}

static void the_deeper_set_decides(void **state)
{
    (void)state;
    struct ignore *inner = ignore_push_text(rules, SPAN_LITERAL("!*.o\n/x\n"), 4);
    assert_false(ignore_covers(inner, SPAN_LITERAL("sub/a.o"), false));
    assert_true(ignore_covers(inner, SPAN_LITERAL("sub/x"), false));
    assert_false(ignore_covers(inner, SPAN_LITERAL("sub/y/x"), false));
    assert_true(ignore_covers(inner, SPAN_LITERAL("sub/crlf"), false));
    ignore_pop(inner, rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_mean_what_git_says, setup, teardown),
        cmocka_unit_test_setup_teardown(the_deeper_set_decides, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
