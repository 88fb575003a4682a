// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/workers/tools/caller.h"

#include <dirent.h>
#include <sys/xattr.h>

static mode_t mode_of(struct box *b, const char *name)
{
    struct stat st;
    assert_int_equal(stat(box_path(b, name), &st), 0);
    return st.st_mode & 07777;
}

static int entries_in(struct box *b, const char *name)
{
    int count = 0;
    DIR *dir = opendir(box_path(b, name));
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 2;
}

static void a_new_file_needs_no_read_and_gets_its_directories(void **state)
{
    box_ok(*state, "Write", "{\"file_path\":\"a/b/c.txt\",\"content\":\"x\\n\"}",
           "wrote 2 bytes to a/b/c.txt (new file)");
    box_assert_holds(*state, "workspace/a/b/c.txt", "x\n");
    assert_int_equal(mode_of(*state, "workspace/a/b/c.txt"), 0644);
    // What was written is known: it can be written over.
    box_ok(*state, "Write", "{\"file_path\":\"/workspace/a/b/c.txt\",\"content\":\"y\"}",
           "wrote 1 bytes to a/b/c.txt");
    assert_int_equal(entries_in(*state, "workspace/a/b"), 1);
}

static void an_existing_file_must_be_read_first(void **state)
{
    struct box *b = *state;
    box_put(b, "workspace/a.txt", "old\n");
    box_refused(b, "Write", "{\"file_path\":\"a.txt\",\"content\":\"new\"}",
                "refusing to overwrite a.txt: Read it first");
    box_assert_holds(b, "workspace/a.txt", "old\n");
    box_call(b, "Read", "{\"file_path\":\"a.txt\"}");
    box_ok(b, "Write", "{\"file_path\":\"a.txt\",\"content\":\"new\"}", "wrote 3 bytes to a.txt");
    box_assert_holds(b, "workspace/a.txt", "new");
}

// G-25
static void a_file_changed_since_it_was_read_is_not_overwritten(void **state)
{
    struct box *b = *state;
    box_put(b, "workspace/a.txt", "old\n");
    box_call(b, "Read", "{\"file_path\":\"a.txt\"}");
    box_put(b, "workspace/a.txt", "theirs\n");
    box_refused(b, "Write", "{\"file_path\":\"a.txt\",\"content\":\"mine\"}",
                "it changed since you read it (now 7 bytes");
    box_assert_holds(b, "workspace/a.txt", "theirs\n");
    box_refused(b, "Edit",
                "{\"file_path\":\"a.txt\",\"old_string\":\"theirs\",\"new_string\":\"mine\"}",
                "refusing to edit a.txt: it changed since you read it");
}

static void one_file_has_one_name_in_the_read_table(void **state)
{
    struct box *b = *state;
    box_put(b, "workspace/real/a.txt", "old\n");
    assert_int_equal(symlink("real", box_path(b, "workspace/link")), 0);
    assert_int_equal(symlink("/workspace/real/a.txt", box_path(b, "workspace/abs")), 0);
    box_call(b, "Read", "{\"file_path\":\"link/../link/./a.txt\"}");
    box_ok(b, "Write", "{\"file_path\":\"abs\",\"content\":\"new\"}",
           "wrote 3 bytes to real/a.txt");
    box_assert_holds(b, "workspace/real/a.txt", "new");
    struct stat st;
    assert_int_equal(lstat(box_path(b, "workspace/abs"), &st), 0);
    assert_true(S_ISLNK(st.st_mode)); // the link stays a link
}

// G-03
static void mode_and_extended_attributes_are_kept(void **state)
{
    struct box *b = *state;
    box_put(b, "workspace/run.sh", "old\n");
    assert_int_equal(chmod(box_path(b, "workspace/run.sh"), 0751), 0);
    int set = setxattr(box_path(b, "workspace/run.sh"), "user.note", "kept", 4, 0);
    box_call(b, "Read", "{\"file_path\":\"run.sh\"}");
    box_call(b, "Write", "{\"file_path\":\"run.sh\",\"content\":\"new\\n\"}");
    assert_int_equal(mode_of(b, "workspace/run.sh"), 0751);
    box_call(b, "Edit",
             "{\"file_path\":\"run.sh\",\"old_string\":\"new\",\"new_string\":\"newer\"}");
    assert_int_equal(mode_of(b, "workspace/run.sh"), 0751);
    box_assert_holds(b, "workspace/run.sh", "newer\n");
    char value[8];
    if (set == 0) // tmpfs of older kernels has no user attributes
        assert_int_equal(getxattr(box_path(b, "workspace/run.sh"), "user.note", value, 8), 4);
}

static void the_owner_is_kept(void **state)
{
    struct box *b = *state;
    struct stat st;
    if (geteuid() != 0)
        skip();
    box_put(b, "workspace/a.txt", "old\n");
    assert_int_equal(chown(box_path(b, "workspace/a.txt"), 1234, 2345), 0);
    box_call(b, "Read", "{\"file_path\":\"a.txt\"}");
    box_call(b, "Write", "{\"file_path\":\"a.txt\",\"content\":\"new\\n\"}");
    assert_int_equal(stat(box_path(b, "workspace/a.txt"), &st), 0);
    assert_int_equal(st.st_uid, 1234);
    assert_int_equal(st.st_gid, 2345);
}

static void crlf_and_mark_come_back(void **state)
{
    struct box *b = *state;
    box_put(b, "workspace/a.txt",
            "\xef\xbb\xbf"
            "one\r\ntwo\r\n");
    box_call(b, "Read", "{\"file_path\":\"a.txt\"}");
    box_ok(b, "Write", "{\"file_path\":\"a.txt\",\"content\":\"1\\n2\\n3\"}",
           "wrote 10 bytes to a.txt, kept its CRLF line ends and byte order mark");
    box_assert_holds(b, "workspace/a.txt",
                     "\xef\xbb\xbf"
                     "1\r\n2\r\n3");
    // Mixed line ends are not a style: the content is taken as it is.
    box_put(b, "workspace/b.txt", "one\r\ntwo\n");
    box_call(b, "Read", "{\"file_path\":\"b.txt\"}");
    box_call(b, "Write", "{\"file_path\":\"b.txt\",\"content\":\"1\\n2\\n\"}");
    box_assert_holds(b, "workspace/b.txt", "1\n2\n");
}

static void inputs_and_the_outside_are_never_written(void **state)
{
    struct box *b = *state;
    box_put(b, "inputs/a.txt", "given\n");
    box_put(b, "outside/a.txt", "theirs\n");
    assert_int_equal(symlink("../outside", box_path(b, "workspace/out")), 0);
    assert_int_equal(symlink("../outside/new.txt", box_path(b, "workspace/dangling")), 0);
    box_refused(b, "Write", "{\"file_path\":\"/inputs/b.txt\",\"content\":\"\"}",
                "/inputs is read-only");
    box_refused(b, "Write", "{\"file_path\":\"out/new.txt\",\"content\":\"\"}", "leads out of");
    box_refused(b, "Write", "{\"file_path\":\"out/deep/new.txt\",\"content\":\"\"}",
                "leads out of");
    box_refused(b, "Write", "{\"file_path\":\"dangling\",\"content\":\"\"}", "leads out of");
    box_refused(b, "Write", "{\"file_path\":\"../outside/b.txt\",\"content\":\"\"}",
                "leads out of");
    box_refused(b, "Edit",
                "{\"file_path\":\"/inputs/a.txt\",\"old_string\":\"g\",\"new_string\":\"G\"}",
                "/inputs is read-only");
    assert_int_equal(entries_in(b, "outside"), 1);
    assert_int_equal(entries_in(b, "inputs"), 1);
}

static void everything_holds_without_openat2(void **state)
{
    struct box *b = *state;
    workspace_close(b->ws);
    box_open_workspace(b, true);
    assert_false(workspace_uses_openat2(b->ws));
    a_new_file_needs_no_read_and_gets_its_directories(state);
    one_file_has_one_name_in_the_read_table(state);
    inputs_and_the_outside_are_never_written(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLER_TEST(a_new_file_needs_no_read_and_gets_its_directories),
        CALLER_TEST(an_existing_file_must_be_read_first),
        CALLER_TEST(a_file_changed_since_it_was_read_is_not_overwritten),
        CALLER_TEST(one_file_has_one_name_in_the_read_table),
        CALLER_TEST(mode_and_extended_attributes_are_kept),
        CALLER_TEST(the_owner_is_kept),
        CALLER_TEST(crlf_and_mark_come_back),
        CALLER_TEST(inputs_and_the_outside_are_never_written),
        CALLER_TEST(everything_holds_without_openat2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
