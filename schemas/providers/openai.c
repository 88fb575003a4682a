// SPDX-License-Identifier: Apache-2.0
// OpenAI function calling without strict: JSON Schema 2020-12, meta-validated.
#include "schemas/providers/sets.h"

const struct provider provider_openai = {
    .name = "openai",
    .keeps = {SET_FULL},
    .refs = REFS_SIBLINGS,
    .pattern_style = PATTERN_NO_LOOK,
    .type_lists = true,
    .map_values = true,
    .boolean_schemas = true,
    .array_needs_items = true,
    .names = NAMES_PLAIN,
    .tools_most = 128,
    .description_most = 1024,
};
