// SPDX-License-Identifier: Apache-2.0
//
// Groups of keywords that several providers share, for `.keeps` and `.rejects`.
#ifndef WRIST_SCHEMAS_PROVIDERS_SETS_H
#define WRIST_SCHEMAS_PROVIDERS_SETS_H

#include "schemas/provider.h"

#define SET_BASIC                                                                                  \
    [KW_TYPE] = 1, [KW_DESCRIPTION] = 1, [KW_ENUM] = 1, [KW_PROPERTIES] = 1, [KW_REQUIRED] = 1,    \
    [KW_ITEMS] = 1, [KW_ANY_OF] = 1
#define SET_REFS           [KW_REF] = 1, [KW_DEFS] = 1
#define SET_RANGE          [KW_MINIMUM] = 1, [KW_MAXIMUM] = 1
#define SET_EXCLUSIVE      [KW_EXCLUSIVE_MINIMUM] = 1, [KW_EXCLUSIVE_MAXIMUM] = 1, [KW_MULTIPLE_OF] = 1
#define SET_LENGTH         [KW_MIN_LENGTH] = 1, [KW_MAX_LENGTH] = 1
#define SET_ITEM_COUNT     [KW_MIN_ITEMS] = 1, [KW_MAX_ITEMS] = 1
#define SET_PROPERTY_COUNT [KW_MIN_PROPERTIES] = 1, [KW_MAX_PROPERTIES] = 1
#define SET_CONDITIONS                                                                             \
    [KW_NOT] = 1, [KW_IF] = 1, [KW_THEN] = 1, [KW_ELSE] = 1, [KW_DEPENDENT_REQUIRED] = 1,          \
    [KW_DEPENDENT_SCHEMAS] = 1, [KW_PATTERN_PROPERTIES] = 1, [KW_PROPERTY_NAMES] = 1,              \
    [KW_UNEVALUATED_PROPERTIES] = 1, [KW_UNEVALUATED_ITEMS] = 1, [KW_CONTAINS] = 1,                \
    [KW_MIN_CONTAINS] = 1, [KW_MAX_CONTAINS] = 1
#define SET_CONTENT [KW_CONTENT_ENCODING] = 1, [KW_CONTENT_MEDIA_TYPE] = 1
#define SET_MARKS   [KW_DEPRECATED] = 1, [KW_READ_ONLY] = 1, [KW_WRITE_ONLY] = 1, [KW_EXAMPLES] = 1

// JSON Schema 2020-12 without loss.
#define SET_FULL SET_REFS, SET_FULL_BUT_REFS
#define SET_FULL_BUT_REFS                                                                          \
    SET_BASIC, SET_RANGE, SET_EXCLUSIVE, SET_LENGTH, SET_ITEM_COUNT, SET_PROPERTY_COUNT,           \
        SET_CONDITIONS, SET_CONTENT,                                                               \
        SET_MARKS, [KW_CONST] = 1, [KW_ONE_OF] = 1, [KW_ALL_OF] = 1,                               \
                   [KW_ADDITIONAL_PROPERTIES] = 1, [KW_PREFIX_ITEMS] = 1, [KW_UNIQUE_ITEMS] = 1,   \
                   [KW_PATTERN] = 1, [KW_FORMAT] = 1, [KW_TITLE] = 1, [KW_DEFAULT] = 1

#define NAMES_PLAIN                                                                                \
    {                                                                                              \
        .symbols = "_-", .longest = 64                                                             \
    }

#endif
