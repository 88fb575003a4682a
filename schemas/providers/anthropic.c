// SPDX-License-Identifier: Apache-2.0
// Anthropic: valid 2020-12, a plain object at the root, and plain keys of its properties.
#include "schemas/providers/sets.h"

const struct provider provider_anthropic = {
    .name = "anthropic",
    .keeps = {SET_FULL},
    .refs = REFS_SIBLINGS,
    .type_lists = true,
    .map_values = true,
    .boolean_schemas = true,
    .property_keys = true,
    .names = NAMES_PLAIN,
};
