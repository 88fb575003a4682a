// SPDX-License-Identifier: Apache-2.0
// Fields separated by one space, "-" for an empty one. All of them come from closed alphabets, so
// nothing needs an escape.
#include "gateway/store/record.h"

#include <inttypes.h>

static const char *const state_names[] = {
#define X(name, text) [BINDING_##name] = text,
    BINDING_STATE_TABLE(X)
#undef X
};

const char *binding_state_name(enum binding_state state)
{
    return state_names[state];
}

bool store_name_is_valid(struct span name)
{
    if (name.size == 0 || name.size >= STORE_NAME_SIZE)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] <= ' ' || name.data[i] > '~')
            return false;
    return true;
}

static const char *or_dash(const char *text)
{
    return text[0] != '\0' ? text : "-";
}

int sandbox_record_write(const struct sandbox_record *r, struct buffer *out)
{
    return buffer_printf(out,
                         "%s %s %s %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                         r->id, r->profile, or_dash(r->principal), or_dash(r->tenant),
                         r->generation, r->created_ms, r->claimed_ms, r->idle_ms, r->absolute_ms);
}

int binding_record_write(const struct binding_record *r, struct buffer *out)
{
    return buffer_printf(out, "%s %s %s %s %s %" PRId64 " %" PRId64 " %" PRId64, r->key,
                         r->principal, r->profile, binding_state_name(r->state),
                         or_dash(r->sandbox), r->generation, r->ended_ms, r->until_ms);
}

// The next field, checked and copied; the first failure sticks in *fault.
static void take_text(struct span *line, char *out, size_t out_size, bool may_be_empty, int *fault)
{
    struct span field = span_split(line, ' ');
    if (*fault != 0)
        return;
    if (may_be_empty && span_is(field, "-"))
        out[0] = '\0';
    else if (!store_name_is_valid(field) || !span_copy_string(field, out, out_size))
        *fault = FAULT_PARSE;
}

static int64_t take_number(struct span *line, int *fault)
{
    uint64_t number = 0;
    struct span field = span_split(line, ' ');
    if (span_is_absent(field) || !span_to_u64(field, &number) || number > INT64_MAX)
        *fault = FAULT_PARSE;
    return (int64_t)number;
}

static int finish(struct span rest, int fault, const char *what, struct failure *why)
{
    if (fault != 0 || !span_is_absent(rest))
        return failure_set(why, FAULT_PARSE, "not a line of a %s", what);
    return 0;
}

int sandbox_record_parse(struct span line, struct sandbox_record *out, struct failure *why)
{
    int fault = 0;
    *out = (struct sandbox_record){0};
    take_text(&line, out->id, sizeof out->id, false, &fault);
    take_text(&line, out->profile, sizeof out->profile, false, &fault);
    take_text(&line, out->principal, sizeof out->principal, true, &fault);
    take_text(&line, out->tenant, sizeof out->tenant, true, &fault);
    out->generation = take_number(&line, &fault);
    out->created_ms = take_number(&line, &fault);
    out->claimed_ms = take_number(&line, &fault);
    out->idle_ms = take_number(&line, &fault);
    out->absolute_ms = take_number(&line, &fault);
    return finish(line, fault, "sandbox", why);
}

static enum binding_state take_state(struct span *line, int *fault)
{
    struct span field = span_split(line, ' ');
    for (size_t i = 0; i < sizeof state_names / sizeof state_names[0]; i++)
        if (span_is(field, state_names[i]))
            return (enum binding_state)i;
    *fault = FAULT_PARSE;
    return BINDING_ENDED;
}

int binding_record_parse(struct span line, struct binding_record *out, struct failure *why)
{
    int fault = 0;
    *out = (struct binding_record){0};
    take_text(&line, out->key, sizeof out->key, false, &fault);
    take_text(&line, out->principal, sizeof out->principal, false, &fault);
    take_text(&line, out->profile, sizeof out->profile, false, &fault);
    out->state = take_state(&line, &fault);
    take_text(&line, out->sandbox, sizeof out->sandbox, true, &fault);
    out->generation = take_number(&line, &fault);
    out->ended_ms = take_number(&line, &fault);
    out->until_ms = take_number(&line, &fault);
    return finish(line, fault, "binding", why);
}
