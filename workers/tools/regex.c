// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"

enum {
    MATCH_LIMIT = 2000000, // steps of one match: some tens of milliseconds
    DEPTH_LIMIT = 20000,
    HEAP_LIMIT_KIB = 16 << 10,
    JIT_STACK_MIN = 32 << 10,
    JIT_STACK_MAX = 1 << 20,
    PATTERN_CODE_MAX = 1 << 20, // bytes of a compiled pattern
};

struct regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    struct regex_facts facts;
    bool fast;
};

static uint32_t compile_flags(const struct regex_options *options)
{
    uint32_t flags =
        PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    if (options->case_insensitive)
        flags |= PCRE2_CASELESS;
    if (options->multiline)
        flags |= PCRE2_DOTALL;
    return flags;
}

static int compile(struct regex *re, struct span pattern, const struct regex_options *options,
                   struct failure *why)
{
    int error;
    PCRE2_SIZE at;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (context == NULL)
        return failure_set(why, FAULT_INTERNAL, "no memory for the pattern");
    pcre2_set_max_pattern_length(context, PATTERN_CODE_MAX);
    re->code = pcre2_compile((PCRE2_SPTR)pattern.data, pattern.size, compile_flags(options), &error,
                             &at, context);
    pcre2_compile_context_free(context);
    if (re->code != NULL)
        return 0;
    PCRE2_UCHAR message[160];
    pcre2_get_error_message(error, message, sizeof message);
    return failure_set(why, FAULT_INVALID,
                       "%s at byte %zu, near \"%.*s\" (Perl syntax; put a \\ "
                       "before a character to take it as it is)",
                       (const char *)message, (size_t)at,
                       SPAN_ARGS(span_slice(pattern, at > 10 ? at - 10 : 0, at + 10)));
}

static int prepare(struct regex *re, struct failure *why)
{
    re->match = pcre2_match_data_create(1, NULL);
    re->limits = pcre2_match_context_create(NULL);
    if (re->match == NULL || re->limits == NULL)
        return failure_set(why, FAULT_INTERNAL, "no memory for the pattern");
    pcre2_set_match_limit(re->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(re->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(re->limits, HEAP_LIMIT_KIB);
    re->fast = pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE) == 0;
    if (re->fast)
        re->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL);
    if (re->stack != NULL)
        pcre2_jit_stack_assign(re->limits, NULL, re->stack);
    return 0;
}

int regex_compile(struct span pattern, const struct regex_options *options, struct regex **out,
                  struct failure *why)
{
    struct regex *re = memory_new(sizeof *re);
    int rc = compile(re, pattern, options, why);
    if (rc == 0)
        rc = prepare(re, why);
    if (rc != 0) {
        regex_free(re);
        return rc;
    }
    regex_facts_of(pattern, &re->facts);
    if (options->case_insensitive) {
        re->facts.literal_size = 0;
        re->facts.is_literal = false;
    }
    *out = re;
    return 0;
}

void regex_free(struct regex *re)
{
    if (re == NULL)
        return;
    pcre2_code_free(re->code);
    pcre2_match_data_free(re->match);
    pcre2_match_context_free(re->limits);
    pcre2_jit_stack_free(re->stack);
    free(re);
}

enum regex_found regex_find(struct regex *re, struct span text, size_t from, size_t *start,
                            size_t *end)
{
    int rc =
        pcre2_match(re->code, (PCRE2_SPTR)text.data, text.size, from, 0, re->match, re->limits);
    if (rc < 0)
        return rc == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_TOO_COSTLY;
    const PCRE2_SIZE *range = pcre2_get_ovector_pointer(re->match);
    *start = range[0];
    *end = range[1] < range[0] ? range[0] : range[1]; // \K in a look-ahead turns them around
    return REGEX_YES;
}

const struct regex_facts *regex_facts(const struct regex *re)
{
    return &re->facts;
}

bool regex_is_fast(const struct regex *re)
{
    return re->fast;
}
