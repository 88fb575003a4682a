// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/mcp/envelope.h"

#include <stdarg.h>
#include <stdio.h>

#include "gateway/lib/json/writer.h"

int mcp_error_status(int code, enum mcp_era era)
{
    switch (code) {
#define X(name, value, modern, legacy)                                                             \
    case value:                                                                                    \
        return era == MCP_ERA_MODERN ? (modern) : (legacy);
        MCP_ERROR_TABLE(X)
#undef X
    default:
        return 200;
    }
}

static void open_envelope(struct json_writer *w, struct buffer *out, struct span id)
{
    json_writer_init(w, out);
    json_object_open(w);
    json_write_key(w, "jsonrpc");
    json_write_string(w, SPAN_LITERAL("2.0"));
    json_write_key(w, "id");
    json_write_raw(w, span_is_absent(id) ? SPAN_LITERAL("null") : id);
}

int mcp_write_result(struct buffer *out, struct span id, struct span result)
{
    struct json_writer w;
    open_envelope(&w, out, id);
    json_write_key(&w, "result");
    json_write_raw(&w, result);
    json_object_close(&w);
    return json_writer_finish(&w);
}

int mcp_write_error(struct buffer *out, struct span id, int code, struct span text,
                    struct span data)
{
    struct json_writer w;
    open_envelope(&w, out, id);
    json_write_key(&w, "error");
    json_object_open(&w);
    json_write_member_i64(&w, "code", code);
    json_write_member(&w, "message", text);
    if (!span_is_absent(data)) {
        json_write_key(&w, "data");
        json_write_raw(&w, data);
    }
    json_object_close(&w);
    json_object_close(&w);
    return json_writer_finish(&w);
}

int mcp_write_tool_error(struct buffer *out, struct span id, enum mcp_era era, struct span text)
{
    struct json_writer w;
    open_envelope(&w, out, id);
    json_write_key(&w, "result");
    json_object_open(&w);
    if (era == MCP_ERA_MODERN)
        json_write_member_string(&w, "resultType", "complete");
    json_write_key(&w, "content");
    json_array_open(&w);
    json_object_open(&w);
    json_write_member_string(&w, "type", "text");
    json_write_member(&w, "text", text);
    json_object_close(&w);
    json_array_close(&w);
    json_write_member_bool(&w, "isError", true);
    json_object_close(&w);
    json_object_close(&w);
    return json_writer_finish(&w);
}

int mcp_refusal_set(struct mcp_refusal *r, int status, int code, struct span id, const char *format,
                    ...)
{
    *r = (struct mcp_refusal){.status = status, .code = code, .id = id};
    va_list args;
    va_start(args, format);
    vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
    return status == 404 ? FAULT_NOT_FOUND : FAULT_REQUEST;
}

static int write_versions(const struct mcp_refusal *r, struct buffer *data)
{
    struct json_writer w;
    json_writer_init(&w, data);
    int fault = buffer_append_string(data, "{\"supported\":");
    if (fault == 0)
        fault = mcp_revisions_write(r->supported_eras, data);
    if (fault == 0)
        fault = buffer_append_string(data, ",\"requested\":");
    if (fault != 0)
        return fault;
    json_write_string(&w, span_slice(r->requested, 0, 128));
    fault = json_writer_finish(&w);
    return fault != 0 ? fault : buffer_append_char(data, '}');
}

int mcp_refusal_write(const struct mcp_refusal *r, struct buffer *out)
{
    struct span text = span_from_string(r->text);
    if (r->supported_eras == 0)
        return mcp_write_error(out, r->id, r->code, text, SPAN_NONE);
    struct buffer data;
    buffer_init(&data, 2048);
    int fault = write_versions(r, &data);
    if (fault == 0)
        fault = mcp_write_error(out, r->id, r->code, text, buffer_span(&data));
    buffer_fini(&data);
    return fault;
}
