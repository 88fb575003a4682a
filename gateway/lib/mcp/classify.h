// SPDX-License-Identifier: Apache-2.0
//
// What a POST to an MCP URL is, of which era, and whether its shape and headers agree. The order of
// the checks is the protocol's (wire reference §3.5, §8.1): shape, era, _meta, headers, version.
// Sessions and authorisation come after it and are the caller's.
#ifndef WRIST_GATEWAY_LIB_MCP_CLASSIFY_H
#define WRIST_GATEWAY_LIB_MCP_CLASSIFY_H

#include "gateway/lib/mcp/envelope.h"
#include "gateway/lib/mcp/message.h"

enum { MCP_BATCH_MAX = 100 };

struct mcp_headers {
    struct span version; // MCP-Protocol-Version; absent where it was not sent
    struct span method;  // Mcp-Method
    struct span name;    // Mcp-Name, as sent
};

struct mcp_context {
    unsigned eras;                      // that are served here: bits of enum mcp_era
    bool session_known;                 // the request carries a session id that is ours
    enum mcp_revision session_revision; // negotiated by it; UNKNOWN where it is not known
};

struct mcp_request {
    enum mcp_era era;
    enum mcp_revision revision; // of this request
    bool is_batch;
    size_t count;                 // 1, or the batch's length
    size_t requests;              // how many of them want an answer
    struct mcp_message *messages; // in the arena
};

// 0, or a fault with *refusal filled; refusal->id then is the request's where that was legible.
int mcp_classify(const struct json *doc, const struct mcp_headers *headers,
                 const struct mcp_context *context, struct arena *arena, struct mcp_request *out,
                 struct mcp_refusal *refusal);

#endif
