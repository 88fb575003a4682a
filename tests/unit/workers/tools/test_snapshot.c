// SPDX-License-Identifier: Apache-2.0
// Snapshots: what is restored is exactly what was there (G-18, G-19), and nothing is run (G-08).
#include "tests/unit/workers/tools/caller.h"

#include <dirent.h>
#include <errno.h>
#include <sys/xattr.h>

#include "workers/snapshots/pack.h"

static int setup(void **state)
{
    caller_setup(state);
    struct box *b = *state;
    int folder = open(box_path(b, "workspace"), O_PATH | O_DIRECTORY | O_CLOEXEC);
    b->caller->env.snapshots_fd = pack_make(folder, NULL);
    assert_true(b->caller->env.snapshots_fd >= 0);
    close(folder);
    return 0;
}

static int teardown(void **state)
{
    close(((struct box *)*state)->caller->env.snapshots_fd);
    return caller_teardown(state);
}

// --- an independent description of a folder ------------------------------------------------------

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void describe_content(const char *path, struct buffer *out)
{
    char bytes[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        buffer_append_string(out, " unreadable");
        return;
    }
    buffer_append_char(out, ' ');
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;)
        buffer_append(out, span_of(bytes, (size_t)n));
    ssize_t n = fgetxattr(fd, "user.note", bytes, sizeof bytes);
    if (n >= 0)
        buffer_printf(out, " note=%.*s", (int)n, bytes);
    close(fd);
}

static void describe(const char *folder, const char *below, struct buffer *out)
{
    struct dirent **names;
    char path[4096], target[4096];
    snprintf(path, sizeof path, "%s/%s", folder, below);
    int count = scandir(path, &names, NULL, compare_names);
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        struct stat st;
        char inner[2048];
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            snprintf(inner, sizeof inner, "%s%s%s", below, below[0] != '\0' ? "/" : "", name);
            snprintf(path, sizeof path, "%s/%s", folder, inner);
            assert_int_equal(lstat(path, &st), 0);
            buffer_printf(out, "%s %o", inner, (unsigned)st.st_mode);
            if (!S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
                buffer_printf(out, " %lld.%09ld", (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
            ssize_t size = readlink(path, target, sizeof target);
            if (size > 0)
                buffer_printf(out, " -> %.*s", (int)size, target);
            if (S_ISREG(st.st_mode))
                describe_content(path, out);
            buffer_append_char(out, '\n');
            if (S_ISDIR(st.st_mode))
                describe(folder, inner, out);
        }
        free(names[i]);
    }
    free(count >= 0 ? names : NULL);
}

static char *workspace_of(struct box *b)
{
    struct buffer out;
    buffer_init(&out, 8 << 20);
    describe(box_path(b, "workspace"), "", &out);
    char *text = memory_copy_span(buffer_span(&out));
    buffer_fini(&out);
    return text;
}

static void put(struct box *b, const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "workspace/%s", name);
    box_put_bytes(b, path, span_from_string(content));
}

static const char *at(struct box *b, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "workspace/%s", name);
    return box_path(b, path);
}

static void fill(struct box *b)
{
    put(b, "src/main.c", "int main(void) { return 0; }\n");
    put(b, "src/caf\xc3\xa9 na\xc3\xafve.txt", "names are bytes\n");
    put(b, "src/\xff\xfe", "also when they are no text\n");
    put(b, ".gitignore", "build/\n");
    put(b, "build/main.o", "ignored, but there\n");
    put(b, ".git/config", "[core]\n\tfsmonitor = touch ran\n");
    put(b, "inner/.git/HEAD", "ref: refs/heads/main\n");
    put(b, "run.sh", "#!/bin/sh\n");
    put(b, "empty", "");
    assert_int_equal(chmod(at(b, "run.sh"), 0751), 0);
    assert_int_equal(mkdir(at(b, "hollow"), 0700), 0);
    assert_int_equal(symlink("src/main.c", at(b, "link")), 0);
    assert_int_equal(symlink("/etc/passwd", at(b, "outside")), 0);
    assert_int_equal(mkfifo(at(b, "pipe"), 0640), 0);
    (void)!setxattr(at(b, "run.sh"), "user.note", "keep", 4, 0);
}

static void a_restore_brings_back_what_was_there_to_the_last_byte(void **state)
{
    struct box *b = *state;
    fill(b);
    char *before = workspace_of(b);
    box_contains(b, "snapshot_create", "{\"name\":\"one\",\"description\":\"first\"}",
                 "snapshot one: 9 files");
    put(b, "src/main.c", "int main(void) { return 1; }\n"); // the same size
    put(b, "src/caf\xc3\xa9 extra", "added\n");
    put(b, "new/deep/er/file", "added\n");
    put(b, "build/main.o", "changed\n");
    put(b, ".git/config", "changed\n");
    unlink(at(b, "empty"));
    unlink(at(b, "pipe"));
    unlink(at(b, "link"));
    assert_int_equal(mkdir(at(b, "link"), 0755), 0);
    put(b, "link/in", "a directory now\n");
    rmdir(at(b, "hollow"));
    put(b, "hollow", "a file now\n");
    chmod(at(b, "run.sh"), 0600);
    (void)removexattr(at(b, "run.sh"), "user.note");
    (void)setxattr(at(b, "src/main.c"), "user.note", "new", 3, 0);
    chmod(at(b, "src"), 0500);
    const char *answer = box_call(b, "snapshot_restore", "{\"name\":\"one\"}");
    assert_false(b->caller->result.is_error);
    assert_non_null(strstr(answer, "M src/main.c\n"));
    assert_non_null(strstr(answer, "D src/caf\xc3\xa9 extra\n"));
    assert_non_null(strstr(answer, "D new/deep/er/file\n"));
    assert_non_null(strstr(answer, "A hollow\n") ? answer : strstr(answer, "T hollow\n"));
    assert_non_null(strstr(answer, "A empty\n"));
    char *after = workspace_of(b);
    assert_string_equal(after, before);
    assert_int_equal(access(at(b, "ran"), F_OK), -1); // nothing of the repository was run
    free(before);
    free(after);
}

static void what_was_there_before_a_restore_is_kept(void **state)
{
    struct box *b = *state;
    put(b, "a", "1\n");
    box_contains(b, "snapshot_create", "{\"name\":\"one\"}", "1 files");
    put(b, "a", "2\n");
    put(b, "b", "work of an hour\n");
    char *worked = workspace_of(b);
    box_contains(b, "snapshot_restore", "{\"name\":\"one\"}", "kept as before-restore");
    box_contains(b, "snapshot_restore", "{\"name\":\"before-restore\"}", "A b\n");
    char *again = workspace_of(b);
    assert_string_equal(again, worked);
    free(worked);
    free(again);
    box_contains(b, "snapshot_list", "{}", "before restoring before-restore");
}

static void a_restore_to_the_same_changes_nothing_and_says_so(void **state)
{
    struct box *b = *state;
    fill(b);
    box_call(b, "snapshot_create", "{\"name\":\"one\"}");
    box_contains(b, "snapshot_restore", "{\"name\":\"one\",\"keep_current\":false}",
                 "0 made, 0 removed, 0 changed back, 0 with only mode");
    box_ok(b, "snapshot_diff", "{\"name\":\"one\"}", "no differences\n");
}

static void differences_are_shown_line_by_line(void **state)
{
    struct box *b = *state;
    put(b, "kept", "same\n");
    put(b, "text", "one\ntwo\nthree\n");
    put(b, "gone", "bye\n");
    put(b, "run.sh", "#!/bin/sh\n");
    box_put_bytes(b, "workspace/binary", span_of("a\0b", 3));
    box_call(b, "snapshot_create", "{\"name\":\"one\"}");
    put(b, "text", "one\n2\nthree\n");
    unlink(at(b, "gone"));
    put(b, "line\nbreak", "new\n");
    box_put_bytes(b, "workspace/binary", span_of("a\0bc", 4));
    chmod(at(b, "run.sh"), 0755);
    box_ok(b, "snapshot_diff", "{\"name\":\"one\"}",
           "M binary\nD gone\nA line\\x0abreak\nm run.sh (mode 0755, was 0644)\nM text\n\n"
           "--- a/binary\n+++ b/binary\n[binary, 3 bytes before, 4 after]\n"
           "--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-bye\n"
           "--- /dev/null\n+++ b/line\\x0abreak\n@@ -0,0 +1,1 @@\n+new\n"
           "--- a/text\n+++ b/text\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    box_call(b, "snapshot_create", "{\"name\":\"two\"}");
    put(b, "text", "later\n");
    box_ok(b, "snapshot_diff", "{\"name\":\"one\",\"to\":\"two\",\"names_only\":true}",
           "M binary\nD gone\nA line\\x0abreak\nm run.sh (mode 0755, was 0644)\nM text\n");
}

static void names_are_checked_and_errors_say_what_would_be_right(void **state)
{
    struct box *b = *state;
    put(b, "a", "1\n");
    box_refused(b, "snapshot_diff", "{\"name\":\"none\"}", "none was made yet");
    box_refused(b, "snapshot_create", "{\"name\":\"../x\"}", "letters, digits");
    box_refused(b, "snapshot_create", "{\"name\":\".x\"}", "letters, digits");
    box_call(b, "snapshot_create", "{\"name\":\"one\"}");
    box_refused(b, "snapshot_create", "{\"name\":\"one\"}", "already; choose another name");
    box_refused(b, "snapshot_restore", "{\"name\":\"two\"}", "there are: one");
    put(b, "a", "2\n");
    box_contains(b, "snapshot_create", "{\"name\":\"one\",\"replace\":true}", "snapshot one");
    box_ok(b, "snapshot_diff", "{\"name\":\"one\"}", "no differences\n");
}

static void what_a_replaced_snapshot_held_is_given_back_to_the_disk(void **state)
{
    struct box *b = *state;
    static char large[4 << 20];
    struct stat st;
    for (int round = 0; round < 8; round++) {
        memset(large, 'a' + round, sizeof large);
        box_put_bytes(b, "workspace/large", span_of(large, sizeof large));
        box_contains(b, "snapshot_create", "{\"name\":\"one\",\"replace\":true}", "snapshot one");
    }
    assert_int_equal(fstat(b->caller->env.snapshots_fd, &st), 0);
    assert_in_range(st.st_blocks * 512, sizeof large, 3 * sizeof large);
    box_contains(b, "snapshot_create", "{\"name\":\"two\"}", "1 files");
    assert_int_equal(fstat(b->caller->env.snapshots_fd, &st), 0);
    assert_in_range(st.st_blocks * 512, sizeof large, 3 * sizeof large); // kept once
}

static void a_file_full_of_holes_stays_one(void **state)
{
    struct box *b = *state;
    struct stat st;
    put(b, "sparse", "begin");
    assert_int_equal(truncate(at(b, "sparse"), 64 << 20), 0);
    box_call(b, "snapshot_create", "{\"name\":\"one\"}");
    assert_int_equal(fstat(b->caller->env.snapshots_fd, &st), 0);
    assert_in_range(st.st_blocks * 512, 0, 1 << 20);
    unlink(at(b, "sparse"));
    box_call(b, "snapshot_restore", "{\"name\":\"one\",\"keep_current\":false}");
    assert_int_equal(stat(at(b, "sparse"), &st), 0);
    assert_int_equal(st.st_size, 64 << 20);
    assert_in_range(st.st_blocks * 512, 0, 1 << 20);
}

static void what_a_writer_left_unfinished_is_not_there(void **state)
{
    struct box *b = *state;
    int fd = b->caller->env.snapshots_fd;
    struct stat st;
    put(b, "a", "1\n");
    box_call(b, "snapshot_create", "{\"name\":\"one\"}");
    assert_int_equal(fstat(fd, &st), 0);
    // Content behind a head that was never written, as a hand that was killed leaves it.
    assert_int_equal(pwrite(fd, "half a file", 11, st.st_size + 48), 11);
    box_contains(b, "snapshot_list", "{}", "one");
    put(b, "a", "2\n");
    box_contains(b, "snapshot_create", "{\"name\":\"two\"}", "snapshot two");
    box_contains(b, "snapshot_restore", "{\"name\":\"one\"}", "M a\n");
    box_contains(b, "snapshot_restore", "{\"name\":\"two\"}", "M a\n");
    // And a list cut short.
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
    box_contains(b, "snapshot_list", "{}", "two");
    box_contains(b, "snapshot_create", "{\"name\":\"three\"}", "snapshot three");
}

static void a_cancelled_call_leaves_nothing(void **state)
{
    struct box *b = *state;
    put(b, "a", "1\n");
    b->caller->cancelled = true;
    box_refused(b, "snapshot_create", "{\"name\":\"one\"}", "cancel");
    b->caller->cancelled = false;
    box_ok(b, "snapshot_list", "{}", "[no snapshots yet]\n");
}

static void without_a_place_for_them_the_call_says_so(void **state)
{
    struct box *b = *state;
    int fd = b->caller->env.snapshots_fd;
    b->caller->env.snapshots_fd = -1;
    box_refused(b, "snapshot_create", "{\"name\":\"one\"}", "cannot be kept here");
    b->caller->env.snapshots_fd = fd;
}

// --- random histories ----------------------------------------------------------------------------

static unsigned dice(unsigned *seed, unsigned sides)
{
    *seed = *seed * 1103515245 + 12345;
    return (*seed >> 16) % sides;
}

static void remove_tree(const char *path)
{
    nftw(path, box_remove_entry, 32, FTW_DEPTH | FTW_PHYS);
}

static void change_something(struct box *b, unsigned *seed)
{
    static const char *const names[] = {"a", "a/b", "a/b/c", "a-b", "a.c", "d", "d/\xc3\xa9", "z"};
    char text[32];
    const char *name = names[dice(seed, ARRAY_COUNT(names))];
    snprintf(text, sizeof text, "%u\n", dice(seed, 4));
    switch (dice(seed, 7)) {
    case 0:
        remove_tree(at(b, name));
        break;
    case 1:
        mkdir(at(b, name), 0755);
        break;
    case 2:
        (void)!symlink(names[dice(seed, ARRAY_COUNT(names))], at(b, name));
        break;
    case 3:
        chmod(at(b, name), dice(seed, 2) == 0 ? 0755 : 0711);
        break;
    case 4:
        mkfifo(at(b, name), 0600);
        break;
    default: {
        struct stat st;
        int fd = lstat(at(b, name), &st) != 0 || S_ISREG(st.st_mode)
                     ? open(at(b, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)
                     : -1;
        if (fd >= 0) {
            assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
            close(fd);
        }
    }
    }
}

static void random_histories_are_undone_exactly(void **state)
{
    struct box *b = *state;
    unsigned seed = 3;
    char *trees[5] = {0};
    char call[64];
    for (unsigned round = 0; round < 120; round++) {
        unsigned which = dice(&seed, ARRAY_COUNT(trees));
        for (unsigned i = dice(&seed, 12); i > 0; i--)
            change_something(b, &seed);
        if (trees[which] == NULL || dice(&seed, 3) == 0) {
            snprintf(call, sizeof call, "{\"name\":\"s%u\",\"replace\":true}", which);
            free(trees[which]);
            trees[which] = workspace_of(b);
            box_contains(b, "snapshot_create", call, "snapshot s");
            continue;
        }
        snprintf(call, sizeof call, "{\"name\":\"s%u\",\"keep_current\":%s}", which,
                 round % 2 == 0 ? "true" : "false");
        box_contains(b, "snapshot_restore", call, "restored s");
        char *now = workspace_of(b);
        assert_string_equal(now, trees[which]);
        free(now);
        snprintf(call, sizeof call, "{\"name\":\"s%u\"}", which);
        box_ok(b, "snapshot_diff", call, "no differences\n");
    }
    for (size_t i = 0; i < ARRAY_COUNT(trees); i++)
        free(trees[i]);
}

#define SNAPSHOT_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SNAPSHOT_TEST(a_restore_brings_back_what_was_there_to_the_last_byte),
        SNAPSHOT_TEST(what_was_there_before_a_restore_is_kept),
        SNAPSHOT_TEST(a_restore_to_the_same_changes_nothing_and_says_so),
        SNAPSHOT_TEST(differences_are_shown_line_by_line),
        SNAPSHOT_TEST(names_are_checked_and_errors_say_what_would_be_right),
        SNAPSHOT_TEST(what_a_replaced_snapshot_held_is_given_back_to_the_disk),
        SNAPSHOT_TEST(a_file_full_of_holes_stays_one),
        SNAPSHOT_TEST(what_a_writer_left_unfinished_is_not_there),
        SNAPSHOT_TEST(a_cancelled_call_leaves_nothing),
        SNAPSHOT_TEST(without_a_place_for_them_the_call_says_so),
        SNAPSHOT_TEST(random_histories_are_undone_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
