// SPDX-License-Identifier: Apache-2.0
//
// Stands in for wrist-worker in the driver's tests: a static PID 1 that does on its link what a
// test tells it, one command a connection, and answers with text.
//
//   start         the start document it was given
//   exit N        ends with status N
//   eat           takes memory until it is killed
//   sh COMMAND    runs a shell as the command's uid without capabilities, answers what it prints
//   root COMMAND  the same as the worker itself
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LISTEN_FD = 3, START_FD = 4, TEXT_SIZE = 16384 };

static char start[TEXT_SIZE];

static long number_after(const char *key)
{
    const char *at = strstr(start, key);
    return at != NULL ? strtol(at + strlen(key), NULL, 10) : 0;
}

static void run(int link, const char *command, int as_command)
{
    pid_t pid = fork();
    if (pid == 0) {
        gid_t gid = (gid_t)number_after("\"command_gid\":");
        uid_t uid = (uid_t)number_after("\"command_uid\":");
        if (as_command && (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
                           setresuid(uid, uid, uid) != 0))
            dprintf(link, "become %u: %s\n", uid, strerror(errno));
        dup2(link, STDOUT_FILENO);
        dup2(link, STDERR_FILENO);
        close(LISTEN_FD);
        char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/workspace", NULL};
        execle("/bin/sh", "sh", "-c", command, (char *)NULL, environment);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

static void eat(void)
{
    for (;;) {
        char *block = malloc(1 << 20);
        if (block != NULL)
            memset(block, 1, 1 << 20);
    }
}

static void serve(int link)
{
    char line[TEXT_SIZE];
    size_t size = 0;
    ssize_t got;
    while (size < sizeof line - 1 && memchr(line, '\n', size) == NULL &&
           (got = read(link, line + size, sizeof line - 1 - size)) > 0)
        size += (size_t)got;
    line[size] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "start") == 0)
        dprintf(link, "%s", start);
    else if (strncmp(line, "exit ", 5) == 0)
        _exit((int)strtol(line + 5, NULL, 10));
    else if (strcmp(line, "eat") == 0)
        eat();
    else if (strncmp(line, "sh ", 3) == 0)
        run(link, line + 3, 1);
    else if (strncmp(line, "root ", 5) == 0)
        run(link, line + 5, 0);
}

int main(void)
{
    if (read(START_FD, start, sizeof start - 1) <= 0)
        return 111;
    close(START_FD);
    for (;;) {
        int link = accept(LISTEN_FD, NULL, NULL);
        if (link < 0)
            continue;
        serve(link);
        close(link);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
    }
}
