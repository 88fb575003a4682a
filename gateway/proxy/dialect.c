// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/dialect.h"

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"

// Clients that talk to the models of one provider only.
static const struct {
    const char *client, *provider;
} clients[] = {
    {"gemini-cli-mcp-client", "gemini-json"},
    {"claude-code", "anthropic"},
    {"claude-ai", "anthropic"},
    {"Anthropic/ClaudeAI", "anthropic"},
    {"codex-mcp-client", "openai"},
    {"openai-mcp", "openai"},
};

const struct provider *dialect_of_client(const struct json *doc, int client_info)
{
    struct span name;
    if (!json_string_plain(doc, json_get(doc, client_info, "name"), &name))
        return NULL;
    for (size_t i = 0; i < ARRAY_COUNT(clients); i++)
        if (span_equals_nocase(name, span_from_string(clients[i].client)))
            return provider_find(span_from_string(clients[i].provider));
    return NULL;
}

static int refuse(struct span name, const char *source, struct failure *why)
{
    char known[320] = "none";
    size_t size = strlen(known);
    for (size_t i = 0; provider_list[i] != NULL; i++) {
        size_t more = strlen(provider_list[i]->name);
        if (size + more + 3 > sizeof known)
            break;
        memcpy(known + size, ", ", 2);
        memcpy(known + size + 2, provider_list[i]->name, more + 1);
        size += more + 2;
    }
    if (name.size > 40)
        name.size = 40;
    return failure_set(why, FAULT_INVALID, "%s names an unknown provider \"%.*s\"; known: %s",
                       source, SPAN_ARGS(name), known);
}

int dialect_choose(const struct dialect_sources *sources, const struct provider **out,
                   struct failure *why)
{
    const struct {
        struct span name;
        const char *source;
    } said[] = {
        {query_value(sources->query, "provider"), "the URL"},
        {sources->header, "x-wrist-provider"},
        {sources->token, "the token"},
        {sources->profile, "the profile"},
        {sources->client, "the session"},
    };
    *out = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(said); i++) {
        if (said[i].name.size == 0)
            continue;
        if (span_is(said[i].name, "none"))
            return 0;
        *out = provider_find(said[i].name);
        return *out != NULL ? 0 : refuse(said[i].name, said[i].source, why);
    }
    return 0;
}
