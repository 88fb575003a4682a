// SPDX-License-Identifier: Apache-2.0
// The members of a node that say which values it takes: type, enum, const, format, pattern.
#include "schemas/build.h"
#include "schemas/pattern.h"
#include "schemas/value.h"

static struct span quoted_type(enum type_index type)
{
    static const struct span rows[TYPE_COUNT] = {
#define X(name, text) [TYPE_INDEX_##name] = {"\"" text "\"", sizeof("\"" text "\"") - 1},
        TYPE_TABLE(X)
#undef X
    };
    return rows[type];
}

static void put_type(struct building *g)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    bool split = f->p->untyped == UNTYPED_UNION;
    unsigned types = g->types;
    if (!v->typed && !split && f->p->untyped != UNTYPED_REFUSED)
        return;
    g->nullable = (types & TYPE_NULL) != 0;
    if (f->p->null_style == NULL_FLAG)
        types &= ~(unsigned)TYPE_NULL;
    unsigned count = (unsigned)__builtin_popcount(types), at = 0;
    if (count == 1 && (!g->s.add_null || g->nullable)) {
        builder_raw(&g->b, KW_TYPE, quoted_type((enum type_index)__builtin_ctz(types)));
        return;
    }
    struct buffer text;
    buffer_init(&text, 200);
    bool list = count > 1;
    if (list)
        buffer_append_char(&text, '[');
    for (unsigned i = 0; i < v->type_count + TYPE_COUNT; i++) {
        unsigned index = i < v->type_count ? v->type_order[i] : i - v->type_count;
        if ((types & 1U << index) == 0)
            continue;
        types &= ~(1U << index);
        buffer_printf(&text, "%s\"%s\"", at++ > 0 ? "," : "", type_name(index));
    }
    if (g->s.add_null && !g->nullable && f->p->type_lists) {
        if (!list) {
            struct span one = arena_copy(f->arena, buffer_span(&text));
            buffer_clear(&text);
            buffer_printf(&text, "[%.*s", SPAN_ARGS(one));
            list = true;
        }
        buffer_append_string(&text, ",\"null\"");
        g->nullable = true;
    }
    if (list)
        buffer_append_char(&text, ']');
    builder_raw(&g->b, KW_TYPE, arena_copy(f->arena, buffer_span(&text)));
    buffer_fini(&text);
}

static void put_nullable(struct building *g)
{
    if (g->f->p->null_style == NULL_FLAG && (g->types & TYPE_NULL) != 0)
        builder_raw(&g->b, KW_NULLABLE, SPAN_LITERAL("true"));
}

static bool enum_fits(const struct building *g)
{
    const struct json *j = g->f->j;
    enum enum_style style = g->f->p->enum_style;
    if (!g->f->p->keeps[KW_ENUM])
        return false;
    unsigned kinds = 0;
    for (unsigned i = 0; i < g->v->value_count; i++) {
        int value = g->v->values[i];
        unsigned type = value == JSON_NONE ? TYPE_NULL : value_type(j, value);
        bool empty = type == TYPE_STRING && json_raw(j, value).size == 2;
        if ((style == ENUM_STRINGS || style == ENUM_ONE_TYPE) && type == TYPE_NULL &&
            g->f->p->null_style == NULL_FLAG)
            continue; // the flag says it
        kinds |= type == TYPE_INTEGER ? (unsigned)TYPE_NUMBER : type;
        if (style == ENUM_STRINGS && (type != TYPE_STRING || empty))
            return false;
        if (style == ENUM_ONE_TYPE && (empty || (type & (TYPE_NULL | TYPE_BOOLEAN)) != 0))
            return false;
        if (style != ENUM_ANY && (type & (TYPE_ARRAY | TYPE_OBJECT)) != 0)
            return false;
    }
    return style == ENUM_ANY || style == ENUM_SCALARS || __builtin_popcount(kinds) == 1;
}

static void tell_enum(struct building *g)
{
    struct buffer text;
    buffer_init(&text, 600);
    buffer_append_string(&text, "one of: ");
    for (unsigned i = 0; i < g->v->value_count; i++) {
        struct span value = compact(g->f, g->v->values[i]);
        if (buffer_size(&text) + value.size > 400) {
            buffer_append_string(&text, ", …");
            break;
        }
        buffer_printf(&text, "%s%.*s", i > 0 ? ", " : "", SPAN_ARGS(value));
    }
    hint_add(g->f, g->v, arena_copy(g->f->arena, buffer_span(&text)));
    flattener_lose(g->f, LOSS_TOLD, g->v->origin, "an enum");
    buffer_fini(&text);
}

static void put_enum(struct building *g)
{
    struct flattener *f = g->f;
    struct view *v = g->v;
    if (!v->has_enum || g->has_enum)
        return;
    g->has_enum = true;
    if (!enum_fits(g)) {
        tell_enum(g);
        return;
    }
    bool has_null = false, flag = f->p->null_style == NULL_FLAG;
    if (v->is_const && v->value_count == 1 && f->p->keeps[KW_CONST] && !g->s.add_null) {
        builder_raw(&g->b, KW_CONST, compact(f, v->values[0]));
        return;
    }
    struct buffer text;
    buffer_init(&text, json_source(f->j).size + 64 + 5 * (size_t)v->value_count);
    buffer_append_char(&text, '[');
    for (unsigned i = 0; i < v->value_count; i++) {
        bool null = v->values[i] == JSON_NONE || json_type(f->j, v->values[i]) == JSON_NULL;
        has_null = has_null || null;
        if (null && flag)
            continue;
        if (buffer_size(&text) > 1)
            buffer_append_char(&text, ',');
        buffer_append(&text, compact(f, v->values[i]));
    }
    if (g->s.add_null && !has_null)
        buffer_append_string(&text, ",null");
    buffer_append_char(&text, ']');
    g->nullable = g->nullable || (!v->typed && (has_null || g->s.add_null));
    builder_raw(&g->b, KW_ENUM, arena_copy(f->arena, buffer_span(&text)));
    buffer_fini(&text);
}

static bool in_list(const char *const *list, struct span text)
{
    for (; *list != NULL; list++)
        if (span_is(text, *list))
            return true;
    return false;
}

static bool format_fits(const struct building *g, struct span format)
{
    static const char *const integers[] = {"int32", "int64", NULL};
    static const char *const numbers[] = {"float", "double", NULL};
    const struct provider *p = g->f->p;
    if (!p->keeps[KW_FORMAT])
        return false;
    bool typed = g->types != TYPE_ANY;
    if (typed && (g->types & (TYPE_INTEGER | TYPE_NUMBER)) != 0 && (g->types & TYPE_STRING) == 0)
        return !p->number_formats || in_list((g->types & TYPE_NUMBER) ? numbers : integers, format);
    if (p->number_formats && (g->types & TYPE_STRING) == 0)
        return false;
    return p->formats == NULL || in_list(p->formats, format);
}

static void put_format(struct building *g)
{
    struct span format;
    int node = g->v->text[KW_FORMAT];
    if (node == JSON_NONE)
        return;
    if (json_string_plain(g->f->j, node, &format) && format_fits(g, format)) {
        builder_raw(&g->b, KW_FORMAT, json_raw(g->f->j, node));
        return;
    }
    hint_value(g->f, g->v, "format", node);
    flattener_lose(g->f, LOSS_TOLD, node, "format");
}

static void put_pattern(struct building *g)
{
    struct span text;
    int node = g->v->text[KW_PATTERN];
    if (node == JSON_NONE)
        return;
    if (g->f->p->keeps[KW_PATTERN] && json_string_arena(g->f->j, node, g->f->arena, &text) &&
        pattern_fits(text, g->f->p->pattern_style)) {
        builder_raw(&g->b, KW_PATTERN, json_raw(g->f->j, node));
        return;
    }
    hint_value(g->f, g->v, "pattern", node);
    flattener_lose(g->f, LOSS_TOLD, node, "pattern");
}

bool build_value_member(struct building *g, enum keyword k)
{
    switch (k) {
    case KW_TYPE:
        put_type(g);
        return true;
    case KW_NULLABLE:
        put_nullable(g);
        return true;
    case KW_ENUM:
    case KW_CONST:
        put_enum(g);
        return true;
    case KW_FORMAT:
        put_format(g);
        return true;
    case KW_PATTERN:
        if (g->types & TYPE_STRING)
            put_pattern(g);
        return true;
    default:
        return false;
    }
}
