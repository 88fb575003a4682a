// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/mcp_routes.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/mcp/envelope.h"
#include "gateway/proxy/visit.h"

// clang-format off
#define MCP_VERBS {{"POST", mcp_post_enter}, {"GET", mcp_get_enter}, {"DELETE", mcp_delete_enter}}
// clang-format on

const struct route mcp_routes[] = {
    {"mcp", "/mcp", MCP_VERBS},
    {"mcp_profile", "/mcp/{profile}", MCP_VERBS},
    {"mcp_sandbox", "/s/{handle}/mcp", MCP_VERBS},
};
const size_t mcp_route_count = ARRAY_COUNT(mcp_routes);

void mcp_answer_error(struct visit *v, int status, int code, const char *text)
{
    struct http_header headers[] = {
        {SPAN_LITERAL("content-type"), SPAN_LITERAL("application/json")},
        {SPAN_LITERAL("allow"), SPAN_LITERAL("POST")},
    };
    struct buffer body;
    buffer_init(&body, 4096);
    if (mcp_write_error(&body, SPAN_NONE, code, span_from_string(text), SPAN_NONE) != 0)
        buffer_clear(&body);
    visit_respond(v, status, headers, status == 405 ? 2 : 1, buffer_span(&body));
    buffer_fini(&body);
}
