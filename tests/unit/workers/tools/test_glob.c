// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/workers/tools/caller.h"

// Sets a file's time, so that the order is known.
static void put_at(struct box *b, const char *name, long second)
{
    const struct timespec times[2] = {{.tv_sec = second}, {.tv_sec = second}};
    box_put(b, name, "x\n");
    assert_int_equal(utimensat(AT_FDCWD, box_path(b, name), times, 0), 0);
}

static void the_newest_come_first_then_by_name(void **state)
{
    put_at(*state, "workspace/old.c", 100);
    put_at(*state, "workspace/src/b.c", 200);
    put_at(*state, "workspace/src/a.c", 200);
    put_at(*state, "workspace/src/new.c", 300);
    put_at(*state, "workspace/src/new.h", 400);
    box_ok(*state, "Glob", "{\"pattern\":\"*.c\"}", "src/new.c\nsrc/a.c\nsrc/b.c\nold.c\n");
    box_ok(*state, "Glob", "{\"pattern\":\"*.{c,h}\",\"path\":\"src\"}",
           "src/new.h\nsrc/new.c\nsrc/a.c\nsrc/b.c\n");
    box_ok(*state, "Glob", "{\"pattern\":\"/workspace/src/*.h\"}", "src/new.h\n");
    box_ok(*state, "Glob", "{\"pattern\":\"src/[ab].c\"}", "src/a.c\nsrc/b.c\n");
    box_ok(*state, "Glob", "{\"pattern\":\"*.py\"}", "[no files match]\n");
}

// G-40: what is left out is told.
static void a_cut_list_says_how_many_there_are(void **state)
{
    char name[64];
    for (int i = 0; i < 120; i++) {
        snprintf(name, sizeof name, "workspace/f%03d", i);
        put_at(*state, name, 1000 + i);
    }
    box_contains(*state, "Glob", "{\"pattern\":\"f*\"}", "f020\n[100 of 120 files, newest first");
    box_ok(*state, "Glob", "{\"pattern\":\"f*\",\"limit\":2}",
           "f119\nf118\n[2 of 120 files, newest first; narrow the pattern or raise limit]\n");
}

// G-39
static void hidden_files_are_listed_but_not_what_git_keeps(void **state)
{
    put_at(*state, "workspace/.github/ci.yml", 300);
    put_at(*state, "workspace/.env", 200);
    put_at(*state, "workspace/.git/config", 100);
    put_at(*state, "workspace/.gitignore", 50);
    box_ok(*state, "Glob", "{\"pattern\":\"**\"}", ".github/ci.yml\n.env\n.gitignore\n");
}

static void ignore_files_are_honoured_unless_told_otherwise(void **state)
{
    struct box *b = *state;
    box_put(b, "workspace/.gitignore", "*.o\n/build/\n!keep.o\n");
    box_put(b, "workspace/sub/.ignore", "*.tmp\n");
    put_at(b, "workspace/a.o", 100);
    put_at(b, "workspace/keep.o", 200);
    put_at(b, "workspace/build/x.c", 300);
    put_at(b, "workspace/sub/build/y.c", 400);
    put_at(b, "workspace/sub/z.tmp", 500);
    put_at(b, "workspace/sub/z.o", 600);
    box_ok(b, "Glob", "{\"pattern\":\"*.{o,c,tmp}\"}", "sub/build/y.c\nkeep.o\n");
    box_ok(b, "Glob", "{\"pattern\":\"*.{o,tmp}\",\"path\":\"sub\"}", "[no files match]\n");
    box_ok(b, "Glob", "{\"pattern\":\"*.{o,c,tmp}\",\"include_ignored\":true}",
           "sub/z.o\nsub/z.tmp\nsub/build/y.c\nbuild/x.c\nkeep.o\na.o\n");
}

// G-41
static void an_unreadable_directory_does_not_hide_the_rest(void **state)
{
    struct box *b = *state;
    chmod(b->folder, 0755);
    put_at(b, "workspace/seen.c", 100);
    put_at(b, "workspace/locked/hidden.c", 100);
    assert_int_equal(chmod(box_path(b, "workspace/locked"), 0), 0);
    uid_t before = geteuid();
    if (before == 0) // root reads everything: become somebody else for this one call
        assert_int_equal(seteuid(65534), 0);
    const char *text = box_call(b, "Glob", "{\"pattern\":\"*.c\"}");
    if (before == 0)
        assert_int_equal(seteuid(0), 0);
    assert_string_equal(text, "seen.c\n[not everything was searched: 1 unreadable, 0 too deep or "
                              "too large; for example locked]\n");
    chmod(box_path(b, "workspace/locked"), 0755);
}

static void symbolic_links_are_not_followed(void **state)
{
    struct box *b = *state;
    put_at(b, "outside/secret.c", 100);
    put_at(b, "workspace/a.c", 100);
    assert_int_equal(symlink("../outside", box_path(b, "workspace/out")), 0);
    assert_int_equal(symlink(".", box_path(b, "workspace/loop")), 0);
    box_ok(b, "Glob", "{\"pattern\":\"**/*.c\"}", "a.c\n");
    box_refused(b, "Glob", "{\"pattern\":\"*\",\"path\":\"out\"}", "leads out of /workspace");
    box_refused(b, "Glob", "{\"pattern\":\"/etc/*\"}", "is outside /workspace and /inputs");
}

static void inputs_are_shown_by_their_whole_path(void **state)
{
    put_at(*state, "inputs/d/a.c", 100);
    box_ok(*state, "Glob", "{\"pattern\":\"*.c\",\"path\":\"/inputs\"}", "/inputs/d/a.c\n");
    box_ok(*state, "Glob", "{\"pattern\":\"/inputs/**/*.c\"}", "/inputs/d/a.c\n");
}

static void a_broken_pattern_is_told(void **state)
{
    box_refused(*state, "Glob", "{\"pattern\":\"*.{c,h\"}", "a { without its }");
    box_refused(*state, "Glob", "{\"pattern\":\"*\",\"path\":\"none\"}", "none");
    box_refused(*state, "Glob", "{\"pattern\":\"*\",\"limit\":0}", "between 1 and 10000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLER_TEST(the_newest_come_first_then_by_name),
        CALLER_TEST(a_cut_list_says_how_many_there_are),
        CALLER_TEST(hidden_files_are_listed_but_not_what_git_keeps),
        CALLER_TEST(ignore_files_are_honoured_unless_told_otherwise),
        CALLER_TEST(an_unreadable_directory_does_not_hide_the_rest),
        CALLER_TEST(symbolic_links_are_not_followed),
        CALLER_TEST(inputs_are_shown_by_their_whole_path),
        CALLER_TEST(a_broken_pattern_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
