// SPDX-License-Identifier: Apache-2.0
#include "workers/link/accept.h"

bool accept_read(struct span header, struct accepted *out)
{
    *out = (struct accepted){0};
    if (span_trim(header).size == 0)
        *out = (struct accepted){true, true};
    for (struct span rest = header; !span_is_absent(rest);) {
        struct span item = span_split(&rest, ',');
        struct span type = span_trim(span_split(&item, ';'));
        bool any = span_is(type, "*/*");
        out->json |= any || span_equals_nocase(type, SPAN_LITERAL("application/json")) ||
                     span_equals_nocase(type, SPAN_LITERAL("application/*"));
        out->events |= any || span_equals_nocase(type, SPAN_LITERAL("text/event-stream")) ||
                       span_equals_nocase(type, SPAN_LITERAL("text/*"));
    }
    return out->json || out->events;
}
