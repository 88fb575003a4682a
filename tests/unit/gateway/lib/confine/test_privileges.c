// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/lib/confine/limits.h"
#include "gateway/lib/confine/privileges.h"
#include <sys/resource.h>

// Rights cannot be taken back, so each test looks at a child of its own.
static int in_child(int (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("needs root\n");
        skip();
    }
}

static int drops_all(void)
{
    struct failure why = {0};
    struct user nobody = {65534, 65534};
    if (privileges_drop(&nobody, 0, &why) != 0)
        return 1;
    if (getuid() != 65534 || getegid() != 65534 || getgroups(0, NULL) != 0)
        return 2;
    if (privileges_effective() != 0 || prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) != 0)
        return 3;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
        return 4;
    if (setuid(0) == 0 || setgroups(0, NULL) == 0)
        return 5;
    return 0;
}

static void another_user_without_any_right_comes_out(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(in_child(drops_all), 0);
}

static int keeps_one(void)
{
    struct failure why = {0};
    struct user nobody = {65534, 65534};
    if (privileges_drop(&nobody, CONFINE_CAPABILITY(CAP_SETGID), &why) != 0)
        return 1;
    if (privileges_effective() != CONFINE_CAPABILITY(CAP_SETGID))
        return 2;
    if (setgroups(0, NULL) != 0)
        return 3;
    return setuid(0) == 0 ? 4 : 0;
}

static void what_is_kept_survives_the_change_of_user(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(in_child(keeps_one), 0);
}

static int asks_for_more(void)
{
    struct failure why = {0};
    struct user nobody = {65534, 65534};
    if (privileges_drop(&nobody, 0, &why) != 0)
        return 1;
    return privileges_keep(CONFINE_CAPABILITY(CAP_SETUID), &why) == FAULT_DENIED ? 0 : 2;
}

static void keeping_what_one_has_not_is_refused(void **state)
{
    (void)state;
    need_root();
    assert_int_equal(in_child(asks_for_more), 0);
}

static void users_are_found_by_name_and_number(void **state)
{
    (void)state;
    struct failure why = {0};
    struct user u;
    assert_int_equal(user_find("nobody", &u, &why), 0);
    assert_int_equal(u.uid, 65534);
    assert_int_equal(user_find("4711:4712", &u, &why), 0);
    assert_int_equal(u.uid, 4711);
    assert_int_equal(u.gid, 4712);
    assert_int_equal(user_find("4711", &u, &why), 0);
    assert_int_equal(u.gid, 4711);
    assert_int_equal(user_find("no such user", &u, &why), FAULT_NOT_FOUND);
    assert_int_equal(user_find("", &u, &why), FAULT_INVALID);
    assert_int_equal(user_find("4294967295", &u, &why), FAULT_INVALID);
    assert_int_equal(user_find("1:x", &u, &why), FAULT_INVALID);
    assert_int_equal(user_find("1:", &u, &why), FAULT_INVALID);
}

static int lowers_files(void)
{
    struct failure why = {0};
    struct rlimit now;
    if (limits_set(RLIMIT_NOFILE, 64, &why) != 0 || getrlimit(RLIMIT_NOFILE, &now) != 0)
        return 1;
    if (now.rlim_cur != 64 || now.rlim_max != 64)
        return 2;
    // Above the hard limit: what is there is taken.
    if (limits_set(RLIMIT_NOFILE, 128, &why) != 0 || limits_raise_open_files() != 64)
        return 3;
    return 0;
}

static void limits_only_sink(void **state)
{
    (void)state;
    assert_int_equal(in_child(lowers_files), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_user_without_any_right_comes_out),
        cmocka_unit_test(what_is_kept_survives_the_change_of_user),
        cmocka_unit_test(keeping_what_one_has_not_is_refused),
        cmocka_unit_test(users_are_found_by_name_and_number),
        cmocka_unit_test(limits_only_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
