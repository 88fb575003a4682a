// SPDX-License-Identifier: Apache-2.0
// Groq: as OpenAI, but "required" without "properties" is an error.
#include "schemas/providers/sets.h"

const struct provider provider_groq = {
    .name = "groq",
    .keeps = {SET_FULL},
    .refs = REFS_SIBLINGS,
    .type_lists = true,
    .map_values = true,
    .boolean_schemas = true,
    .array_needs_items = true,
    .properties_beside_required = true,
    .names = {.symbols = "_-", .longest = 64},
    .tools_most = 128,
};
