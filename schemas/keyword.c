// SPDX-License-Identifier: Apache-2.0
#include "schemas/keyword.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"

struct keyword_row {
    const char *text;
    size_t size;
    enum keyword_shape shape;
};

static const struct keyword_row rows[KW_COUNT] = {
#define X(name, text, shape) [KW_##name] = {text, sizeof(text) - 1, SHAPE_##shape},
    KEYWORD_TABLE(X)
#undef X
};

// Length, first and last letter tell nearly all keywords apart; the table is filled on first use.
enum { SLOTS = 512 };
static unsigned char slots[SLOTS]; // a keyword + 1; 0 is free
static bool is_filled;

static unsigned slot_of(struct span key)
{
    unsigned first = (unsigned char)key.data[0], last = (unsigned char)key.data[key.size - 1];
    unsigned middle = (unsigned char)key.data[key.size / 2];
    return ((unsigned)key.size * 37 + first * 7 + last * 131 + middle * 29) % SLOTS;
}

static void fill(void)
{
    for (unsigned k = 0; k < KW_COUNT; k++) {
        unsigned at = slot_of(span_of(rows[k].text, rows[k].size));
        while (slots[at] != 0)
            at = (at + 1) % SLOTS;
        slots[at] = (unsigned char)(k + 1);
    }
    is_filled = true;
}

enum keyword keyword_find(struct span key)
{
    if (key.size < 2 || key.size > 21)
        return KW_UNKNOWN;
    if (!is_filled)
        fill();
    for (unsigned at = slot_of(key); slots[at] != 0; at = (at + 1) % SLOTS) {
        const struct keyword_row *row = &rows[slots[at] - 1];
        if (row->size == key.size && memcmp(row->text, key.data, key.size) == 0)
            return (enum keyword)(slots[at] - 1);
    }
    return KW_UNKNOWN;
}

enum keyword keyword_find_raw(struct span key)
{
    struct buffer plain;
    if (key.size == 0 || memchr(key.data, '\\', key.size) == NULL)
        return keyword_find(key);
    buffer_init(&plain, 24); // no keyword is longer
    enum keyword k = json_unescape(key, &plain) ? keyword_find(buffer_span(&plain)) : KW_UNKNOWN;
    buffer_fini(&plain);
    return k;
}

const char *keyword_name(enum keyword k)
{
    return k < KW_COUNT ? rows[k].text : "?";
}

struct span keyword_text(enum keyword k)
{
    return k < KW_COUNT ? span_of(rows[k].text, rows[k].size) : SPAN_LITERAL("?");
}

enum keyword_shape keyword_shape(enum keyword k)
{
    return k < KW_COUNT ? rows[k].shape : SHAPE_DATA;
}

static const struct span type_names[TYPE_COUNT] = {
#define X(name, text) [TYPE_INDEX_##name] = {text, sizeof(text) - 1},
    TYPE_TABLE(X)
#undef X
};

const char *type_name(enum type_index type)
{
    return type_names[type].data;
}

static const struct {
    const char *text;
    unsigned bit;
} other_spellings[] = {
    {"str", TYPE_STRING},    {"text", TYPE_STRING},   {"int", TYPE_INTEGER},
    {"int32", TYPE_INTEGER}, {"int64", TYPE_INTEGER}, {"long", TYPE_INTEGER},
    {"float", TYPE_NUMBER},  {"double", TYPE_NUMBER}, {"decimal", TYPE_NUMBER},
    {"bool", TYPE_BOOLEAN},  {"list", TYPE_ARRAY},    {"tuple", TYPE_ARRAY},
    {"dict", TYPE_OBJECT},   {"map", TYPE_OBJECT},    {"none", TYPE_NULL},
};

unsigned type_find(struct span text, bool lenient)
{
    for (unsigned i = 0; i < TYPE_COUNT; i++)
        if (span_equals(text, type_names[i]))
            return 1U << i;
    for (unsigned i = 0; lenient && i < TYPE_COUNT; i++)
        if (span_equals_nocase(text, type_names[i]))
            return 1U << i;
    for (size_t i = 0; lenient && i < ARRAY_COUNT(other_spellings); i++)
        if (span_equals_nocase(text, span_from_string(other_spellings[i].text)))
            return other_spellings[i].bit;
    return 0;
}

unsigned keyword_types(enum keyword k)
{
    switch (k) {
    case KW_PROPERTIES:
    case KW_PATTERN_PROPERTIES:
    case KW_ADDITIONAL_PROPERTIES:
    case KW_PROPERTY_NAMES:
    case KW_UNEVALUATED_PROPERTIES:
    case KW_REQUIRED:
    case KW_DEPENDENT_REQUIRED:
    case KW_DEPENDENT_SCHEMAS:
    case KW_DEPENDENCIES:
    case KW_MIN_PROPERTIES:
    case KW_MAX_PROPERTIES:
    case KW_PROPERTY_ORDERING:
        return TYPE_OBJECT;
    case KW_ITEMS:
    case KW_PREFIX_ITEMS:
    case KW_ADDITIONAL_ITEMS:
    case KW_UNEVALUATED_ITEMS:
    case KW_CONTAINS:
    case KW_MIN_CONTAINS:
    case KW_MAX_CONTAINS:
    case KW_MIN_ITEMS:
    case KW_MAX_ITEMS:
    case KW_UNIQUE_ITEMS:
        return TYPE_ARRAY;
    case KW_MINIMUM:
    case KW_MAXIMUM:
    case KW_EXCLUSIVE_MINIMUM:
    case KW_EXCLUSIVE_MAXIMUM:
    case KW_MULTIPLE_OF:
        return TYPE_NUMBER | TYPE_INTEGER;
    case KW_MIN_LENGTH:
    case KW_MAX_LENGTH:
    case KW_PATTERN:
    case KW_CONTENT_ENCODING:
    case KW_CONTENT_MEDIA_TYPE:
    case KW_CONTENT_SCHEMA:
        return TYPE_STRING;
    default:
        return TYPE_ANY;
    }
}
