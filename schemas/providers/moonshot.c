// SPDX-License-Identifier: Apache-2.0
// Moonshot's MFJS: every node typed, unions stand alone, few constraints.
#include "schemas/providers/sets.h"

const struct provider provider_moonshot = {
    .name = "moonshot",
    .keeps = {SET_BASIC, SET_REFS, SET_RANGE, SET_LENGTH,
              SET_ITEM_COUNT, [KW_DEFAULT] = 1, [KW_ADDITIONAL_PROPERTIES] = 1},
    .rejects = {SET_EXCLUSIVE, SET_CONDITIONS, SET_CONTENT,
                SET_PROPERTY_COUNT, [KW_CONST] = 1, [KW_ONE_OF] = 1, [KW_ALL_OF] = 1,
                [KW_FORMAT] = 1, [KW_PATTERN] = 1, [KW_PREFIX_ITEMS] = 1, [KW_UNIQUE_ITEMS] = 1,
                [KW_NULLABLE] = 1, [KW_DEFINITIONS] = 1, [KW_EXAMPLES] = 1, [KW_DEPRECATED] = 1},
    .refs = REFS_BARE,
    .refs_to_defs = true,
    .enum_style = ENUM_ONE_TYPE,
    .untyped = UNTYPED_UNION,
    .union_alone = true,
    .union_described = true,
    .known_required = true,
    .map_values = true,
    .depth = 30,
    .array_needs_items = true,
    .properties_most = 3000,
    .enum_most = 1000,
    .text_most = 120000,
    .names = {.letter_first = true, .symbols = "_-", .longest = 64},
    .tools_most = 128,
};
