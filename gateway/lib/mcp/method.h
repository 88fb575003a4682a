// SPDX-License-Identifier: Apache-2.0
//
// The methods a client may send, per era. An unknown method is no error here: servers may have
// more.
#ifndef WRIST_GATEWAY_LIB_MCP_METHOD_H
#define WRIST_GATEWAY_LIB_MCP_METHOD_H

#include "gateway/lib/base/span.h"
#include "gateway/lib/mcp/revision.h"

// name, text, eras as a request, eras as a notification, the member of params that names its object
// (mirrored in Mcp-Name by modern clients)
#define MCP_METHOD_TABLE(X)                                                                        \
    X(INITIALIZE, "initialize", 1, 0, NULL)                                                        \
    X(DISCOVER, "server/discover", 2, 0, NULL)                                                     \
    X(PING, "ping", 1, 0, NULL)                                                                    \
    X(TOOLS_LIST, "tools/list", 3, 0, NULL)                                                        \
    X(TOOLS_CALL, "tools/call", 3, 0, "name")                                                      \
    X(RESOURCES_LIST, "resources/list", 3, 0, NULL)                                                \
    X(RESOURCE_TEMPLATES_LIST, "resources/templates/list", 3, 0, NULL)                             \
    X(RESOURCES_READ, "resources/read", 3, 0, "uri")                                               \
    X(RESOURCES_SUBSCRIBE, "resources/subscribe", 1, 0, NULL)                                      \
    X(RESOURCES_UNSUBSCRIBE, "resources/unsubscribe", 1, 0, NULL)                                  \
    X(PROMPTS_LIST, "prompts/list", 3, 0, NULL)                                                    \
    X(PROMPTS_GET, "prompts/get", 3, 0, "name")                                                    \
    X(COMPLETE, "completion/complete", 3, 0, NULL)                                                 \
    X(SET_LEVEL, "logging/setLevel", 1, 0, NULL)                                                   \
    X(LISTEN, "subscriptions/listen", 2, 0, NULL)                                                  \
    X(TASKS_GET, "tasks/get", 3, 0, "taskId")                                                      \
    X(TASKS_UPDATE, "tasks/update", 2, 0, "taskId")                                                \
    X(TASKS_CANCEL, "tasks/cancel", 3, 0, "taskId")                                                \
    X(TASKS_RESULT, "tasks/result", 1, 0, NULL)                                                    \
    X(TASKS_LIST, "tasks/list", 1, 0, NULL)                                                        \
    X(INITIALIZED, "notifications/initialized", 0, 1, NULL)                                        \
    X(CANCELLED, "notifications/cancelled", 0, 3, NULL)                                            \
    X(PROGRESS, "notifications/progress", 0, 1, NULL)                                              \
    X(ROOTS_CHANGED, "notifications/roots/list_changed", 0, 1, NULL)                               \
    X(TASKS_STATUS, "notifications/tasks/status", 0, 1, NULL)

enum mcp_method {
    MCP_METHOD_UNKNOWN,
#define X(name, text, request, notification, key) MCP_METHOD_##name,
    MCP_METHOD_TABLE(X)
#undef X
        MCP_METHOD_COUNT
};

enum mcp_method mcp_method_from(struct span text);
const char *mcp_method_text(enum mcp_method m);     // "unknown" for UNKNOWN: fit for metrics
const char *mcp_method_name_key(enum mcp_method m); // NULL where it has none

#endif
