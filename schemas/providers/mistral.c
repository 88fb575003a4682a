// SPDX-License-Identifier: Apache-2.0
// Mistral: as OpenAI without strict.
#include "schemas/providers/sets.h"

const struct provider provider_mistral = {
    .name = "mistral",
    .keeps = {SET_FULL},
    .refs = REFS_SIBLINGS,
    .type_lists = true,
    .map_values = true,
    .boolean_schemas = true,
    .array_needs_items = true,
    .names = NAMES_PLAIN,
    .tools_most = 128,
};
