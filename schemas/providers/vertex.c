// SPDX-License-Identifier: Apache-2.0
// Vertex AI's `parameters`: as Gemini's, but anyOf must be the only field set.
#include "schemas/providers/sets.h"

static const char *const formats[] = {"date-time", "enum", NULL};

const struct provider provider_vertex = {
    .name = "vertex",
    .keeps = {SET_BASIC, SET_RANGE, SET_LENGTH, SET_ITEM_COUNT,
              SET_PROPERTY_COUNT, [KW_NULLABLE] = 1, [KW_TITLE] = 1, [KW_FORMAT] = 1,
              [KW_PATTERN] = 1, [KW_DEFAULT] = 1, [KW_EXAMPLE] = 1, [KW_PROPERTY_ORDERING] = 1},
    .refs = REFS_INLINE,
    .recursion = RECURSION_UNROLL,
    .null_style = NULL_FLAG,
    .enum_style = ENUM_STRINGS,
    .untyped = UNTYPED_UNION,
    .union_alone = true,
    .union_bare = true,
    .known_required = true,
    .plain_results = true,
    .array_needs_items = true,
    .filled_objects = true,
    .formats = formats,
    .number_formats = true,
    .int64_bounds = true,
    .depth = 32,
    .only_kept = true,
    .names = {.letter_first = true, .symbols = "_.:-", .longest = 64},
    .tools_most = 128,
};
