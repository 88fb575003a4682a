// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/mcp/method.h"

static const struct {
    struct span text;
    unsigned request, notification;
    const char *key;
} methods[MCP_METHOD_COUNT] = {[MCP_METHOD_UNKNOWN] = {{"unknown", 7}, 0, 0, NULL},
#define X(name, text, request, notification, key)                                                  \
    [MCP_METHOD_##name] = {{text, sizeof(text) - 1}, request, notification, key},
                               MCP_METHOD_TABLE(X)
#undef X
};

enum mcp_method mcp_method_from(struct span text)
{
    for (int m = MCP_METHOD_UNKNOWN + 1; m < MCP_METHOD_COUNT; m++) {
        if (span_equals(text, methods[m].text))
            return (enum mcp_method)m;
    }
    return MCP_METHOD_UNKNOWN;
}

const char *mcp_method_text(enum mcp_method m)
{
    return methods[m].text.data;
}

const char *mcp_method_name_key(enum mcp_method m)
{
    return methods[m].key;
}
