// SPDX-License-Identifier: Apache-2.0
// OpenAI strict and structured outputs: closed objects, every property required.
#include "schemas/providers/sets.h"

static const char *const formats[] = {"date-time", "time", "date", "duration", "email",
                                      "hostname",  "ipv4", "ipv6", "uuid",     NULL};

extern const struct provider provider_openai;

const struct provider provider_openai_strict = {
    .otherwise = &provider_openai,
    .name = "openai-strict",
    .keeps = {SET_BASIC, SET_REFS, SET_RANGE, SET_EXCLUSIVE, SET_ITEM_COUNT, [KW_CONST] = 1,
              [KW_ADDITIONAL_PROPERTIES] = 1, [KW_TITLE] = 1, [KW_FORMAT] = 1, [KW_PATTERN] = 1},
    .rejects = {SET_LENGTH, SET_PROPERTY_COUNT,
                SET_CONDITIONS, [KW_ONE_OF] = 1, [KW_ALL_OF] = 1, [KW_UNIQUE_ITEMS] = 1,
                [KW_PREFIX_ITEMS] = 1, [KW_DEFAULT] = 1, [KW_EXAMPLES] = 1, [KW_NULLABLE] = 1},
    .refs = REFS_BARE,
    .pattern_style = PATTERN_NO_LOOK,
    .untyped = UNTYPED_REFUSED,
    .type_lists = true,
    .union_alone = true,
    .strict = true,
    .all_required = true,
    .known_required = true,
    .array_needs_items = true,
    .formats = formats,
    .depth = 10,
    .properties_most = 5000,
    .enum_most = 1000,
    .text_most = 120000,
    .names = NAMES_PLAIN,
    .tools_most = 128,
    .description_most = 1024,
};
