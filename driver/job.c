// SPDX-License-Identifier: Apache-2.0
#include "driver/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/files.h"
#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/child.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"

struct jobs {
    struct loop *loop;    // borrowed
    struct task dispatch; // starts what waits
    struct list waiting, running;
    size_t waiting_count, running_count;
    size_t parallel, waiting_max;
};

struct job {
    struct list node;
    struct jobs *jobs;
    struct job_request request;
    struct child *child; // while it runs
    pid_t pid;
    int report; // read end of the pipe on which the child says what went wrong
    struct timer timer;
    bool timed_out;
};

size_t jobs_running(const struct jobs *j)
{
    return j->running_count;
}

size_t jobs_waiting(const struct jobs *j)
{
    return j->waiting_count;
}

bool jobs_have(const struct jobs *j, pid_t pid)
{
    LIST_EACH(node, &j->running)
    {
        if (LIST_ENTRY(node, struct job, node)->pid == pid)
            return true;
    }
    return false;
}

static void job_free(void *object)
{
    struct job *job = object;
    fd_close(&job->report);
    free(job);
}

static void job_finish(struct job *job, const struct failure *why)
{
    struct jobs *j = job->jobs;
    timer_cancel(&job->timer);
    list_remove(&job->node);
    j->running_count--;
    loop_defer(j->loop, &j->dispatch);
    job->request.ended(job->request.subject, why);
    loop_bury(j->loop, job, job_free);
}

static void job_read_failure(struct job *job, int status, struct failure *why)
{
    *why = (struct failure){0};
    ssize_t got = read(job->report, why, sizeof *why);
    why->text[sizeof why->text - 1] = '\0';
    if (got == (ssize_t)sizeof *why && why->fault < 0)
        return;
    if (WIFSIGNALED(status))
        failure_set(why, FAULT_INTERNAL, "ended by signal %d", WTERMSIG(status));
    else
        failure_set(why, FAULT_INTERNAL, "ended with status %d", WEXITSTATUS(status));
}

static void on_child_ended(void *owner, int status)
{
    struct job *job = owner;
    job->child = NULL;
    struct failure why;
    if (job->timed_out)
        failure_set(&why, FAULT_TIMEOUT, "did not end within %lld ms",
                    (long long)job->request.timeout_ms);
    else if (status != 0)
        job_read_failure(job, status, &why);
    job_finish(job, status != 0 || job->timed_out ? &why : NULL);
}

static void job_kill(struct job *job)
{
    // The child is not yet waited for, so the group's number is still its own.
    if (job->child != NULL)
        (void)kill(-job->pid, SIGKILL);
}

static void on_timeout(struct timer *timer)
{
    struct job *job = CONTAINER_OF(timer, struct job, timer);
    job->timed_out = true;
    job_kill(job);
}

static void child_reset_signals(void)
{
    static const int handled[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2};
    const struct sigaction fallback = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < ARRAY_COUNT(handled); i++)
        sigaction(handled[i], &fallback, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child_main(const struct job *job, int report, pid_t parent)
{
    struct failure why = {0};
    child_reset_signals();
    setpgid(0, 0);
    // A driver that was killed leaves nobody behind who still makes things.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
        _exit(1);
    int fault = job->request.run(job->request.subject, &why);
    if (fault == 0)
        _exit(0);
    why.fault = fault;
    (void)!write(report, &why, sizeof why);
    _exit(1);
}

static int job_fork(struct job *job, struct failure *why)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return failure_errno(why, "pipe");
    job->report = ends[0];
    pid_t parent = getpid();
    job->pid = fork();
    if (job->pid == 0)
        child_main(job, ends[1], parent);
    close(ends[1]);
    if (job->pid < 0)
        return failure_errno(why, "fork");
    setpgid(job->pid, job->pid); // whoever comes first, before it can be killed as a group
    job->child = child_watch(job->jobs->loop, job->pid, on_child_ended, job, why);
    if (job->child == NULL) {
        kill(job->pid, SIGKILL);
        waitpid(job->pid, NULL, 0);
        return why->fault;
    }
    timer_start(&job->timer, job->request.timeout_ms);
    return 0;
}

static void on_dispatch(struct task *task)
{
    struct jobs *j = CONTAINER_OF(task, struct jobs, dispatch);
    while (j->running_count < j->parallel && !list_is_empty(&j->waiting)) {
        struct job *job = LIST_ENTRY(list_pop(&j->waiting), struct job, node);
        j->waiting_count--;
        list_append(&j->running, &job->node);
        j->running_count++;
        struct failure why = {0};
        if (job_fork(job, &why) != 0)
            job_finish(job, &why);
    }
}

struct jobs *jobs_new(struct loop *loop, size_t parallel, size_t waiting)
{
    struct jobs *j = memory_new(sizeof *j);
    *j = (struct jobs){.loop = loop, .parallel = parallel, .waiting_max = waiting};
    list_init(&j->waiting);
    list_init(&j->running);
    task_init(&j->dispatch, on_dispatch);
    return j;
}

void jobs_free(struct jobs *j)
{
    task_cancel(&j->dispatch);
    LIST_EACH(node, &j->running)
    {
        struct job *job = LIST_ENTRY(node, struct job, node);
        timer_cancel(&job->timer);
        job_kill(job);
        child_forget(job->child);
        waitpid(job->pid, NULL, 0);
        job_free(job);
    }
    LIST_EACH(node, &j->waiting)
    {
        job_free(LIST_ENTRY(node, struct job, node));
    }
    free(j);
}

int jobs_start(struct jobs *j, const struct job_request *request, struct failure *why)
{
    if (!request->always && j->running_count >= j->parallel && j->waiting_count >= j->waiting_max)
        return failure_set(why, FAULT_UNAVAILABLE, "%zu jobs wait already", j->waiting_count);
    struct job *job = memory_new(sizeof *job);
    *job = (struct job){.jobs = j, .request = *request, .report = -1};
    timer_init(&job->timer, j->loop, on_timeout);
    list_append(&j->waiting, &job->node);
    j->waiting_count++;
    loop_defer(j->loop, &j->dispatch);
    return 0;
}

static void program_exec(char *const argv[], int answer, int said)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(answer >= 0 ? answer : null, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    execv(argv[0], argv);
    _exit(127);
}

// The last line of what a program said.
static struct span last_words(struct span text)
{
    while (text.size > 0 && (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == ' '))
        text.size--;
    const char *line = text.size > 0 ? memrchr(text.data, '\n', text.size) : NULL;
    return line == NULL ? text : span_of(line + 1, text.size - (size_t)(line + 1 - text.data));
}

static int program_failed(const char *program, int status, int said, struct failure *why)
{
    char text[4096];
    off_t end = lseek(said, 0, SEEK_END);
    off_t from = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
    ssize_t got = pread(said, text, sizeof text, from);
    struct span words = last_words(span_of(text, got > 0 ? (size_t)got : 0));
    return failure_set(why, FAULT_INTERNAL, "%s: status %d: %.*s", program,
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                       (int)(words.size > 300 ? 300 : words.size), words.data);
}

static int program_wait(char *const argv[], int answer, int *status, struct failure *why)
{
    CLEANUP(fd_close) int said = memfd_create("stderr", MFD_CLOEXEC);
    if (said < 0)
        return failure_errno(why, "memfd_create");
    pid_t pid = fork();
    if (pid == 0)
        program_exec(argv, answer, said);
    if (pid < 0 || waitpid(pid, status, 0) != pid)
        return failure_errno(why, "run %s", argv[0]);
    return *status == 0 ? 0 : program_failed(argv[0], *status, said, why);
}

int program_run(char *const argv[], struct failure *why)
{
    int status = 0;
    return program_wait(argv, -1, &status, why);
}

int program_status(char *const argv[], int *status, struct failure *why)
{
    int raw = -1;
    int fault = program_wait(argv, -1, &raw, why);
    *status = raw >= 0 && WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
    return *status >= 0 ? 0 : fault;
}

int program_ask(char *const argv[], char *out, size_t out_size, struct failure *why)
{
    CLEANUP(fd_close) int answer = memfd_create("stdout", MFD_CLOEXEC);
    if (answer < 0)
        return failure_errno(why, "memfd_create");
    int status = 0;
    int fault = program_wait(argv, answer, &status, why);
    ssize_t got = pread(answer, out, out_size - 1, 0);
    out[got > 0 ? got : 0] = '\0';
    return fault;
}
