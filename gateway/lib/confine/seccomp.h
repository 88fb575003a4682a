// SPDX-License-Identifier: Apache-2.0
//
// System call filters, as tables of names (seccomp_rules.c). A filter stays for the life of the
// process and of all it starts, and needs no_new_privs first.
#ifndef WRIST_GATEWAY_LIB_CONFINE_SECCOMP_H
#define WRIST_GATEWAY_LIB_CONFINE_SECCOMP_H

#include "gateway/lib/base/failure.h"

#define SECCOMP_PROFILE_TABLE(X)                                                                   \
    X(GATEWAY, "gateway") /* network and files; starting any program kills it */                   \
    X(WORKER, "worker")   /* PID 1 of a sandbox and all below it; drivers apply it from outside */ \
    X(COMMAND, "command") /* what a sandbox's commands may call: never more than WORKER */
enum seccomp_profile {
#define X(name, text) SECCOMP_PROFILE_##name,
    SECCOMP_PROFILE_TABLE(X)
#undef X
};

// Filters this process from now on. Not async-signal-safe (it allocates): load a command's filter
// in its supervisor, not between fork and exec of a process with threads.
int seccomp_confine(enum seccomp_profile profile, struct failure *why);

// The same filter as a compiled program, made once at start, and applied with one system call after
// each fork. Owned by the caller.
struct seccomp_program;
int seccomp_program_new(enum seccomp_profile profile, struct seccomp_program **out,
                        struct failure *why);
int seccomp_program_apply(const struct seccomp_program *p, struct failure *why); // signal-safe
void seccomp_program_free(struct seccomp_program *p);

// The value of `linux.seccomp` in an OCI bundle.
struct json_writer;
void seccomp_write_oci(enum seccomp_profile profile, struct json_writer *w);

#endif
