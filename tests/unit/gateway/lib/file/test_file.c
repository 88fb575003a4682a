// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/file/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/wrist-file-XXXXXX";
static int directory;

static int open_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    directory = open(folder, O_RDONLY | O_DIRECTORY);
    return directory < 0;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "a.new", "b", "elsewhere"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlinkat(directory, names[i], 0);
    close(directory);
    return rmdir(folder);
}

static void read_back(const char *name, size_t limit, int wanted_rc, const char *wanted)
{
    struct failure why;
    struct buffer b;
    buffer_init(&b, limit);
    int fd = openat(directory, name, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(file_read_all(fd, name, &b, &why), wanted_rc);
    if (wanted != NULL)
        assert_true(span_is(buffer_span(&b), wanted));
    close(fd);
    buffer_fini(&b);
}

static void a_replaced_file_has_the_new_content_and_is_private(void **state)
{
    (void)state;
    struct failure why;
    struct stat st;
    assert_int_equal(file_replace(directory, "a", SPAN_LITERAL("one"), true, &why), 0);
    assert_int_equal(file_replace(directory, "a", SPAN_LITERAL("two!"), false, &why), 0);
    read_back("a", 100, 0, "two!");
    assert_int_equal(fstatat(directory, "a", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(faccessat(directory, "a.new", F_OK, 0), -1);
}

static void what_waits_at_the_new_name_is_not_written_through(void **state)
{
    (void)state;
    struct failure why;
    assert_int_equal(file_replace(directory, "elsewhere", SPAN_LITERAL("kept"), false, &why), 0);
    assert_int_equal(symlinkat("elsewhere", directory, "a.new"), 0);
    assert_int_equal(file_replace(directory, "a", SPAN_LITERAL("secret"), true, &why), 0);
    read_back("elsewhere", 100, 0, "kept");
    read_back("a", 100, 0, "secret");
}

static void a_file_of_exactly_the_limit_fits_and_one_byte_more_does_not(void **state)
{
    (void)state;
    struct failure why;
    char content[5000];
    memset(content, 'x', sizeof content);
    assert_int_equal(file_replace(directory, "b", span_of(content, sizeof content), false, &why),
                     0);
    read_back("b", 5000, 0, NULL);
    read_back("b", 4999, FAULT_TOO_LARGE, NULL);
}

static void a_failure_leaves_the_old_file(void **state)
{
    (void)state;
    struct failure why;
    assert_int_equal(file_replace(directory, "b", SPAN_LITERAL("old"), false, &why), 0);
    assert_int_equal(mkdirat(directory, "a.new", 0700), 0);
    assert_true(file_replace(directory, "a", SPAN_LITERAL("x"), false, &why) < 0);
    assert_non_null(strstr(why.text, "a.new"));
    assert_int_equal(unlinkat(directory, "a.new", AT_REMOVEDIR), 0);
    read_back("b", 100, 0, "old");
    assert_int_equal(file_replace(AT_FDCWD, "/nonexistent/a", SPAN_LITERAL("x"), true, &why),
                     FAULT_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replaced_file_has_the_new_content_and_is_private),
        cmocka_unit_test(what_waits_at_the_new_name_is_not_written_through),
        cmocka_unit_test(a_file_of_exactly_the_limit_fits_and_one_byte_more_does_not),
        cmocka_unit_test(a_failure_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, open_folder, remove_folder);
}
