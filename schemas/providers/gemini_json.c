// SPDX-License-Identifier: Apache-2.0
// Gemini's `parametersJsonSchema`: a part of JSON Schema, references with nothing beside them.
#include "schemas/providers/sets.h"

const struct provider provider_gemini_json = {
    .name = "gemini-json",
    .keeps = {SET_BASIC, SET_REFS, SET_RANGE, SET_LENGTH, SET_ITEM_COUNT, [KW_TITLE] = 1,
              [KW_FORMAT] = 1, [KW_PATTERN] = 1, [KW_PREFIX_ITEMS] = 1, [KW_UNIQUE_ITEMS] = 1,
              [KW_ADDITIONAL_PROPERTIES] = 1, [KW_DEFAULT] = 1, [KW_PROPERTY_ORDERING] = 1},
    .refs = REFS_BARE,
    .recursion = RECURSION_UNROLL,
    .type_lists = true,
    .map_values = true,
    .known_required = true,
    .plain_results = true,
    .inline_in_maps = true,
    .names = {.letter_first = true, .symbols = "_.:-", .longest = 64},
    .tools_most = 128,
};
