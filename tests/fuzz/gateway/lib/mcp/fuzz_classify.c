// SPDX-License-Identifier: Apache-2.0
// Input: one byte of flags, a version header up to the first line feed, then the body.
#include <assert.h>

#include "gateway/lib/mcp/classify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct json *doc, struct span version, uint8_t flags)
{
    struct mcp_headers headers = {.version = version.size > 0 ? version : SPAN_NONE};
    if (flags & 8)
        headers.method = headers.name = SPAN_LITERAL("tools/call");
    struct mcp_context context = {
        .eras = flags & 1 ? MCP_ERA_LEGACY : MCP_ERA_LEGACY | MCP_ERA_MODERN,
        .session_known = (flags & 2) != 0,
        .session_revision = flags & 4 ? MCP_REVISION_2025_03_26 : MCP_REVISION_UNKNOWN,
    };
    struct arena *arena = arena_new(1 << 20);
    struct buffer out;
    buffer_init(&out, 1 << 16);
    struct mcp_request request;
    struct mcp_refusal refusal = {0};
    if (mcp_classify(doc, &headers, &context, arena, &request, &refusal) != 0) {
        assert(refusal.status >= 200 && refusal.status < 500 && refusal.code != 0);
        struct json *answer;
        assert(mcp_refusal_write(&refusal, &out) == 0);
        assert(json_parse(buffer_span(&out), &json_limits_default, &answer, NULL) == 0);
        json_free(answer);
    } else {
        assert(request.count >= 1 && request.count <= MCP_BATCH_MAX);
        assert(request.requests <= request.count);
    }
    buffer_fini(&out);
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct span body = span_of(data + 1, size - 1);
    struct span version = span_split(&body, '\n');
    struct json_limits limits = {.bytes = 1 << 16, .tokens = 1 << 14, .depth = 64};
    struct json *doc;
    if (span_is_absent(body) || json_parse(body, &limits, &doc, NULL) != 0)
        return 0;
    check(doc, version, data[0]);
    json_free(doc);
    return 0;
}
