// SPDX-License-Identifier: Apache-2.0
//
// Values of Mcp-Name and Mcp-Param-*: literal, or `=?base64?…?=` around the base64 of UTF-8 where
// the value could not stand in a header as it is (wire reference §3.5).
#ifndef WRIST_GATEWAY_LIB_MCP_HEADER_VALUE_H
#define WRIST_GATEWAY_LIB_MCP_HEADER_VALUE_H

#include "gateway/lib/base/arena.h"
#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"

// Strips white space at both ends, then decodes. FAULT_INVALID on forbidden characters, bad base64,
// bad padding, or bytes that are not UTF-8. A literal is returned as a part of `value`.
int mcp_header_decode(struct span value, struct arena *arena, struct span *out,
                      struct failure *why);
// The form a client would send: literal where it can be, else the sentinel.
int mcp_header_encode(struct span value, struct buffer *out);

#endif
