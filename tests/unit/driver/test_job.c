// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "driver/job.h"
#include "gateway/lib/loop/loop.h"

struct subject {
    int ended;
    struct failure why;
    int gate; // read end: a job runs until the test closes the other one
};

static int succeed(void *subject, struct failure *why)
{
    (void)subject;
    (void)why;
    return 0;
}

static int refuse(void *subject, struct failure *why)
{
    (void)subject;
    return failure_set(why, FAULT_QUOTA, "the disk is full");
}

static int become_false(void *subject, struct failure *why)
{
    (void)subject;
    execl("/bin/false", "false", (char *)NULL);
    return failure_errno(why, "exec");
}

static int wait_at_gate(void *subject, struct failure *why)
{
    const struct subject *s = subject;
    char byte;
    (void)why;
    return read(s->gate, &byte, 1) == 1 ? 0 : FAULT_IO;
}

static void note_end(void *subject, const struct failure *why)
{
    struct subject *s = subject;
    s->ended++;
    if (why != NULL)
        s->why = *why;
}

static void run_until(struct loop *loop, const struct subject *s, int ended)
{
    while (s->ended < ended)
        loop_turn(loop, true);
}

static struct job_request request_of(struct subject *s, int (*run)(void *, struct failure *))
{
    return (struct job_request){.run = run, .ended = note_end, .subject = s, .timeout_ms = 60000};
}

static void outcomes_are_told_in_the_job_s_own_words(void **state)
{
    (void)state;
    struct loop *loop = loop_new(clock_system());
    struct jobs *jobs = jobs_new(loop, 2, 8);
    struct failure why = {0};
    struct subject good = {0}, bad = {0}, mute = {0};
    struct job_request r = request_of(&good, succeed);
    assert_int_equal(jobs_start(jobs, &r, &why), 0);
    r = request_of(&bad, refuse);
    assert_int_equal(jobs_start(jobs, &r, &why), 0);
    r = request_of(&mute, become_false);
    assert_int_equal(jobs_start(jobs, &r, &why), 0);
    run_until(loop, &good, 1);
    run_until(loop, &bad, 1);
    run_until(loop, &mute, 1);
    assert_int_equal(good.why.fault, 0);
    assert_int_equal(bad.why.fault, FAULT_QUOTA);
    assert_string_equal(bad.why.text, "the disk is full");
    assert_int_equal(mute.why.fault, FAULT_INTERNAL);
    jobs_free(jobs);
    loop_free(loop);
}

static void no_more_than_allowed_run_or_wait(void **state)
{
    (void)state;
    int gate[2];
    struct loop *loop = loop_new(clock_system());
    struct jobs *jobs = jobs_new(loop, 2, 1);
    struct failure why = {0};
    assert_int_equal(pipe(gate), 0);
    struct subject s = {.gate = gate[0]};
    struct job_request r = request_of(&s, wait_at_gate);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(jobs_start(jobs, &r, &why), 0);
        loop_turn(loop, false);
    }
    assert_int_equal(jobs_running(jobs), 2);
    assert_int_equal(jobs_start(jobs, &r, &why), 0);
    assert_int_equal(jobs_start(jobs, &r, &why), FAULT_UNAVAILABLE);
    r.always = true; // a removal
    assert_int_equal(jobs_start(jobs, &r, &why), 0);
    loop_turn(loop, false);
    assert_int_equal(jobs_running(jobs), 2);
    assert_int_equal(jobs_waiting(jobs), 2);
    assert_int_equal(write(gate[1], "....", 4), 4);
    run_until(loop, &s, 4);
    assert_int_equal(s.why.fault, 0);
    jobs_free(jobs);
    loop_free(loop);
    close(gate[0]);
    close(gate[1]);
}

static void a_job_past_its_time_is_killed(void **state)
{
    (void)state;
    int gate[2];
    struct loop *loop = loop_new(clock_system());
    struct jobs *jobs = jobs_new(loop, 1, 1);
    struct failure why = {0};
    assert_int_equal(pipe(gate), 0);
    struct subject s = {.gate = gate[0]};
    struct job_request r = request_of(&s, wait_at_gate);
    r.timeout_ms = 1;
    assert_int_equal(jobs_start(jobs, &r, &why), 0);
    run_until(loop, &s, 1);
    assert_int_equal(s.why.fault, FAULT_TIMEOUT);
    jobs_free(jobs);
    loop_free(loop);
    close(gate[0]);
    close(gate[1]);
}

static void a_program_s_last_words_are_the_reason(void **state)
{
    (void)state;
    struct failure why = {0};
    char *const argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
                          (char[]){"echo first >&2; echo 'no such disk' >&2; exit 3"}, NULL};
    assert_int_equal(program_run(argv, &why), FAULT_INTERNAL);
    assert_string_equal(why.text, "/bin/sh: status 3: no such disk");
    char out[16];
    char *const echo[] = {(char[]){"/bin/echo"}, (char[]){"hello"}, NULL};
    assert_int_equal(program_ask(echo, out, sizeof out, &why), 0);
    assert_string_equal(out, "hello\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_are_told_in_the_job_s_own_words),
        cmocka_unit_test(no_more_than_allowed_run_or_wait),
        cmocka_unit_test(a_job_past_its_time_is_killed),
        cmocka_unit_test(a_program_s_last_words_are_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
