// SPDX-License-Identifier: Apache-2.0
// Anthropic with strict tools: closed objects, no recursion, few constraints, limits a request.
#include "schemas/providers/sets.h"

static const char *const formats[] = {"date-time", "time", "date", "duration", "email", "hostname",
                                      "uri",       "ipv4", "ipv6", "uuid",     NULL};

extern const struct provider provider_anthropic;

const struct provider provider_anthropic_strict = {
    .otherwise = &provider_anthropic,
    .name = "anthropic-strict",
    .keeps = {SET_BASIC, SET_REFS, [KW_CONST] = 1, [KW_ADDITIONAL_PROPERTIES] = 1, [KW_TITLE] = 1,
              [KW_FORMAT] = 1, [KW_PATTERN] = 1, [KW_DEFAULT] = 1, [KW_MIN_ITEMS] = 1},
    .rejects = {SET_RANGE, SET_EXCLUSIVE, SET_LENGTH, SET_PROPERTY_COUNT,
                SET_CONDITIONS, [KW_ONE_OF] = 1, [KW_ALL_OF] = 1, [KW_MAX_ITEMS] = 1,
                [KW_UNIQUE_ITEMS] = 1, [KW_PREFIX_ITEMS] = 1},
    .refs = REFS_BARE,
    .recursion = RECURSION_REFUSE,
    .enum_style = ENUM_SCALARS,
    .pattern_style = PATTERN_SIMPLE,
    .untyped = UNTYPED_REFUSED,
    .type_lists = true,
    .union_alone = true,
    .strict = true,
    .known_required = true,
    .property_keys = true,
    .formats = formats,
    .min_items_most = 1,
    .optional_most = 24,
    .unions_most = 16,
    .names = NAMES_PLAIN,
    .tools_most = 20,
};
