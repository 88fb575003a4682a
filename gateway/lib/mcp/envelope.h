// SPDX-License-Identifier: Apache-2.0
//
// Answers: results and errors around raw ids, and which HTTP status an error code has in which era
// (wire reference §5).
#ifndef WRIST_GATEWAY_LIB_MCP_ENVELOPE_H
#define WRIST_GATEWAY_LIB_MCP_ENVELOPE_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/mcp/revision.h"

// name, code, HTTP status in the modern era, in the legacy era
#define MCP_ERROR_TABLE(X)                                                                         \
    X(PARSE, -32700, 400, 400)                                                                     \
    X(REQUEST, -32600, 400, 400)                                                                   \
    X(METHOD, -32601, 404, 200)                                                                    \
    X(PARAMS, -32602, 200, 200) /* 400 where _meta is incomplete: the refusal says so */           \
    X(INTERNAL, -32603, 200, 200)                                                                  \
    X(HEADERS, -32020, 400, 400)                                                                   \
    X(CAPABILITY, -32021, 400, 400)                                                                \
    X(VERSION, -32022, 400, 400)                                                                   \
    X(LEGACY, -32000, 400, 400)    /* refused before dispatch; the status says why */              \
    X(SESSION, -32001, 404, 404)   /* legacy: no such session */                                   \
    X(RESOURCE, -32002, 200, 200)  /* legacy: no such resource */                                  \
    X(SANDBOX, 4040, 404, 404)     /* ours: the handle in the URL names no sandbox any more */     \
    X(LOST, 5020, 200, 200)        /* ours: the sandbox went away under a call */                  \
    X(CONFLICT, 4090, 409, 409)    /* ours: another sandbox has the volume */                      \
    X(LIMIT, 4290, 429, 429)       /* ours: a quota is used up */                                  \
    X(UNAVAILABLE, 5030, 503, 503) /* ours: no sandbox can be had now */

enum mcp_error {
#define X(name, code, modern, legacy) MCP_ERROR_##name = (code),
    MCP_ERROR_TABLE(X)
#undef X
};
int mcp_error_status(int code, enum mcp_era era); // 200 for codes that are not in the table

// `id` is a raw token; absent is written as null.
int mcp_write_result(struct buffer *out, struct span id, struct span result);
// data: raw JSON, absent for none.
int mcp_write_error(struct buffer *out, struct span id, int code, struct span text,
                    struct span data);
// A tools/call result with isError true and one text.
int mcp_write_tool_error(struct buffer *out, struct span id, enum mcp_era era, struct span text);

// A request that is refused before anything ran. Borrows what the request lies in.
struct mcp_refusal {
    int status; // HTTP
    int code;
    struct span id; // raw; absent: null
    char text[256];
    unsigned supported_eras; // not 0: data.supported lists their versions
    struct span requested;   // with it: data.requested, raw text of the version
};
int mcp_refusal_set(struct mcp_refusal *r, int status, int code, struct span id, const char *format,
                    ...) __attribute__((format(printf, 5, 6)));
int mcp_refusal_write(const struct mcp_refusal *r, struct buffer *out);

#endif
