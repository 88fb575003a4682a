// SPDX-License-Identifier: Apache-2.0
// llama.cpp makes a grammar of the schemas; one that it cannot read takes all tools down.
#include "schemas/providers/sets.h"

const struct provider provider_llamacpp = {
    .name = "llamacpp",
    .keeps = {SET_BASIC, SET_REFS, SET_RANGE, SET_LENGTH,
              SET_ITEM_COUNT, [KW_CONST] = 1, [KW_PREFIX_ITEMS] = 1, [KW_ADDITIONAL_PROPERTIES] = 1,
              [KW_PATTERN] = 1, [KW_TITLE] = 1, [KW_DEFAULT] = 1, [KW_FORMAT] = 1},
    .refs = REFS_BARE,
    .pattern_style = PATTERN_ANCHORED,
    .untyped = UNTYPED_BARE,
    .type_lists = true,
    .union_alone = true,
    .map_values = true,
    .plain_ref_names = true,
    .lax = true,
    .names = NAMES_PLAIN,
};
