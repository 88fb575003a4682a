// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "gateway/lib/confine/seccomp.h"
#include "gateway/lib/confine/seccomp_rules.h"
#include "gateway/lib/json/writer.h"

static void oci_write_argument(const struct seccomp_rule *rule, struct json_writer *w)
{
    static const char *const names[] = {
        [COMPARE_NONE] = "",
        [COMPARE_EQUAL] = "SCMP_CMP_EQ",
        [COMPARE_NOT_EQUAL] = "SCMP_CMP_NE",
        [COMPARE_MASKED_EQUAL] = "SCMP_CMP_MASKED_EQ",
    };
    json_write_key(w, "args");
    json_array_open(w);
    json_object_open(w);
    json_write_member_i64(w, "index", rule->argument);
    json_write_key(w, "value");
    json_write_u64(w, rule->comparison == COMPARE_MASKED_EQUAL ? rule->mask : rule->value);
    if (rule->comparison == COMPARE_MASKED_EQUAL) {
        json_write_key(w, "valueTwo");
        json_write_u64(w, rule->value);
    }
    json_write_member_string(w, "op", names[rule->comparison]);
    json_object_close(w);
    json_array_close(w);
}

static void oci_write_rule(const struct seccomp_rule *rule, struct json_writer *w)
{
    json_object_open(w);
    json_write_key(w, "names");
    json_array_open(w);
    struct span rest = span_from_string(rule->calls);
    while (!span_is_absent(rest))
        json_write_string(w, span_split(&rest, ' '));
    json_array_close(w);
    json_write_member_string(w, "action",
                             rule->verdict == VERDICT_ALLOW  ? "SCMP_ACT_ALLOW"
                             : rule->verdict == VERDICT_KILL ? "SCMP_ACT_KILL_PROCESS"
                                                             : "SCMP_ACT_ERRNO");
    if (rule->verdict == VERDICT_ERROR)
        json_write_member_i64(w, "errnoRet", rule->error);
    if (rule->comparison != COMPARE_NONE)
        oci_write_argument(rule, w);
    json_object_close(w);
}

void seccomp_write_oci(enum seccomp_profile profile, struct json_writer *w)
{
    json_object_open(w);
    json_write_member_string(w, "defaultAction", "SCMP_ACT_ERRNO");
    json_write_member_i64(w, "defaultErrnoRet", ENOSYS);
    json_write_key(w, "syscalls");
    json_array_open(w);
    for (size_t i = 0; i < seccomp_rule_count; i++)
        if ((seccomp_rules[i].profiles & (1U << profile)) != 0)
            oci_write_rule(&seccomp_rules[i], w);
    json_array_close(w);
    json_object_close(w);
}
