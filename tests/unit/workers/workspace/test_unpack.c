// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/unpack.h"

#include "tests/unit/workers/workspace/box.h"
#include "tests/unit/workers/workspace/tar_writer.h"

#include <dirent.h>
#include <spawn.h>
#include <sys/wait.h>

static struct failure why;

// Feeds the archive in pieces of `piece` bytes.
static int unpack_in_pieces(struct box *b, struct span archive, size_t piece,
                            const struct unpack_limits *limits, struct unpack_counts *counts)
{
    struct unpack *u = unpack_new(b->ws, WORKSPACE_MAIN, limits);
    int rc = 0;
    while (rc == 0 && archive.size > 0) {
        rc = unpack_feed(u, span_slice(archive, 0, piece), &why);
        archive = span_slice(archive, piece, archive.size);
    }
    if (rc == 0)
        rc = unpack_finish(u, counts, &why);
    unpack_free(u);
    return rc;
}

static int unpack_entries(struct box *b, const struct tar_entry *entries, size_t count)
{
    struct buffer archive;
    struct unpack_counts counts;
    buffer_init(&archive, 1 << 20);
    for (size_t i = 0; i < count; i++)
        tar_add(&archive, &entries[i]);
    tar_close(&archive);
    int rc = unpack_in_pieces(b, buffer_span(&archive), SIZE_MAX, &unpack_limits_default, &counts);
    buffer_fini(&archive);
    return rc;
}

static void assert_refused(struct box *b, const struct tar_entry *entries, size_t count,
                           const char *part)
{
    assert_true(unpack_entries(b, entries, count) < 0);
    if (strstr(why.text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", why.text, part);
}

#define REFUSED(part, ...)                                                                         \
    assert_refused(b, (const struct tar_entry[]){__VA_ARGS__},                                     \
                   sizeof((const struct tar_entry[]){__VA_ARGS__}) / sizeof(struct tar_entry),     \
                   part)

static void members_land_whole_in_pieces_of_any_size(void **state)
{
    struct box *b = *state;
    struct buffer archive;
    struct unpack_counts counts;
    struct stat st;
    buffer_init(&archive, 1 << 20);
    tar_add(&archive, &(struct tar_entry){.path = "d/", .type = '5', .mode = 0755});
    tar_add(&archive,
            &(struct tar_entry){.path = "./d/run.sh", .content = "#!/bin/sh\n", .mode = 06755});
    tar_add(&archive, &(struct tar_entry){.path = "e/f/empty"});
    tar_add(&archive, &(struct tar_entry){.path = "d/link", .type = '2', .target = "../e/f/empty"});
    tar_add(&archive, &(struct tar_entry){.path = "again.sh", .type = '1', .target = "d/run.sh"});
    tar_close(&archive);
    const size_t pieces[] = {1, 7, 512, 513, SIZE_MAX};
    for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
        assert_int_equal(
            unpack_in_pieces(b, buffer_span(&archive), pieces[i], &unpack_limits_default, &counts),
            0);
        assert_int_equal(counts.files, 4);
        assert_int_equal(counts.bytes, 10);
        box_assert_holds(b, "workspace/d/run.sh", "#!/bin/sh\n");
        box_assert_holds(b, "workspace/d/link", "");
        assert_int_equal(stat(box_path(b, "workspace/again.sh"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0755); // without the set-id bits
        assert_int_equal(st.st_nlink, 2);
        assert_int_equal(st.st_mtim.tv_sec, 1000000000);
    }
    DIR *dir = opendir(box_path(b, "workspace"));
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        assert_int_not_equal(strncmp(entry->d_name, ".wrist-", 7), 0);
    closedir(dir);
    buffer_fini(&archive);
}

static void existing_files_and_links_are_replaced(void **state)
{
    struct box *b = *state;
    box_put(b, "outside/a", "theirs");
    box_put(b, "workspace/b", "old");
    assert_int_equal(symlink("../outside/a", box_path(b, "workspace/a")), 0);
    const struct tar_entry entries[] = {tar_file("a", "new"), tar_file("b", "new")};
    assert_int_equal(unpack_entries(b, entries, 2), 0);
    box_assert_holds(b, "workspace/a", "new");
    box_assert_holds(b, "workspace/b", "new");
    box_assert_holds(b, "outside/a", "theirs");
}

static void no_member_leaves_the_root(void **state)
{
    struct box *b = *state;
    box_put(b, "outside/a", "theirs");
    assert_int_equal(symlink("../outside", box_path(b, "workspace/out")), 0);
    REFUSED("member \"/etc/x\": its path is absolute", tar_file("/etc/x", ""));
    REFUSED("member \"a/../../x\": there is a ..", tar_file("a/../../x", ""));
    REFUSED("leads out of /workspace", tar_file("out/x", ""));
    REFUSED("leads out of /workspace", tar_file("out/deep/x", ""));
    REFUSED("leads out of /workspace", tar_bare('5', "out/deep/"));
    REFUSED("its target ../x is outside", tar_link('2', "l", "../x"));
    REFUSED("its target /etc is outside", tar_link('2', "l", "/etc"));
    REFUSED("its target /workspace/../etc is outside", tar_link('2', "l", "/workspace/../etc"));
    REFUSED("its target: there is a ..", tar_link('1', "h", "../outside/a"));
    REFUSED("its target", tar_link('1', "h", "out/a"));
    REFUSED("its target is no file", tar_link('1', "h", "out"));
    // A link to the root from below, then a link that steps out as seen from where it really lies.
    REFUSED("is outside", tar_bare('5', "b/c/"), tar_link('2', "b/c/up", "../.."),
            tar_link('2', "b/c/up/l", "../x"));
    // The classic: a link first, then a member through it.
    REFUSED("outside", tar_link('2', "x", "/tmp"), tar_file("x/evil", ""));
    assert_int_not_equal(access(box_path(b, "outside/x"), F_OK), 0);
    assert_int_not_equal(access(box_path(b, "outside/deep"), F_OK), 0);
}

static void devices_and_odd_members_are_refused(void **state)
{
    struct box *b = *state;
    REFUSED("members of type '3'", tar_bare('3', "null"));
    REFUSED("members of type '6'", tar_bare('6', "fifo"));
    REFUSED("it has no name", tar_file(".", ""));
    REFUSED("a directory of that name", tar_file("d/x", ""), tar_file("d", ""));
    REFUSED("member \"a/b\"", tar_file("a", ""), tar_file("a/b", ""));
}

static void limits_are_held(void **state)
{
    struct box *b = *state;
    struct buffer archive;
    struct unpack_counts counts;
    struct unpack_limits limits = {.members = 2, .bytes = 5, .depth = 2};
    buffer_init(&archive, 1 << 20);
    tar_add(&archive, &(struct tar_entry){.path = "a", .content = "123"});
    tar_add(&archive, &(struct tar_entry){.path = "b", .content = "123"});
    tar_close(&archive);
    struct span all = buffer_span(&archive);
    assert_int_equal(unpack_in_pieces(b, all, 512, &limits, &counts), FAULT_TOO_LARGE);
    assert_non_null(strstr(why.text, "member \"b\": with it the files have more than 5 bytes"));
    limits.bytes = 6;
    assert_int_equal(unpack_in_pieces(b, all, 512, &limits, &counts), 0);
    limits.members = 1;
    assert_int_equal(unpack_in_pieces(b, all, 512, &limits, &counts), FAULT_TOO_LARGE);
    buffer_clear(&archive);
    tar_add(&archive, &(struct tar_entry){.path = "a/b/c"});
    limits.members = 2;
    assert_int_equal(unpack_in_pieces(b, buffer_span(&archive), 512, &limits, &counts),
                     FAULT_TOO_LARGE);
    buffer_fini(&archive);
}

static void a_cut_stream_is_an_error_and_leaves_no_half_file(void **state)
{
    struct box *b = *state;
    struct buffer archive;
    struct unpack_counts counts;
    buffer_init(&archive, 1 << 20);
    tar_add(&archive, &(struct tar_entry){.path = "whole", .content = "x"});
    tar_add(&archive, &(struct tar_entry){.path = "half", .content = "1234567890"});
    struct span cut = span_slice(buffer_span(&archive), 0, 512 * 3 + 5);
    assert_true(unpack_in_pieces(b, cut, 100, &unpack_limits_default, &counts) < 0);
    assert_non_null(strstr(why.text, "ends in the middle of a member"));
    box_assert_holds(b, "workspace/whole", "x");
    assert_int_not_equal(access(box_path(b, "workspace/half"), F_OK), 0);
    assert_true(unpack_in_pieces(b, SPAN_LITERAL(""), 1, &unpack_limits_default, &counts) < 0);
    struct span text = SPAN_LITERAL("this is no archive but only a text that somebody sent");
    assert_true(unpack_in_pieces(b, text, 9, &unpack_limits_default, &counts) < 0);
    buffer_fini(&archive);
}

static void run_tar(struct box *b, const char *format)
{
    char from[128], out[128], how[32];
    snprintf(from, sizeof from, "%s/workspace/from", b->folder);
    snprintf(out, sizeof out, "%s/a.tar", b->folder);
    snprintf(how, sizeof how, "--format=%s", format);
    char *args[] = {
        (char[]){"tar"}, (char[]){"-C"}, from, how, (char[]){"-cf"}, out, (char[]){"."}, NULL};
    pid_t pid;
    int status;
    assert_int_equal(posix_spawnp(&pid, "tar", NULL, NULL, args, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

// The archives that GNU tar writes: long names in its own and in pax form.
static void long_names_come_through(void **state)
{
    struct box *b = *state;
    char long_name[180];
    const char *formats[] = {"gnu", "pax", "ustar"};
    memset(long_name, 'n', sizeof long_name);
    memcpy(long_name, "workspace/from/", 15);
    long_name[95] = '/'; // so that ustar can split it
    long_name[sizeof long_name - 1] = '\0';
    box_put(b, long_name, "long\n");
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        run_tar(b, formats[i]);
        FILE *f = fopen(box_path(b, "a.tar"), "rbe");
        char *bytes = memory_new(1 << 20);
        size_t size = fread(bytes, 1, 1 << 20, f);
        fclose(f);
        struct unpack_counts counts;
        assert_int_equal(
            unpack_in_pieces(b, span_of(bytes, size), 1000, &unpack_limits_default, &counts), 0);
        free(bytes);
        char landed[200];
        snprintf(landed, sizeof landed, "workspace/%s", long_name + 15);
        box_assert_holds(b, landed, "long\n");
        assert_int_equal(unlink(box_path(b, landed)), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOX_TEST(members_land_whole_in_pieces_of_any_size),
        BOX_TEST(existing_files_and_links_are_replaced),
        BOX_TEST(no_member_leaves_the_root),
        BOX_TEST(devices_and_odd_members_are_refused),
        BOX_TEST(limits_are_held),
        BOX_TEST(a_cut_stream_is_an_error_and_leaves_no_half_file),
        BOX_TEST(long_names_come_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
