// SPDX-License-Identifier: Apache-2.0
//
// One JSON-RPC message, read from a token tree without copying: the spans point into the source
// (or, where a name had escapes, into the arena).
#ifndef WRIST_GATEWAY_LIB_MCP_MESSAGE_H
#define WRIST_GATEWAY_LIB_MCP_MESSAGE_H

#include "gateway/lib/json/json.h"
#include "gateway/lib/mcp/method.h"

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

#define MCP_META_PREFIX "io.modelcontextprotocol/"

enum { MCP_ID_BYTES = 1024, MCP_METHOD_BYTES = 256, MCP_NAME_BYTES = 4096 };

struct mcp_message {
    enum mcp_kind kind;
    int node;       // the message itself
    struct span id; // the raw token ("1", "\"1\""), never touched; absent in a notification
    enum mcp_method method;
    struct span method_text; // unescaped; absent in a response
    int params;              // JSON_NONE where there are none
    int meta;                // params._meta
    int arguments;           // params.arguments
    struct span name;        // params.name, .uri or .taskId, whichever the method has, unescaped
    // The claims of a modern request in _meta; JSON_NONE in a legacy one.
    int claimed_version, client_info, client_capabilities, log_level;
    int progress_token; // also legacy
};

// 0, or FAULT_REQUEST (-32600) or FAULT_INVALID (-32602). out->id is set as soon as it is legible,
// so that the error can echo it. Refused: batches, ids that are neither strings nor integers,
// params that are no object, and every member that routes (jsonrpc, id, method, params, result,
// error, name, uri, taskId, arguments, _meta and the claims in it) when it stands twice, since two
// readers might believe different ones.
int mcp_message_read(const struct json *doc, int node, struct arena *arena, struct mcp_message *out,
                     struct failure *why);

#endif
