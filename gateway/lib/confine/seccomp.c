// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/confine/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/confine/seccomp_rules.h"

// Calls that the sanitizers' own code makes at exit and on a finding.
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct seccomp_program {
    size_t count;
    struct sock_filter steps[];
};

// A sanitizer traces its own process at exit, so a sanitized gateway is not filtered at all.
static uint32_t default_action(enum seccomp_profile profile)
{
    return SANITIZED && profile == SECCOMP_PROFILE_GATEWAY ? SCMP_ACT_ALLOW
                                                           : SCMP_ACT_ERRNO(ENOSYS);
}

static uint32_t rule_action(const struct seccomp_rule *rule)
{
    switch (rule->verdict) {
    case VERDICT_ALLOW:
        return SCMP_ACT_ALLOW;
    case VERDICT_KILL:
        return SANITIZED ? SCMP_ACT_ALLOW : SCMP_ACT_KILL_PROCESS;
    case VERDICT_ERROR:
        break;
    }
    return SCMP_ACT_ERRNO((uint32_t)rule->error);
}

static struct scmp_arg_cmp rule_comparison(const struct seccomp_rule *rule)
{
    struct scmp_arg_cmp c = {.arg = rule->argument, .datum_a = rule->value};
    switch (rule->comparison) {
    case COMPARE_NONE:
    case COMPARE_EQUAL:
        c.op = SCMP_CMP_EQ;
        break;
    case COMPARE_NOT_EQUAL:
        c.op = SCMP_CMP_NE;
        break;
    case COMPARE_MASKED_EQUAL:
        c.op = SCMP_CMP_MASKED_EQ;
        c.datum_a = rule->mask;
        c.datum_b = rule->value;
        break;
    }
    return c;
}

static int rule_add_call(scmp_filter_ctx filter, const struct seccomp_rule *rule, struct span name,
                         struct failure *why)
{
    char call[64];
    if (!span_copy_string(name, call, sizeof call))
        return failure_set(why, FAULT_INTERNAL, "system call name of %zu bytes", name.size);
    int number = seccomp_syscall_resolve_name(call);
    if (number == __NR_SCMP_ERROR || number < 0) // newer than the library, or of another machine
        return 0;
    struct scmp_arg_cmp comparison = rule_comparison(rule);
    unsigned comparisons = rule->comparison == COMPARE_NONE ? 0 : 1;
    int result =
        seccomp_rule_add_array(filter, rule_action(rule), number, comparisons, &comparison);
    if (result != 0)
        return failure_set(why, FAULT_INTERNAL, "seccomp rule for %s: error %d", call, -result);
    return 0;
}

static int rule_add(scmp_filter_ctx filter, const struct seccomp_rule *rule, struct failure *why)
{
    struct span rest = span_from_string(rule->calls);
    while (!span_is_absent(rest)) {
        int fault = rule_add_call(filter, rule, span_split(&rest, ' '), why);
        if (fault != 0)
            return fault;
    }
    return 0;
}

static int filter_fill(scmp_filter_ctx filter, enum seccomp_profile profile, struct failure *why)
{
    for (size_t i = 0; i < seccomp_rule_count; i++) {
        // libseccomp refuses rules that repeat the default.
        if ((seccomp_rules[i].profiles & (1U << profile)) == 0 ||
            rule_action(&seccomp_rules[i]) == default_action(profile))
            continue;
        int fault = rule_add(filter, &seccomp_rules[i], why);
        if (fault != 0)
            return fault;
    }
    // A tree instead of a list: hundreds of comparisons a call would be felt by every build.
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    return 0;
}

static int program_read(int fd, struct seccomp_program **out, struct failure *why)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return failure_errno(why, "measure the seccomp program");
    size_t bytes = (size_t)about.st_size, count = bytes / sizeof(struct sock_filter);
    if (count == 0 || count > BPF_MAXINSNS)
        return failure_set(why, FAULT_INTERNAL, "a seccomp program of %zu steps", count);
    struct seccomp_program *program = memory_new(sizeof *program + bytes);
    program->count = count;
    if (pread(fd, program->steps, bytes, 0) != (ssize_t)bytes) {
        seccomp_program_free(program);
        return failure_errno(why, "read the seccomp program");
    }
    *out = program;
    return 0;
}

int seccomp_program_new(enum seccomp_profile profile, struct seccomp_program **out,
                        struct failure *why)
{
    scmp_filter_ctx filter = seccomp_init(default_action(profile));
    if (filter == NULL)
        return failure_set(why, FAULT_INTERNAL, "seccomp_init failed");
    int fd = memfd_create("seccomp", MFD_CLOEXEC);
    int fault = fd < 0 ? failure_errno(why, "memfd_create") : filter_fill(filter, profile, why);
    if (fault == 0 && seccomp_export_bpf(filter, fd) != 0)
        fault = failure_set(why, FAULT_INTERNAL, "compile the seccomp filter");
    if (fault == 0)
        fault = program_read(fd, out, why);
    if (fd >= 0)
        close(fd);
    seccomp_release(filter);
    return fault;
}

int seccomp_program_apply(const struct seccomp_program *p, struct failure *why)
{
    // The kernel's header wants a writable pointer and does not write through it.
    struct sock_fprog program = {.len = (unsigned short)p->count,
                                 .filter = (struct sock_filter *)(uintptr_t)p->steps};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return failure_errno(why, "load the seccomp filter");
    return 0;
}

void seccomp_program_free(struct seccomp_program *p)
{
    free(p);
}

int seccomp_confine(enum seccomp_profile profile, struct failure *why)
{
    struct seccomp_program *program = NULL;
    int fault = seccomp_program_new(profile, &program, why);
    if (fault == 0)
        fault = seccomp_program_apply(program, why);
    seccomp_program_free(program);
    return fault;
}
