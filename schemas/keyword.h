// SPDX-License-Identifier: Apache-2.0
//
// The keywords of JSON Schema, drafts 4 to 2020-12, and of OpenAPI where tools carry it: once, with
// the shape of each one's value. Everything that walks a schema asks this table, so that a property
// called "default" is never taken for a keyword.
#ifndef WRIST_SCHEMAS_KEYWORD_H
#define WRIST_SCHEMAS_KEYWORD_H

#include "gateway/lib/base/span.h"

enum keyword_shape {
    SHAPE_DATA,        // any JSON value, never looked into
    SHAPE_STRING,      // a string
    SHAPE_BOOL,        // true or false
    SHAPE_NUMBER,      // a number
    SHAPE_COUNT,       // a non-negative integer
    SHAPE_NAMES,       // a list of strings
    SHAPE_SCHEMA,      // one schema
    SHAPE_SCHEMA_LIST, // a list of schemas
    SHAPE_SCHEMA_MAP,  // names to schemas
    SHAPE_OTHER,       // its own rule
};

#define KEYWORD_TABLE(X)                                                                           \
    X(REF, "$ref", STRING)                                                                         \
    X(DYNAMIC_REF, "$dynamicRef", STRING)                                                          \
    X(RECURSIVE_REF, "$recursiveRef", STRING)                                                      \
    X(SCHEMA, "$schema", STRING)                                                                   \
    X(ID, "$id", STRING)                                                                           \
    X(OLD_ID, "id", STRING)                                                                        \
    X(ANCHOR, "$anchor", STRING)                                                                   \
    X(DYNAMIC_ANCHOR, "$dynamicAnchor", STRING)                                                    \
    X(RECURSIVE_ANCHOR, "$recursiveAnchor", BOOL)                                                  \
    X(COMMENT, "$comment", STRING)                                                                 \
    X(DEFS, "$defs", SCHEMA_MAP)                                                                   \
    X(DEFINITIONS, "definitions", SCHEMA_MAP)                                                      \
    X(TYPE, "type", OTHER)                                                                         \
    X(NULLABLE, "nullable", BOOL)                                                                  \
    X(ENUM, "enum", OTHER)                                                                         \
    X(CONST, "const", DATA)                                                                        \
    X(ALL_OF, "allOf", SCHEMA_LIST)                                                                \
    X(ANY_OF, "anyOf", SCHEMA_LIST)                                                                \
    X(ONE_OF, "oneOf", SCHEMA_LIST)                                                                \
    X(NOT, "not", SCHEMA)                                                                          \
    X(IF, "if", SCHEMA)                                                                            \
    X(THEN, "then", SCHEMA)                                                                        \
    X(ELSE, "else", SCHEMA)                                                                        \
    X(PROPERTIES, "properties", SCHEMA_MAP)                                                        \
    X(PATTERN_PROPERTIES, "patternProperties", SCHEMA_MAP)                                         \
    X(ADDITIONAL_PROPERTIES, "additionalProperties", SCHEMA)                                       \
    X(PROPERTY_NAMES, "propertyNames", SCHEMA)                                                     \
    X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", SCHEMA)                                     \
    X(REQUIRED, "required", NAMES)                                                                 \
    X(DEPENDENT_REQUIRED, "dependentRequired", OTHER)                                              \
    X(DEPENDENT_SCHEMAS, "dependentSchemas", SCHEMA_MAP)                                           \
    X(DEPENDENCIES, "dependencies", OTHER)                                                         \
    X(ITEMS, "items", OTHER)                                                                       \
    X(PREFIX_ITEMS, "prefixItems", SCHEMA_LIST)                                                    \
    X(ADDITIONAL_ITEMS, "additionalItems", SCHEMA)                                                 \
    X(UNEVALUATED_ITEMS, "unevaluatedItems", SCHEMA)                                               \
    X(CONTAINS, "contains", SCHEMA)                                                                \
    X(UNIQUE_ITEMS, "uniqueItems", BOOL)                                                           \
    X(MIN_PROPERTIES, "minProperties", COUNT)                                                      \
    X(MAX_PROPERTIES, "maxProperties", COUNT)                                                      \
    X(MIN_CONTAINS, "minContains", COUNT)                                                          \
    X(MAX_CONTAINS, "maxContains", COUNT)                                                          \
    X(MIN_ITEMS, "minItems", COUNT)                                                                \
    X(MAX_ITEMS, "maxItems", COUNT)                                                                \
    X(MINIMUM, "minimum", NUMBER)                                                                  \
    X(MAXIMUM, "maximum", NUMBER)                                                                  \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", NUMBER)                                               \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", NUMBER)                                               \
    X(MULTIPLE_OF, "multipleOf", NUMBER)                                                           \
    X(MIN_LENGTH, "minLength", COUNT)                                                              \
    X(MAX_LENGTH, "maxLength", COUNT)                                                              \
    X(PATTERN, "pattern", STRING)                                                                  \
    X(FORMAT, "format", STRING)                                                                    \
    X(CONTENT_ENCODING, "contentEncoding", STRING)                                                 \
    X(CONTENT_MEDIA_TYPE, "contentMediaType", STRING)                                              \
    X(CONTENT_SCHEMA, "contentSchema", SCHEMA)                                                     \
    X(TITLE, "title", STRING)                                                                      \
    X(DESCRIPTION, "description", STRING)                                                          \
    X(DEFAULT, "default", DATA)                                                                    \
    X(EXAMPLE, "example", DATA)                                                                    \
    X(EXAMPLES, "examples", DATA)                                                                  \
    X(DEPRECATED, "deprecated", BOOL)                                                              \
    X(READ_ONLY, "readOnly", BOOL)                                                                 \
    X(WRITE_ONLY, "writeOnly", BOOL)                                                               \
    X(PROPERTY_ORDERING, "propertyOrdering", NAMES)                                                \
    X(DISCRIMINATOR, "discriminator", DATA)

enum keyword {
#define X(name, text, shape) KW_##name,
    KEYWORD_TABLE(X)
#undef X
        KW_UNKNOWN,
    KW_COUNT = KW_UNKNOWN,
    KW_BOUND_FIRST = KW_MIN_PROPERTIES, // numbers and counts stand together
    KW_BOUND_END = KW_MAX_LENGTH + 1,
};

enum keyword keyword_find(struct span key);
enum keyword keyword_find_raw(struct span key); // as JSON has it between the quotes, escapes too
const char *keyword_name(enum keyword k);
struct span keyword_text(enum keyword k);
enum keyword_shape keyword_shape(enum keyword k);

// A JSON type as a bit, so that a set of them is an unsigned.
#define TYPE_TABLE(X)                                                                              \
    X(NULL, "null")                                                                                \
    X(BOOLEAN, "boolean")                                                                          \
    X(INTEGER, "integer")                                                                          \
    X(NUMBER, "number") X(STRING, "string") X(ARRAY, "array") X(OBJECT, "object")
enum type_index {
#define X(name, text) TYPE_INDEX_##name,
    TYPE_TABLE(X)
#undef X
        TYPE_COUNT
};
enum type_bit {
#define X(name, text) TYPE_##name = 1 << TYPE_INDEX_##name,
    TYPE_TABLE(X)
#undef X
        TYPE_ANY = (1 << TYPE_COUNT) - 1,
};

const char *type_name(enum type_index type);
// 0 where the text names no type. With `lenient`, "STRING", "str", "float", "dict", "list" too.
unsigned type_find(struct span text, bool lenient);
// Which types a keyword says something about; TYPE_ANY where it is not tied to one.
unsigned keyword_types(enum keyword k);

#endif
