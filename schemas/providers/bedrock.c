// SPDX-License-Identifier: Apache-2.0
// Bedrock Converse: Anthropic's rules, and integers are 64 bits.
#include "schemas/providers/sets.h"

const struct provider provider_bedrock = {
    .name = "bedrock",
    .keeps = {SET_FULL},
    .refs = REFS_SIBLINGS,
    .type_lists = true,
    .map_values = true,
    .boolean_schemas = true,
    .property_keys = true,
    .int64_bounds = true,
    .names = NAMES_PLAIN,
};
