// SPDX-License-Identifier: Apache-2.0
#include "workers/command/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/confine/limits.h"
#include "gateway/lib/confine/privileges.h"
#include "gateway/lib/confine/seccomp.h"
#include "workers/init/reaper.h"

static int set_streams(int output, struct failure *why)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0)
        return failure_errno(why, "open /dev/null");
    if (dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(output, STDERR_FILENO) < 0)
        return failure_errno(why, "set up stdin, stdout and stderr");
    close(null);
    return 0;
}

// The first to go when memory runs out. Without a /proc to write to it stays as it is.
static void prefer_as_victim(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t written = write(fd, "900", 3);
    (void)written;
    close(fd);
}

static int set_limits(const struct worker_limits *l, struct failure *why)
{
    const struct {
        int resource;
        int64_t value;
    } rows[] = {
        {RLIMIT_NPROC, l->processes},
        {RLIMIT_FSIZE, l->file_bytes},
        {RLIMIT_NOFILE, l->open_files},
        {RLIMIT_AS, l->memory_bytes},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        int fault = 0;
        if (rows[i].value > 0)
            fault = limits_set(rows[i].resource, (uint64_t)rows[i].value, why);
        if (fault != 0)
            return fault;
    }
    return limits_set(RLIMIT_CORE, 0, why);
}

static int set_user(const struct command_identity *who, struct failure *why)
{
    const struct user user = {who->uid, who->gid};
    int fault = who->same_user ? 0 : privileges_become(&user, why);
    if (fault == 0)
        fault = privileges_keep(0, why);
    if (fault == 0)
        fault = privileges_seal(why); // execve makes the command dumpable again, for debuggers
    return fault;
}

int command_become(const struct command_identity *who, int output, struct failure *why)
{
    setsid();
    prefer_as_victim();
    int fault = set_streams(output, why);
    if (fault == 0)
        fault = set_limits(&who->limits, why);
    if (fault == 0)
        fault = set_user(who, why);
    if (fault == 0 && fchdir(who->workspace_fd) != 0)
        fault = failure_errno(why, "enter %s", who->workspace);
    if (fault == 0 && who->seccomp != NULL)
        fault = seccomp_program_apply(who->seccomp, why);
    umask(022);
    return fault;
}

int command_execute(const struct command_identity *who, const char *line, struct failure *why)
{
    char directory[WORKER_PATH_SIZE + 8];
    snprintf(directory, sizeof directory, "PWD=%s", who->workspace);
    char *const environment[] = {
        (char[]){"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        (char[]){"HOME=/tmp"}, // not the workspace: caches and dot files would be searched with it
        (char[]){"TMPDIR=/tmp"},
        (char[]){"USER=sandbox"},
        (char[]){"LOGNAME=sandbox"},
        (char[]){"SHELL=/bin/bash"},
        (char[]){"LANG=C.UTF-8"},
        (char[]){"TERM=dumb"},
        directory,
        NULL,
    };
    static const char *const shells[] = {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash",
                                         "/bin/sh"};
    CLEANUP_FREE char *copy = memory_copy_string(line);
    signals_reset();
    for (size_t i = 0; i < ARRAY_COUNT(shells); i++) {
        CLEANUP_FREE char *shell = memory_copy_string(shells[i]);
        char *const arguments[] = {shell, (char[]){"-c"}, copy, NULL};
        execve(shell, arguments, environment);
        if (errno != ENOENT && errno != EACCES)
            break;
    }
    return failure_errno(why, "run a shell");
}
