// SPDX-License-Identifier: Apache-2.0
#include "schemas/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "schemas/checker.h"
#include "schemas/names.h"
#include "schemas/pattern.h"
#include "schemas/value.h"

void checker_find(struct checker *c, int node, bool refused, const char *format, ...)
{
    struct findings *f = c->out;
    va_list args;
    f->refused += refused;
    if (f->count == FINDINGS_MAX)
        return;
    char rule[400];
    va_start(args, format);
    vsnprintf(rule, sizeof rule, format, args);
    va_end(args);
    struct buffer pointer;
    buffer_init(&pointer, 8192);
    if (node != JSON_NONE)
        (void)json_pointer(c->j, node, &pointer);
    f->list[f->count++] = (struct finding){refused, arena_copy(f->arena, buffer_span(&pointer)),
                                           arena_copy(f->arena, span_from_string(rule))};
    buffer_fini(&pointer);
}

static struct findings *findings_new(void)
{
    struct findings *f = memory_new(sizeof *f);
    f->arena = arena_new((size_t)1 << 30);
    return f;
}

void findings_free(struct findings *f)
{
    if (f == NULL)
        return;
    arena_free(f->arena);
    free(f);
}

// What each keyword's value must look like, before any provider is asked.
static void check_shape(struct checker *c, enum keyword k, int value)
{
    enum json_type type = json_type(c->j, value);
    int64_t n;
    bool flag = type == JSON_TRUE || type == JSON_FALSE, ok = true;
    switch (keyword_shape(k)) {
    case SHAPE_STRING:
        ok = type == JSON_STRING;
        break;
    case SHAPE_BOOL:
        ok = flag;
        break;
    case SHAPE_NUMBER:
        ok = type == JSON_NUMBER;
        break;
    case SHAPE_COUNT:
        ok = json_i64(c->j, value, &n)
                 ? n >= 0
                 : type == JSON_NUMBER && value_type(c->j, value) == TYPE_INTEGER;
        break;
    case SHAPE_SCHEMA:
        ok = flag || type == JSON_OBJECT;
        break;
    case SHAPE_SCHEMA_LIST:
        ok = type == JSON_ARRAY && json_first(c->j, value) != JSON_NONE;
        break;
    case SHAPE_SCHEMA_MAP:
        ok = type == JSON_OBJECT;
        break;
    case SHAPE_NAMES:
        ok = type == JSON_ARRAY;
        JSON_EACH(one, c->j, value)
        ok = ok && json_type(c->j, one) == JSON_STRING;
        break;
    default:
        break;
    }
    if (k == KW_ENUM)
        ok = type == JSON_ARRAY;
    if (k == KW_ITEMS)
        ok = flag || type == JSON_OBJECT;
    if (!ok)
        checker_find(c, value, true, "%s has the wrong form", keyword_name(k));
}

static void check_type(struct checker *c, int value)
{
    const struct provider *p = c->p;
    unsigned seen = 0;
    bool list = json_type(c->j, value) == JSON_ARRAY, gemini = p->null_style == NULL_FLAG;
    if (list && !p->type_lists)
        checker_find(c, value, true, "type must be one type, not a list");
    if (list && json_first(c->j, value) == JSON_NONE)
        checker_find(c, value, true, "type is an empty list");
    for (int one = list ? json_first(c->j, value) : value; one != JSON_NONE;
         one = list ? json_next(c->j, one) : JSON_NONE) {
        struct span text = SPAN_LITERAL("");
        unsigned bit = json_string_plain(c->j, one, &text) ? type_find(text, gemini) : 0;
        if (bit == 0 || (gemini && !type_find(text, true)))
            checker_find(c, one, !p->lax, "\"%.*s\" is no type",
                         SPAN_ARGS(span_slice(text, 0, 40)));
        if (seen & bit)
            checker_find(c, one, true, "type names %.*s twice", SPAN_ARGS(text));
        seen |= bit;
    }
}

static unsigned types_of(const struct checker *c, int node)
{
    unsigned types = 0;
    struct span text;
    int type = json_get(c->j, node, "type");
    if (json_string_plain(c->j, type, &text))
        return type_find(text, true);
    JSON_EACH(one, c->j, type)
    if (json_string_plain(c->j, one, &text))
        types |= type_find(text, true);
    return types;
}

static bool is_union(const struct checker *c, int node)
{
    return json_get(c->j, node, "anyOf") != JSON_NONE || json_get(c->j, node, "oneOf") != JSON_NONE;
}

static void check_enum_value(struct checker *c, int value, unsigned types)
{
    unsigned type = value_type(c->j, value);
    bool empty = type == TYPE_STRING && json_raw(c->j, value).size == 2;
    switch (c->p->enum_style) {
    case ENUM_STRINGS:
        if (type != TYPE_STRING || empty)
            checker_find(c, value, true, "enum takes strings only, none empty");
        break;
    case ENUM_ONE_TYPE:
        if (empty || (type & (TYPE_NULL | TYPE_BOOLEAN | TYPE_ARRAY | TYPE_OBJECT)) != 0)
            checker_find(c, value, true, "enum takes strings or numbers of one type");
        break;
    case ENUM_SCALARS:
        if (type & (TYPE_ARRAY | TYPE_OBJECT))
            checker_find(c, value, true, "enum takes scalars only");
        break;
    case ENUM_ANY:
        break;
    }
    if (types & TYPE_NUMBER)
        types |= TYPE_INTEGER;
    if (c->p->strict && types != 0 && (types & type) == 0)
        checker_find(c, value, true, "a value of the enum has another type");
}

static void check_enum(struct checker *c, int node, int value)
{
    unsigned types = types_of(c, node);
    if (c->p->enum_style == ENUM_STRINGS && types != TYPE_STRING && types != 0)
        checker_find(c, value, true, "enum is only allowed for strings");
    if (json_type(c->j, value) == JSON_ARRAY && json_first(c->j, value) == JSON_NONE && !c->p->lax)
        checker_find(c, value, !c->p->only_kept, "an empty enum");
    JSON_EACH(one, c->j, value)
    {
        c->enum_count++;
        c->text_size += json_raw(c->j, one).size;
        check_enum_value(c, one, types);
    }
}

static void check_bound(struct checker *c, enum keyword k, int value)
{
    double d;
    int64_t n;
    if (json_type(c->j, value) != JSON_NUMBER)
        return;
    if (!json_double(c->j, value, &d)) {
        checker_find(c, value, c->p->only_kept, "%s is not finite", keyword_name(k));
        return;
    }
    bool integral = value_type(c->j, value) == TYPE_INTEGER;
    bool plain = memchr(json_raw(c->j, value).data, 'e', json_raw(c->j, value).size) == NULL;
    if (c->p->int64_bounds && integral && plain && !json_i64(c->j, value, &n) &&
        (keyword_shape(k) == SHAPE_COUNT || !c->p->only_kept))
        checker_find(c, value, true, "%s does not fit 64 bits", keyword_name(k));
    if (k == KW_MIN_ITEMS && c->p->min_items_most > 0 && d > c->p->min_items_most)
        checker_find(c, value, true, "minItems is at most %u", c->p->min_items_most);
}

static void check_format(struct checker *c, int node, int value)
{
    static const char *const numeric[] = {"int32", "int64", "float", "double"};
    struct span text;
    unsigned types = types_of(c, node);
    bool ok = c->p->formats == NULL;
    if (ok || !json_string_plain(c->j, value, &text))
        return;
    for (size_t i = 0; c->p->formats[i] != NULL; i++)
        ok = ok || span_is(text, c->p->formats[i]);
    bool number = (types & (TYPE_NUMBER | TYPE_INTEGER)) != 0 && !(types & TYPE_STRING);
    if (number) {
        ok = !c->p->number_formats;
        for (size_t i = 0; i < ARRAY_COUNT(numeric); i++)
            ok = ok || span_is(text, numeric[i]);
    }
    if (!ok)
        checker_find(c, value, true, "format %.*s is not known", SPAN_ARGS(text));
}

static void check_pattern(struct checker *c, int value)
{
    struct span text;
    if (!json_string_arena(c->j, value, c->out->arena, &text) ||
        pattern_fits(text, c->p->pattern_style))
        return;
    checker_find(c, value, c->p->pattern_style != PATTERN_NO_LOOK || c->p->strict,
                 "the pattern uses what the provider's engine does not know");
}

static void check_reference(struct checker *c, int node, enum keyword k, int value)
{
    int target;
    struct span text;
    if (c->p->refs == REFS_INLINE && c->p->rejects[KW_REF]) {
        checker_find(c, value, true, "references are not taken");
        return;
    }
    if (c->p->refs == REFS_INLINE || json_type(c->j, value) != JSON_STRING)
        return;
    enum resolution how = document_resolve(c->d, node, k, value, &target);
    if (how == RESOLVED_DANGLING || how == RESOLVED_REMOTE)
        checker_find(c, value, true, "the reference leads nowhere in this schema");
    else if (c->p->recursion == RECURSION_REFUSE && document_is_cyclic(c->d, target))
        checker_find(c, value, true, "the schema refers back to itself");
    else if (c->p->recursion == RECURSION_UNROLL && how == RESOLVED &&
             document_is_cyclic(c->d, target))
        checker_find(c, value, !c->p->inline_in_maps, "the schema refers back to itself");
    if (c->p->refs == REFS_BARE && json_next(c->j, json_first(c->j, node)) != JSON_NONE &&
        !c->p->lax)
        checker_siblings(c, node);
    if (c->p->plain_ref_names && json_string_plain(c->j, value, &text) &&
        (!span_starts_with(text, SPAN_LITERAL("#/")) || memchr(text.data, '~', text.size) != NULL ||
         memchr(text.data, '%', text.size) != NULL))
        checker_find(c, value, true, "the reference must be a plain #/ path");
}

void checker_siblings(struct checker *c, int node)
{
    JSON_EACH(value, c->j, node)
    {
        struct span key = json_key_raw(c->j, value);
        bool fine = key.size > 0 && key.data[0] == '$';
        bool described = c->p->union_described && keyword_find(key) == KW_DESCRIPTION;
        bool maybe = c->p->free_form_open; // xAI does not say
        if (!fine && !described)
            checker_find(c, value, !maybe, "%.*s beside $ref", SPAN_ARGS(span_slice(key, 0, 60)));
    }
}

static void check_keyword(struct checker *c, int node, enum keyword k, int value, bool root)
{
    const struct provider *p = c->p;
    struct span key = json_key_raw(c->j, value);
    if (p->only_kept && (k == KW_UNKNOWN || !p->keeps[k])) {
        checker_find(c, value, true, "%.*s is not known here", SPAN_ARGS(span_slice(key, 0, 60)));
        return;
    }
    if (k != KW_UNKNOWN && p->rejects[k])
        checker_find(c, value, true, "%s is not taken", keyword_name(k));
    else if (k != KW_UNKNOWN && !p->keeps[k] && !p->keeps[KW_ALL_OF] && k > KW_COMMENT)
        checker_find(c, value, false, "%s is ignored", keyword_name(k));
    if (k == KW_UNKNOWN)
        return;
    if (!p->lax)
        check_shape(c, k, value);
    switch (k) {
    case KW_REF:
    case KW_DYNAMIC_REF:
        check_reference(c, node, k, value);
        return;
    case KW_TYPE:
        check_type(c, value);
        return;
    case KW_ENUM:
        check_enum(c, node, value);
        return;
    case KW_CONST:
        c->text_size += json_raw(c->j, value).size;
        return;
    case KW_FORMAT:
        check_format(c, node, value);
        return;
    case KW_PATTERN:
        check_pattern(c, value);
        return;
    case KW_DEFS:
        if (!root && p->union_described)
            checker_find(c, value, true, "$defs stand at the root only");
        return;
    default:
        if (keyword_shape(k) == SHAPE_NUMBER || keyword_shape(k) == SHAPE_COUNT)
            check_bound(c, k, value);
    }
}

static void check_child(void *arg, int child, enum keyword k)
{
    struct checker *c = arg;
    struct checker_place place = {.keyword = k, .depth = c->place.depth};
    place.depth += k == KW_PROPERTIES || k == KW_ADDITIONAL_PROPERTIES;
    struct checker_place outer = c->place;
    c->place = place;
    checker_schema(c, child, false);
    c->place = outer;
}

static void check_boolean(struct checker *c, int node)
{
    enum keyword k = c->place.keyword;
    bool fine = k == KW_ADDITIONAL_PROPERTIES || k == KW_UNEVALUATED_PROPERTIES;
    if (!c->p->boolean_schemas && !fine)
        checker_find(c, node, !c->p->inline_in_maps, "true and false are no schemas here");
}

void checker_schema(struct checker *c, int node, bool root)
{
    enum json_type type = json_type(c->j, node);
    if (type == JSON_TRUE || type == JSON_FALSE) {
        check_boolean(c, node);
        return;
    }
    if (type != JSON_OBJECT) {
        bool list = c->place.keyword == KW_DEPENDENCIES && type == JSON_ARRAY;
        if (!list)
            checker_find(c, node, true, "not a schema");
        return;
    }
    int twice = json_object_duplicate(c->j, node);
    if (twice != JSON_NONE)
        checker_find(c, twice, false, "a key stands twice");
    JSON_EACH(value, c->j, node)
    check_keyword(c, node, (enum keyword)document_keywords(c->d)[value], value, root);
    checker_object(c, node, types_of(c, node), root);
    checker_node(c, node, types_of(c, node), root, is_union(c, node));
    if (c->p->depth > 0 && c->place.depth > c->p->depth)
        checker_find(c, node, true, "nested more than %u levels", c->p->depth);
    document_each_child(c->d, node, check_child, c);
}

static void check_limits(struct checker *c)
{
    const struct provider *p = c->p;
    const struct {
        size_t have, most;
        const char *what;
    } rows[] = {{c->property_count, p->properties_most, "properties"},
                {c->enum_count, p->enum_most, "enum values"},
                {c->optional_count, p->optional_most, "optional properties"},
                {c->union_count, p->unions_most, "unions"},
                {c->text_size, p->text_most, "characters in names and enums"}};
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        if (rows[i].most > 0 && rows[i].have > rows[i].most)
            checker_find(c, JSON_ROOT, true, "%zu %s, at most %zu are taken", rows[i].have,
                         rows[i].what, rows[i].most);
}

// *out is the caller's also where the source cannot be read.
static int checker_open(struct checker *c, struct span source, const struct provider *p,
                        struct findings **out, struct failure *why)
{
    *out = findings_new();
    *c = (struct checker){.p = p, .out = *out};
    int rc = document_open(source, (*out)->arena, &c->d, why);
    if (rc == 0)
        c->j = document_json(c->d);
    return rc;
}

int check_schema(struct span source, const struct provider *p, struct findings **out,
                 struct failure *why)
{
    struct checker c;
    int rc = checker_open(&c, source, p, out, why);
    if (rc != 0)
        return rc;
    checker_root(&c);
    if (json_type(c.j, JSON_ROOT) == JSON_OBJECT)
        checker_schema(&c, JSON_ROOT, true);
    check_limits(&c);
    document_close(c.d);
    return 0;
}

static void check_result_value(struct checker *c, int node)
{
    double d;
    if (json_type(c->j, node) == JSON_NUMBER && !json_double(c->j, node, &d))
        checker_find(c, node, true, "a number that is not finite");
    JSON_EACH(child, c->j, node)
    {
        if (span_is(json_key_raw(c->j, child), "$ref"))
            checker_find(c, child, true, "a key $ref is taken for an attachment");
        check_result_value(c, child);
    }
}

int check_result(struct span source, struct findings **out, struct failure *why)
{
    struct checker c;
    int rc = checker_open(&c, source, NULL, out, why);
    if (rc != 0)
        return rc;
    if (json_type(c.j, JSON_ROOT) != JSON_OBJECT)
        checker_find(&c, JSON_ROOT, true, "a result must be an object");
    check_result_value(&c, JSON_ROOT);
    document_close(c.d);
    return 0;
}

int check_names(struct span source, const struct provider *p, struct findings **out,
                struct failure *why)
{
    struct checker c;
    int rc = checker_open(&c, source, p, out, why);
    if (rc != 0)
        return rc;
    struct table *seen = table_new();
    int names = json_get(c.j, JSON_ROOT, "names");
    JSON_EACH(one, c.j, names)
    {
        struct span name = SPAN_LITERAL("");
        (void)json_string_arena(c.j, one, c.out->arena, &name);
        if (!name_fits(name, &p->names))
            checker_find(&c, one, true, "not a name that the provider takes");
        if (table_get(seen, name) != NULL)
            checker_find(&c, one, true, "a name stands twice");
        table_put(seen, name, c.out);
    }
    if (p->tools_most > 0 && json_count(c.j, names) > p->tools_most)
        checker_find(&c, names, true, "at most %u tools are taken", p->tools_most);
    table_free(seen);
    document_close(c.d);
    return 0;
}
