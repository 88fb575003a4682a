// SPDX-License-Identifier: Apache-2.0
#include "schemas/provider.h"

#define EACH_PROVIDER(X)                                                                           \
    X(gemini)                                                                                      \
    X(gemini_json)                                                                                 \
    X(vertex)                                                                                      \
    X(openai)                                                                                      \
    X(openai_strict)                                                                               \
    X(anthropic)                                                                                   \
    X(anthropic_strict)                                                                            \
    X(bedrock)                                                                                     \
    X(bedrock_strict)                                                                              \
    X(bedrock_nova)                                                                                \
    X(mistral)                                                                                     \
    X(groq)                                                                                        \
    X(deepseek_strict)                                                                             \
    X(xai)                                                                                         \
    X(moonshot)                                                                                    \
    X(ollama)                                                                                      \
    X(llamacpp)

#define X(name) extern const struct provider provider_##name;
EACH_PROVIDER(X)
#undef X

const struct provider *const provider_list[] = {
#define X(name) &provider_##name,
    EACH_PROVIDER(X)
#undef X
        NULL,
};

const struct provider *provider_find(struct span name)
{
    for (size_t i = 0; provider_list[i] != NULL; i++)
        if (span_is(name, provider_list[i]->name))
            return provider_list[i];
    return NULL;
}
