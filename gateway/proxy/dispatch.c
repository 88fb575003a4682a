// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/dispatch.h"

static const struct dispatch legacy[MCP_METHOD_COUNT] = {
    [MCP_METHOD_INITIALIZE] = {HANDLE_INITIALIZE, NULL, NULL},
    [MCP_METHOD_PING] = {HANDLE_PING, NULL, NULL},
    [MCP_METHOD_TOOLS_LIST] = {HANDLE_LIST, "tools", NULL},
    [MCP_METHOD_RESOURCES_LIST] = {HANDLE_LIST, "resources", NULL},
    [MCP_METHOD_RESOURCE_TEMPLATES_LIST] = {HANDLE_LIST, "resourceTemplates", NULL},
    [MCP_METHOD_PROMPTS_LIST] = {HANDLE_LIST, "prompts", NULL},
    [MCP_METHOD_TOOLS_CALL] = {HANDLE_SANDBOX, NULL, NULL},
    [MCP_METHOD_RESOURCES_READ] = {HANDLE_SANDBOX, NULL, "resources"},
    [MCP_METHOD_RESOURCES_SUBSCRIBE] = {HANDLE_SANDBOX, NULL, "resources"},
    [MCP_METHOD_RESOURCES_UNSUBSCRIBE] = {HANDLE_SANDBOX, NULL, "resources"},
    [MCP_METHOD_PROMPTS_GET] = {HANDLE_SANDBOX, NULL, "prompts"},
    [MCP_METHOD_COMPLETE] = {HANDLE_SANDBOX, NULL, "completions"},
    [MCP_METHOD_SET_LEVEL] = {HANDLE_SANDBOX, NULL, "logging"},
    [MCP_METHOD_TASKS_GET] = {HANDLE_SANDBOX, NULL, "tasks"},
    [MCP_METHOD_TASKS_RESULT] = {HANDLE_SANDBOX, NULL, "tasks"},
    [MCP_METHOD_TASKS_LIST] = {HANDLE_SANDBOX, NULL, "tasks"},
    [MCP_METHOD_TASKS_CANCEL] = {HANDLE_SANDBOX, NULL, "tasks"},
};

static const struct dispatch modern[MCP_METHOD_COUNT] = {
    [MCP_METHOD_DISCOVER] = {HANDLE_DISCOVER, NULL, NULL},
    [MCP_METHOD_TOOLS_LIST] = {HANDLE_LIST, "tools", NULL},
    [MCP_METHOD_RESOURCES_LIST] = {HANDLE_LIST, "resources", NULL},
    [MCP_METHOD_RESOURCE_TEMPLATES_LIST] = {HANDLE_LIST, "resourceTemplates", NULL},
    [MCP_METHOD_PROMPTS_LIST] = {HANDLE_LIST, "prompts", NULL},
    [MCP_METHOD_TOOLS_CALL] = {HANDLE_SANDBOX, NULL, NULL},
    [MCP_METHOD_RESOURCES_READ] = {HANDLE_SANDBOX, NULL, "resources"},
    [MCP_METHOD_PROMPTS_GET] = {HANDLE_SANDBOX, NULL, "prompts"},
    [MCP_METHOD_COMPLETE] = {HANDLE_SANDBOX, NULL, "completions"},
    [MCP_METHOD_LISTEN] = {HANDLE_LISTEN, NULL, NULL},
};

static const struct dispatch *const tables[] = {
    [MCP_ERA_LEGACY] = legacy,
    [MCP_ERA_MODERN] = modern,
};
const unsigned dispatch_eras = MCP_ERA_LEGACY | MCP_ERA_MODERN;

const struct dispatch *dispatch_find(enum mcp_era era, enum mcp_method method)
{
    return &tables[era][method];
}
