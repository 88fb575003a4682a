// SPDX-License-Identifier: Apache-2.0
// The rows that seccomp.c turns into filters; nobody else includes it.
#ifndef WRIST_GATEWAY_LIB_CONFINE_SECCOMP_RULES_H
#define WRIST_GATEWAY_LIB_CONFINE_SECCOMP_RULES_H

#include <stddef.h>
#include <stdint.h>

enum { FOR_GATEWAY = 1, FOR_WORKER = 2, FOR_COMMAND = 4 }; // 1 << enum seccomp_profile

enum seccomp_verdict { VERDICT_ALLOW, VERDICT_ERROR, VERDICT_KILL };

enum seccomp_comparison { COMPARE_NONE, COMPARE_EQUAL, COMPARE_NOT_EQUAL, COMPARE_MASKED_EQUAL };

// One row; calls without any row get ENOSYS, so that newer C libraries fall back. No row says
// ENOSYS: libseccomp refuses a rule that repeats the default.
struct seccomp_rule {
    unsigned profiles;
    enum seccomp_verdict verdict;
    int error;         // of VERDICT_ERROR
    const char *calls; // names with a space between; unknown ones are skipped
    // An allowing row with a comparison holds only where the argument compares so.
    enum seccomp_comparison comparison;
    unsigned argument;
    uint64_t mask; // of COMPARE_MASKED_EQUAL
    uint64_t value;
};

extern const struct seccomp_rule seccomp_rules[];
extern const size_t seccomp_rule_count;

#endif
