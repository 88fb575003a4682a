// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/accept.h"

// q=0, q=0.0, q=0.000
static bool is_refused(struct span parameters)
{
    while (!span_is_absent(parameters)) {
        struct span p = span_trim(span_split(&parameters, ';'));
        struct span value = p;
        struct span name = span_trim(span_split(&value, '='));
        value = span_trim(value);
        if (!span_equals_nocase(name, SPAN_LITERAL("q")) || value.size == 0)
            continue;
        for (size_t i = 0; i < value.size; i++) {
            if (value.data[i] != '0' && value.data[i] != '.')
                return false;
        }
        return true;
    }
    return false;
}

static bool is_type(struct span range, const char *type)
{
    return span_equals_nocase(range, span_from_string(type));
}

struct accept accept_parse(struct span header)
{
    struct accept a = {false, false}, refused = {false, false};
    if (span_trim(header).size == 0)
        return (struct accept){true, true};
    while (!span_is_absent(header)) {
        struct span parameters = span_split(&header, ',');
        struct span range = span_trim(span_split(&parameters, ';'));
        bool all = is_type(range, "*/*");
        bool json = all || is_type(range, "application/*") || is_type(range, "application/json");
        bool events = all || is_type(range, "text/*") || is_type(range, "text/event-stream");
        struct accept *to = is_refused(parameters) ? &refused : &a;
        // A refusal of a whole class does not take away what is named beside it.
        if (to == &refused && !is_type(range, "application/json") &&
            !is_type(range, "text/event-stream"))
            continue;
        to->json = to->json || json;
        to->events = to->events || events;
    }
    return (struct accept){a.json && !refused.json, a.events && !refused.events};
}

bool media_type_is_json(struct span content_type)
{
    return is_type(span_trim(span_split(&content_type, ';')), "application/json");
}
