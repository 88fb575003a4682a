// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/tool.h"

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"
#include "workers/tools/arguments.h"
#include "workers/tools/leave.h"

int tool_env_check(const struct tool_env *env, struct failure *why)
{
    if (env->is_cancelled != NULL && env->is_cancelled(env->ctx))
        return failure_set(why, FAULT_CANCELLED, "the call was cancelled");
    if (env->deadline_us != 0 && clock_monotonic_us(env->clock) >= env->deadline_us)
        return failure_set(why, FAULT_TIMEOUT, "the call ran out of time");
    return 0;
}

void tool_result_init(struct tool_result *r)
{
    buffer_init(&r->text, TOOL_TEXT_LIMIT);
    buffer_init(&r->structured, TOOL_STRUCTURED_LIMIT);
    r->is_error = false;
    r->resource = (struct tool_resource){0};
    buffer_init(&r->resource.uri, TOOL_TEXT_LIMIT);
    buffer_init(&r->resource.content, TOOL_RESOURCE_LIMIT);
}

void tool_result_fini(struct tool_result *r)
{
    buffer_fini(&r->text);
    buffer_fini(&r->structured);
    buffer_fini(&r->resource.uri);
    buffer_fini(&r->resource.content);
}

void tool_result_fail(struct tool_result *r, const struct failure *why)
{
    buffer_clear(&r->text);
    buffer_clear(&r->structured);
    r->resource.type = NULL;
    r->is_error = true;
    buffer_append_string(&r->text, why->text); // far below the limit
}

// It was scrubbed where it was made.
static void write_resource(const struct tool_resource *r, struct json_writer *w)
{
    struct span content = buffer_span(&r->content);
    json_object_open(w);
    json_write_member_string(w, "type", "resource");
    json_write_key(w, "resource");
    json_object_open(w);
    json_write_member(w, "uri", buffer_span(&r->uri));
    json_write_member_string(w, "mimeType", r->type);
    if (r->is_text) {
        json_write_key(w, "text");
        json_write_string(w, content);
    } else {
        CLEANUP_FREE char *text = memory_new(base64_size(content.size) + 1);
        json_write_member(w, "blob", span_of(text, base64_encode(content, text)));
    }
    json_object_close(w);
    json_object_close(w);
}

void tool_result_write(const struct tool_result *r, struct json_writer *w)
{
    json_write_key(w, "content");
    json_array_open(w);
    json_object_open(w);
    json_write_member_string(w, "type", "text");
    json_write_key(w, "text");
    leave_string(w, buffer_span(&r->text));
    json_object_close(w);
    if (r->resource.type != NULL)
        write_resource(&r->resource, w);
    json_array_close(w);
    if (buffer_size(&r->structured) > 0) {
        json_write_key(w, "structuredContent");
        leave_json(w, buffer_span(&r->structured));
    }
    json_write_member_bool(w, "isError", r->is_error);
}

const struct tool *tool_find(struct span name, bool read_only)
{
    for (size_t i = 0; i < tool_count; i++)
        if (span_is(name, tool_table[i].name))
            return !read_only || tool_table[i].in_read_only ? &tool_table[i] : NULL;
    return NULL;
}

void tool_call(const struct tool *tool, const struct tool_env *env, const struct json *doc,
               int args, struct tool_result *out)
{
    struct arguments parsed;
    struct failure why = {0};
    int rc = arguments_parse(&parsed, tool, doc, args, &why);
    if (rc == 0)
        rc = tool_env_check(env, &why);
    if (rc == 0)
        rc = tool->run(env, &parsed, out, &why);
    if (rc != 0)
        tool_result_fail(out, &why);
    arguments_fini(&parsed);
}
