// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "gateway/lib/control/driver_api.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"

int failure_write(const struct failure *why, struct buffer *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_object_open(&w);
    json_write_key(&w, "error");
    json_object_open(&w);
    json_write_member_string(&w, "fault", fault_name(why->fault));
    json_write_member_string(&w, "message", why->text);
    json_object_close(&w);
    json_object_close(&w);
    return json_writer_finish(&w);
}

static int fault_from_node(const struct json *j, int node)
{
    // The table of faults has no gaps: -1, -2, …
    for (int fault = -1; strcmp(fault_name(fault), "NONE") != 0; fault--)
        if (json_string_is(j, node, fault_name(fault)))
            return fault;
    return FAULT_INTERNAL;
}

int failure_parse(struct span json, struct failure *why)
{
    static const struct json_limits limits = {.bytes = 64 << 10, .tokens = 256, .depth = 8};
    struct failure ignored;
    struct json *j;
    if (json_parse(json, &limits, &j, &ignored) != 0)
        return failure_set(why, FAULT_INTERNAL, "the answer names no error");
    int error = json_get(j, JSON_ROOT, "error");
    int fault = fault_from_node(j, json_get(j, error, "fault"));
    struct buffer message;
    buffer_init(&message, 4096);
    if (!json_string(j, json_get(j, error, "message"), &message) || buffer_size(&message) == 0)
        failure_set(why, fault, "%s", fault_text(fault));
    else
        failure_set(why, fault, "%.*s", SPAN_ARGS(buffer_span(&message)));
    buffer_fini(&message);
    json_free(j);
    return fault;
}
