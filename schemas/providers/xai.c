// SPDX-License-Identifier: Apache-2.0
// xAI: its tools follow the rules of structured outputs. Objects are closed unless they say
// otherwise; no recursion.
#include "schemas/providers/sets.h"

const struct provider provider_xai = {
    .name = "xai",
    .keeps = {SET_BASIC, SET_REFS, SET_RANGE, SET_EXCLUSIVE, SET_LENGTH, SET_ITEM_COUNT,
              SET_PROPERTY_COUNT, [KW_CONST] = 1, [KW_PREFIX_ITEMS] = 1, [KW_PATTERN] = 1,
              [KW_ADDITIONAL_PROPERTIES] = 1, [KW_FORMAT] = 1, [KW_TITLE] = 1, [KW_DEFAULT] = 1},
    .rejects = {[KW_MIN_CONTAINS] = 1, [KW_MAX_CONTAINS] = 1},
    .refs = REFS_BARE,
    .recursion = RECURSION_UNROLL,
    .pattern_style = PATTERN_SIMPLE,
    .type_lists = true,
    .map_values = true,
    .free_form_open = true,
    .names = NAMES_PLAIN,
    .tools_most = 200,
};
