// SPDX-License-Identifier: Apache-2.0
// Real commands under real supervisors, as whoever runs the test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "workers/command/command.h"
#include "workers/init/reaper.h"

static struct loop *loop;
static struct reaper *reaper;
static struct command_identity who;
static struct command_result last;
static char text[256 << 10];
static int ends;

static void on_terminate(void *owner)
{
    (void)owner;
}
static const struct reaper_ops ops = {on_terminate};

static void on_ended(void *owner, const struct command_result *result)
{
    (void)owner;
    last = *result;
    assert_true(result->text.size < sizeof text);
    memcpy(text, result->text.data != NULL ? result->text.data : "", result->text.size);
    text[result->text.size] = '\0';
    ends++;
}

static struct command *begin(const char *line, int64_t timeout_ms)
{
    const struct command_options options = {
        .loop = loop, .who = &who, .output_limit = 100 << 10, .linger_ms = 200};
    struct failure why = {0};
    ends = 0;
    struct command *c =
        command_start(&options, span_from_string(line), timeout_ms, on_ended, NULL, &why);
    if (c == NULL)
        fail_msg("%s", why.text);
    return c;
}

static void finish(void)
{
    while (ends == 0)
        loop_turn(loop, true);
    assert_int_equal(ends, 1);
}

static void run(const char *line, int64_t timeout_ms)
{
    begin(line, timeout_ms);
    finish();
}

static bool is_alive(const char *marker)
{
    char line[128];
    snprintf(line, sizeof line, "grep -lsz 'sleep 3[0]0.%s' /proc/[0-9]*/cmdline | wc -l", marker);
    run(line, 5000);
    return strcmp(text, "0\n") != 0;
}

static void output_and_exit_code_come_back_in_order(void **state)
{
    (void)state;
    run("echo one; echo two >&2; echo three; exit 7", 5000);
    assert_int_equal(last.ending, COMMAND_ENDED);
    assert_int_equal(last.exit_code, 7);
    assert_string_equal(text, "one\ntwo\nthree\n");
    assert_false(last.cut);
    assert_int_equal(last.still_running, 0);
}

static void death_by_a_signal_is_128_and_its_number(void **state)
{
    (void)state;
    run("kill -SEGV $$", 5000);
    assert_int_equal(last.exit_code, 128 + SIGSEGV);
    run("kill -9 $$", 5000);
    assert_int_equal(last.exit_code, 128 + SIGKILL);
}

static void a_timeout_kills_the_tree_and_keeps_the_output(void **state)
{
    (void)state;
    run("echo before; setsid sleep 300.11 & (setsid setsid sleep 300.11 &) ; sleep 300.11", 300);
    assert_int_equal(last.ending, COMMAND_TIMED_OUT);
    assert_int_equal(last.exit_code, 124);
    assert_string_equal(text, "before\n");
    assert_false(is_alive("11"));
}

static void what_was_left_in_the_background_is_ended_and_told(void **state)
{
    (void)state;
    run("sleep 300.22 & setsid sleep 300.22 & echo started", 5000);
    assert_int_equal(last.ending, COMMAND_ENDED);
    assert_int_equal(last.exit_code, 0);
    assert_string_equal(text, "started\n");
    assert_int_equal(last.still_running, 2);
    assert_false(is_alive("22"));
}

static void what_ends_within_the_grace_is_not_cut_off(void **state)
{
    (void)state;
    run("(sleep 0.05; echo late) & echo early", 5000);
    assert_string_equal(text, "early\nlate\n");
    assert_int_equal(last.still_running, 0);
}

static void cancelling_ends_the_tree(void **state)
{
    (void)state;
    struct command *c = begin("setsid sleep 300.33 & echo up; sleep 300.33", 60000);
    command_cancel(c);
    finish();
    assert_int_equal(last.ending, COMMAND_CANCELLED);
    assert_false(is_alive("33"));
}

static void a_flood_of_output_takes_constant_memory(void **state)
{
    (void)state;
    run("echo first; head -c 400000000 /dev/zero | tr '\\0' x; echo; echo last", 60000);
    assert_int_equal(last.exit_code, 0);
    assert_true(last.cut);
    assert_int_equal(last.output_bytes, 400000000 + 6 + 1 + 5);
    assert_non_null(strstr(text, "first\n"));
    assert_non_null(strstr(text, "\nlast\n"));
    assert_true(strlen(text) < 101 << 10);
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    assert_true(use.ru_maxrss < 128 << 10);
}

static void the_environment_and_the_fds_are_clean(void **state)
{
    (void)state;
    assert_int_equal(setenv("WRIST_TEST_SECRET", "hush", 1), 0);
    run("env; ls -l /proc/self/fd | wc -l", 5000);
    assert_null(strstr(text, "hush"));
    assert_null(strstr(text, "WRIST"));
    run("ls /proc/self/fd | tr '\\n' ' '", 5000);
    assert_string_equal(text, "0 1 2 3 "); // 3 is ls reading the directory
    run("grep -E 'NoNewPrivs|CapEff|CapBnd|SigBlk|SigIgn' /proc/self/status | tr '\\n' ' '", 5000);
    assert_non_null(strstr(text, "NoNewPrivs:\t1"));
    assert_non_null(strstr(text, "SigBlk:\t0000000000000000"));
    assert_non_null(strstr(text, "SigIgn:\t0000000000000000"));
    assert_non_null(strstr(text, "CapEff:\t0000000000000000"));
}

static void a_command_that_cannot_start_says_why(void **state)
{
    (void)state;
    struct command_identity before = who;
    who.workspace_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    snprintf(who.workspace, sizeof who.workspace, "/nowhere");
    run("true", 5000);
    close(who.workspace_fd);
    who = before;
    assert_int_equal(last.ending, COMMAND_NOT_STARTED);
    assert_non_null(strstr(text, "/nowhere"));
}

static int set_up(void **state)
{
    (void)state;
    struct failure why = {0};
    signals_block();
    loop = loop_new(clock_system());
    reaper = reaper_new(loop, &ops, NULL, &why);
    who = (struct command_identity){.same_user = true};
    snprintf(who.workspace, sizeof who.workspace, "/tmp");
    who.workspace_fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return reaper == NULL || who.workspace_fd < 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(who.workspace_fd);
    reaper_free(reaper);
    loop_free(loop);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_exit_code_come_back_in_order),
        cmocka_unit_test(death_by_a_signal_is_128_and_its_number),
        cmocka_unit_test(a_timeout_kills_the_tree_and_keeps_the_output),
        cmocka_unit_test(what_was_left_in_the_background_is_ended_and_told),
        cmocka_unit_test(what_ends_within_the_grace_is_not_cut_off),
        cmocka_unit_test(cancelling_ends_the_tree),
        cmocka_unit_test(a_flood_of_output_takes_constant_memory),
        cmocka_unit_test(the_environment_and_the_fds_are_clean),
        cmocka_unit_test(a_command_that_cannot_start_says_why),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
