// SPDX-License-Identifier: Apache-2.0
//
// The protocol's revisions and their two families. Legacy ones have a handshake and sessions;
// modern ones carry everything in each request.
#ifndef WRIST_GATEWAY_LIB_MCP_REVISION_H
#define WRIST_GATEWAY_LIB_MCP_REVISION_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/span.h"

enum mcp_era { MCP_ERA_LEGACY = 1, MCP_ERA_MODERN = 2 }; // bits, so that sets can be named

// name, text, era, batches allowed. Oldest first.
#define MCP_REVISION_TABLE(X)                                                                      \
    X(2024_10_07, "2024-10-07", LEGACY, false)                                                     \
    X(2024_11_05, "2024-11-05", LEGACY, false)                                                     \
    X(2025_03_26, "2025-03-26", LEGACY, true)                                                      \
    X(2025_06_18, "2025-06-18", LEGACY, false)                                                     \
    X(2025_11_25, "2025-11-25", LEGACY, false)                                                     \
    X(2026_07_28, "2026-07-28", MODERN, false)

enum mcp_revision {
    MCP_REVISION_UNKNOWN,
#define X(name, text, era, batch) MCP_REVISION_##name,
    MCP_REVISION_TABLE(X)
#undef X
        MCP_REVISION_COUNT
};
enum {
    MCP_REVISION_ASSUMED = MCP_REVISION_2025_03_26,       // of a legacy request without the header
    MCP_REVISION_LATEST_LEGACY = MCP_REVISION_2025_11_25, // offered to who asks for an unknown one
    MCP_REVISION_LATEST_MODERN = MCP_REVISION_2026_07_28,
};

enum mcp_revision mcp_revision_from(struct span text); // UNKNOWN where it is none of them
const char *mcp_revision_text(enum mcp_revision r);    // "" for UNKNOWN
enum mcp_era mcp_revision_era(enum mcp_revision r);    // LEGACY for UNKNOWN
// The answer to `initialize`: a known legacy revision is echoed, anything else gets the latest one.
enum mcp_revision mcp_revision_negotiate(struct span requested);
// A version we may never have heard of, but dated like a modern one.
bool mcp_version_claims_modern(struct span text);
// `["2026-07-28","2025-11-25",…]`, newest first, of the eras in the set.
int mcp_revisions_write(unsigned eras, struct buffer *out);

#endif
