// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/lib/confine/privileges.h"
#include "gateway/lib/confine/seccomp.h"
#include "gateway/lib/confine/seccomp_rules.h"

static int confined(enum seccomp_profile profile, int (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        struct failure why = {0};
        if (privileges_seal(&why) != 0 || seccomp_confine(profile, &why) != 0)
            _exit(100);
        _exit(body());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int run_true(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    int status = 0;
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

static int tries_what_no_sandbox_may(void)
{
    if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM)
        return 1;
    if (mount("none", "/tmp", "tmpfs", 0, NULL) == 0 || errno != EPERM)
        return 2;
    if (syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0 || errno != ENOSYS)
        return 3;
    if (syscall(SYS_clone3, 0, 0) >= 0 || errno != ENOSYS)
        return 4;
    if (socket(AF_VSOCK, SOCK_STREAM, 0) >= 0 || errno != ENOSYS)
        return 5;
    if (socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0) >= 0 || errno != ENOSYS)
        return 6;
    if (ioctl(0, TIOCSTI, "x") >= 0 || errno != ENOSYS)
        return 7;
    if (syscall(SYS_bpf, 0, 0, 0) >= 0 || errno != EPERM)
        return 8;
    if (syscall(SYS_io_uring_setup, 1, 0) >= 0 || errno != ENOSYS)
        return 9;
    return 0;
}

static void commands_run_programs_but_reach_no_kernel_doors(void **state)
{
    (void)state;
    assert_int_equal(confined(SECCOMP_PROFILE_COMMAND, run_true), 0);
    assert_int_equal(confined(SECCOMP_PROFILE_COMMAND, tries_what_no_sandbox_may), 0);
    assert_int_equal(confined(SECCOMP_PROFILE_WORKER, run_true), 0);
    assert_int_equal(confined(SECCOMP_PROFILE_WORKER, tries_what_no_sandbox_may), 0);
}

static int uses_network(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    return fd >= 0 && close(fd) == 0 ? 0 : 1;
}

static int executes(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return 1;
}

static void a_gateway_uses_the_network_and_dies_on_exec(void **state)
{
    (void)state;
    assert_int_equal(confined(SECCOMP_PROFILE_GATEWAY, uses_network), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__has_feature)
    int status = confined(SECCOMP_PROFILE_GATEWAY, executes);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
#else
    (void)executes;
#endif
}

static void commands_may_do_nothing_that_their_worker_may_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < seccomp_rule_count; i++) {
        const struct seccomp_rule *rule = &seccomp_rules[i];
        if (rule->verdict == VERDICT_ALLOW && (rule->profiles & FOR_COMMAND) != 0)
            assert_true((rule->profiles & FOR_WORKER) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_run_programs_but_reach_no_kernel_doors),
        cmocka_unit_test(a_gateway_uses_the_network_and_dies_on_exec),
        cmocka_unit_test(commands_may_do_nothing_that_their_worker_may_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
