// SPDX-License-Identifier: Apache-2.0
// The MCP endpoints: /mcp, /mcp/{profile}, /s/{handle}/mcp.
#ifndef WRIST_GATEWAY_PROXY_MCP_ROUTES_H
#define WRIST_GATEWAY_PROXY_MCP_ROUTES_H

#include "gateway/proxy/route.h"

struct proxy;

extern const struct route mcp_routes[];
extern const size_t mcp_route_count;

// The verbs, a file each.
void mcp_post_enter(struct visit *v);
void mcp_get_enter(struct visit *v);
void mcp_delete_enter(struct visit *v);
void mcp_post_end_all(struct proxy *p); // also of clients that left; the calls go on in the workers

// An answer without JSON-RPC id, as GET and DELETE give: status, code and text.
void mcp_answer_error(struct visit *v, int status, int code, const char *text);
#define MCP_SESSION_NOT_FOUND "Session not found"
#define MCP_SANDBOX_GONE                                                                           \
    "The sandbox that this URL names is gone; nothing ran. Make a new one by POST /v1/sandboxes "  \
    "and use its MCP URL."

#endif
