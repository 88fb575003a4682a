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

// --- grants --------------------------------------------------------------------------------------

static size_t grant_index(const struct sandbox_grants *g, const char *principal)
{
    size_t i = 0;
    while (i < g->count && strcmp(g->principals[i], principal) != 0)
        i++;
    return i;
}

bool sandbox_grants_has(const struct sandbox_grants *g, const char *principal)
{
    return grant_index(g, principal) < g->count;
}

bool sandbox_grants_add(struct sandbox_grants *g, const char *principal)
{
    if (sandbox_grants_has(g, principal))
        return true;
    if (g->count == LINK_GRANTS_MOST ||
        !span_copy_string(span_from_string(principal), g->principals[g->count],
                          sizeof g->principals[0]))
        return false;
    g->count++;
    return true;
}

void sandbox_grants_remove(struct sandbox_grants *g, const char *principal)
{
    size_t i = grant_index(g, principal);
    if (i == g->count)
        return;
    g->count--;
    memmove(g->principals[i], g->principals[g->count], sizeof g->principals[0]);
}

// A last field of its own, only where there are any: lines from before grants stay readable.
static int grants_write(const struct sandbox_grants *g, struct buffer *out)
{
    int fault = 0;
    for (size_t i = 0; i < g->count && fault == 0; i++)
        fault = buffer_printf(out, "%c%s", i == 0 ? ' ' : ',', g->principals[i]);
    return fault;
}

static bool is_hash(struct span text)
{
    if (text.size != PRINCIPAL_HASH_SIZE - 1)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (strchr("0123456789abcdef", text.data[i]) == NULL || text.data[i] == '\0')
            return false;
    return true;
}

static void take_grants(struct span *line, struct sandbox_grants *out, int *fault)
{
    char principal[PRINCIPAL_HASH_SIZE];
    if (*fault != 0 || span_is_absent(*line))
        return;
    struct span field = span_split(line, ' ');
    while (*fault == 0 && !span_is_absent(field)) {
        struct span one = span_split(&field, ',');
        if (!is_hash(one) || !span_copy_string(one, principal, sizeof principal) ||
            sandbox_grants_has(out, principal) || !sandbox_grants_add(out, principal))
            *fault = FAULT_PARSE;
    }
}

// --- lines ---------------------------------------------------------------------------------------

int sandbox_record_write(const struct sandbox_record *r, struct buffer *out)
{
    int fault =
        buffer_printf(out, "%s %s %s %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                      r->id, r->profile, or_dash(r->principal), or_dash(r->tenant), r->generation,
                      r->created_ms, r->claimed_ms, r->idle_ms, r->absolute_ms);
    return fault != 0 ? fault : grants_write(&r->grants, out);
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
    take_grants(&line, &out->grants, &fault);
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
