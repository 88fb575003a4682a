// SPDX-License-Identifier: Apache-2.0
//
// Work that blocks (mounts, copies, runtimes) in short-lived processes, so that the loop never
// does. At most `parallel` run at once, the others wait in line. A job dies with the driver.
#ifndef WRIST_DRIVER_JOB_H
#define WRIST_DRIVER_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gateway/lib/base/failure.h"

struct loop;
struct jobs;

struct job_request {
    // In the child: does the work, or ends in an exec of a program whose exit status 0 is success.
    // What it reads through `subject` is as it was when the job began to run.
    int (*run)(void *subject, struct failure *why);
    // From the loop, once. `why` is NULL on success; a time-out is FAULT_TIMEOUT.
    void (*ended)(void *subject, const struct failure *why);
    void *subject;      // borrowed until `ended`
    int64_t timeout_ms; // from when it begins to run
    bool always;        // accepted however long the line is
};

struct jobs *jobs_new(struct loop *loop, size_t parallel, size_t waiting);
void jobs_free(struct jobs *j); // kills what runs; no callback any more
// FAULT_UNAVAILABLE where the line is full; then `ended` is not called.
int jobs_start(struct jobs *j, const struct job_request *request, struct failure *why);
size_t jobs_running(const struct jobs *j);
size_t jobs_waiting(const struct jobs *j);
bool jobs_have(const struct jobs *j, pid_t pid); // one of them runs in this process

// For work inside a job: runs a program (its stdio is /dev/null but for stderr, whose last words go
// into *why) and waits for it. FAULT_INTERNAL where it does not end with 0.
int program_run(char *const argv[], struct failure *why);
// For programs whose exit status says more: it comes in *status, and *why has the last words where
// it is not 0. A fault only where it could not be run or was killed.
int program_status(char *const argv[], int *status, struct failure *why);
// As program_run; the beginning of what it writes to stdout comes back as a string.
int program_ask(char *const argv[], char *out, size_t out_size, struct failure *why);

#endif
