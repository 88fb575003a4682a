// SPDX-License-Identifier: Apache-2.0
// A node that is no union: its members, in the order in which the source has them.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/writer.h"
#include "schemas/build.h"
#include "schemas/pattern.h"
#include "schemas/value.h"

static const enum keyword canonical_order[] = {
    KW_REF,
    KW_TYPE,
    KW_TITLE,
    KW_NULLABLE,
    KW_CONST,
    KW_ENUM,
    KW_FORMAT,
    KW_PATTERN,
    KW_MIN_LENGTH,
    KW_MAX_LENGTH,
    KW_MINIMUM,
    KW_MAXIMUM,
    KW_EXCLUSIVE_MINIMUM,
    KW_EXCLUSIVE_MAXIMUM,
    KW_MULTIPLE_OF,
    KW_PREFIX_ITEMS,
    KW_ITEMS,
    KW_MIN_ITEMS,
    KW_MAX_ITEMS,
    KW_UNIQUE_ITEMS,
    KW_CONTAINS,
    KW_MIN_CONTAINS,
    KW_MAX_CONTAINS,
    KW_UNEVALUATED_ITEMS,
    KW_PROPERTIES,
    KW_PATTERN_PROPERTIES,
    KW_REQUIRED,
    KW_ADDITIONAL_PROPERTIES,
    KW_PROPERTY_NAMES,
    KW_MIN_PROPERTIES,
    KW_MAX_PROPERTIES,
    KW_DEPENDENT_REQUIRED,
    KW_DEPENDENT_SCHEMAS,
    KW_UNEVALUATED_PROPERTIES,
    KW_PROPERTY_ORDERING,
    KW_NOT,
    KW_IF,
    KW_THEN,
    KW_ELSE,
    KW_ALL_OF,
    KW_CONTENT_ENCODING,
    KW_CONTENT_MEDIA_TYPE,
    KW_DEFAULT,
    KW_EXAMPLE,
    KW_EXAMPLES,
    KW_DEPRECATED,
    KW_READ_ONLY,
    KW_WRITE_ONLY,
    KW_DEFS,
    KW_DESCRIPTION,
};

struct building *building_take(struct flattener *f)
{
    struct building *g = f->free_buildings;
    if (g != NULL)
        f->free_buildings = g->next_free;
    else
        g = flattener_alloc(f, sizeof *g);
    size_t from = offsetof(struct building, done);
    memset((char *)g + from, 0, sizeof *g - from);
    g->f = f;
    g->b.count = g->front.count = g->back.count = 0;
    g->losses_before = f->loss_total;
    return g;
}

void building_give(struct flattener *f, struct building *g)
{
    g->next_free = f->free_buildings;
    f->free_buildings = g;
}

struct site site_below(struct site s, bool deeper)
{
    return (struct site){
        .depth = s.depth + deeper, .exact = s.exact, .below_map = s.below_map, .level = s.level};
}

struct node *schema_node_new(struct flattener *f, const struct builder *b)
{
    struct node *n = flattener_alloc(f, sizeof *n);
    n->members = flattener_alloc(f, b->count * sizeof *n->members + 1);
    memcpy(n->members, b->member, b->count * sizeof *n->members);
    n->count = b->count;
    schema_node_rehash(n);
    return n;
}

// A copy whose members, and the branches of a union among them, may be changed.
struct node *node_own(struct flattener *f, const struct node *n)
{
    struct node *own = flattener_alloc(f, sizeof *own);
    *own = *n;
    own->shared = false;
    own->written_size = 0;
    own->members = flattener_alloc(f, n->count * sizeof *n->members + 1);
    memcpy(own->members, n->members, n->count * sizeof *n->members);
    for (uint32_t i = 0; i < own->count; i++) {
        struct member *m = &own->members[i];
        if (m->kind != MEMBER_LIST)
            continue;
        struct node **list = flattener_alloc(f, m->count * sizeof *list + 1);
        memcpy(list, m->as.list, m->count * sizeof *list);
        m->as.list = list;
    }
    return own;
}

struct span number_text(struct flattener *f, uint64_t n)
{
    return flattener_printf(f, "%llu", (unsigned long long)n);
}

bool raw_i64(struct span raw, int64_t *out)
{
    struct json *j;
    bool ok = json_parse(raw, NULL, &j, NULL) == 0 && json_i64(j, JSON_ROOT, out);
    json_free(j);
    return ok;
}

static struct span compact(struct flattener *f, int node)
{
    enum json_type type = json_type(f->j, node);
    if (node == JSON_NONE)
        return SPAN_LITERAL("null");
    if (type != JSON_ARRAY && type != JSON_OBJECT)
        return json_raw(f->j, node);
    struct buffer text;
    buffer_init(&text, json_raw(f->j, node).size);
    value_write(f->j, node, &text);
    struct span copy = arena_copy(f->arena, buffer_span(&text));
    buffer_fini(&text);
    return span_is_absent(copy) ? SPAN_LITERAL("null") : copy;
}

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

static void tell_bound(struct building *g, enum keyword k, struct span raw)
{
    hint_add(g->f, g->v, flattener_printf(g->f, "%s: %.*s", keyword_name(k), SPAN_ARGS(raw)));
    flattener_lose(g->f, LOSS_TOLD, g->v->origin, keyword_name(k));
}

// An exclusive bound that the provider has no word for: the next integer where it is one, else the
// inclusive bound and a hint.
static void replace_exclusive(struct building *g, enum keyword k)
{
    bool lower = k == KW_EXCLUSIVE_MINIMUM;
    enum keyword to = lower ? KW_MINIMUM : KW_MAXIMUM;
    struct span raw = g->v->bound[k], *other = &g->v->bound[to];
    int64_t n, m;
    unsigned types = g->types & ~(unsigned)TYPE_NULL;
    if (span_is_absent(raw) || g->f->p->keeps[k] || !g->f->p->keeps[to])
        return;
    bool exact = types == TYPE_INTEGER && raw_i64(raw, &n) && n > -(1LL << 53) && n < 1LL << 53;
    if (!exact) {
        tell_bound(g, k, raw);
        if (span_is_absent(*other))
            *other = raw;
        g->v->bound[k] = SPAN_NONE;
        return;
    }
    n += lower ? 1 : -1;
    if (span_is_absent(*other) || (raw_i64(*other, &m) && (lower ? m < n : m > n)))
        *other = flattener_printf(g->f, "%lld", (long long)n);
    g->v->bound[k] = SPAN_NONE;
}

static bool bound_fits(const struct building *g, enum keyword k, struct span raw)
{
    const struct provider *p = g->f->p;
    int64_t n;
    if (!p->keeps[k])
        return false;
    if (k == KW_MIN_ITEMS && p->min_items_most > 0)
        return raw_i64(raw, &n) && n <= (int64_t)p->min_items_most;
    if (!p->int64_bounds)
        return true;
    bool integral = memchr(raw.data, '.', raw.size) == NULL &&
                    memchr(raw.data, 'e', raw.size) == NULL &&
                    memchr(raw.data, 'E', raw.size) == NULL;
    return raw_i64(raw, &n) || (keyword_shape(k) == SHAPE_NUMBER && !integral);
}

static void put_bound(struct building *g, enum keyword k)
{
    struct span raw = g->v->bound[k];
    if (span_is_absent(raw) || (keyword_types(k) & g->types) == 0)
        return;
    if (bound_fits(g, k, raw))
        builder_raw(&g->b, k, raw);
    else
        tell_bound(g, k, raw);
}

static bool is_full(const struct flattener *f)
{
    return f->p->keeps[KW_ALL_OF];
}

static void put_note(struct building *g, enum keyword k)
{
    struct flattener *f = g->f;
    int node = g->v->text[k];
    if (node == JSON_NONE)
        return;
    bool null_default = k == KW_DEFAULT && json_type(f->j, node) == JSON_NULL;
    if (null_default && !is_full(f) &&
        ((g->v->typed && !(g->types & TYPE_NULL)) || f->p->null_style == NULL_FLAG))
        return;
    if (f->p->keeps[k])
        builder_raw(&g->b, k, compact(f, node));
    else if (k != KW_TITLE && k != KW_DISCRIMINATOR && !null_default)
        hint_value(f, g->v, keyword_name(k), node);
}

static void put_mark(struct building *g, enum keyword k, bool on, const char *word)
{
    if (!on)
        return;
    if (g->f->p->keeps[k])
        builder_raw(&g->b, k, SPAN_LITERAL("true"));
    else
        hint_add(g->f, g->v, span_from_string(word));
}

// A property ordering names properties that exist.
static void put_ordering(struct building *g)
{
    struct flattener *f = g->f;
    struct buffer text;
    if (json_type(f->j, g->v->ordering) != JSON_ARRAY || !f->p->keeps[KW_PROPERTY_ORDERING] ||
        (g->types & TYPE_OBJECT) == 0)
        return;
    buffer_init(&text, json_raw(f->j, g->v->ordering).size + 2);
    buffer_append_char(&text, '[');
    JSON_EACH(one, f->j, g->v->ordering)
    {
        struct span raw = json_raw(f->j, one);
        if (json_type(f->j, one) != JSON_STRING)
            continue;
        struct span key = canonical_key(f, span_slice(raw, 1, raw.size - 1));
        bool known = false;
        for (uint32_t i = 0; i < g->property_count && !known; i++)
            known = span_equals(g->properties[i].key, key);
        if (known) {
            buffer_append_string(&text, buffer_size(&text) > 1 ? ",\"" : "\"");
            buffer_append(&text, key);
            buffer_append_char(&text, '"');
        }
    }
    buffer_append_char(&text, ']');
    if (buffer_size(&text) > 2)
        builder_raw(&g->b, KW_PROPERTY_ORDERING, arena_copy(f->arena, buffer_span(&text)));
    buffer_fini(&text);
}

static void put_nullable(struct building *g)
{
    if (g->f->p->null_style == NULL_FLAG && (g->types & TYPE_NULL) != 0)
        builder_raw(&g->b, KW_NULLABLE, SPAN_LITERAL("true"));
}

void build_value_member(struct building *g, enum keyword k)
{
    switch (k) {
    case KW_REF:
        if (!span_is_absent(g->v->ref))
            builder_raw(&g->b, KW_REF, g->v->ref);
        return;
    case KW_DEFS:
    case KW_DEFINITIONS: // their place; what goes there is known last
        g->done[KW_DEFS] = g->done[KW_DEFINITIONS] = true;
        if (g->s.root && g->s.depth == 0)
            builder_raw(&g->b, KW_DEFS, SPAN_NONE);
        return;
    case KW_TYPE:
        put_type(g);
        return;
    case KW_NULLABLE:
        put_nullable(g);
        return;
    case KW_ENUM:
    case KW_CONST:
        put_enum(g);
        return;
    case KW_FORMAT:
        put_format(g);
        return;
    case KW_PATTERN:
        if (g->types & TYPE_STRING)
            put_pattern(g);
        return;
    case KW_CONTENT_ENCODING:
    case KW_CONTENT_MEDIA_TYPE:
    case KW_TITLE:
    case KW_DEFAULT:
    case KW_EXAMPLE:
    case KW_EXAMPLES:
        put_note(g, k);
        return;
    case KW_DEPRECATED:
        put_mark(g, k, g->v->deprecated, "deprecated");
        return;
    case KW_READ_ONLY:
        put_mark(g, k, g->v->read_only, "read-only");
        return;
    case KW_WRITE_ONLY:
        put_mark(g, k, g->v->write_only, "write-only");
        return;
    case KW_PROPERTY_ORDERING:
        put_ordering(g);
        return;
    case KW_DESCRIPTION:
        builder_raw(&g->b, KW_DESCRIPTION, SPAN_NONE);
        g->description_at = g->b.count;
        return;
    default:
        if (keyword_shape(k) == SHAPE_NUMBER || keyword_shape(k) == SHAPE_COUNT)
            put_bound(g, k);
    }
}

static void put_member(struct building *g, enum keyword k)
{
    if (g->done[k])
        return;
    g->done[k] = true;
    if (!build_object_member(g, k) && !build_array_member(g, k) && !build_logic_member(g, k))
        build_value_member(g, k);
}

// Old keywords stand where their new ones go.
static enum keyword place_of(enum keyword k)
{
    switch (k) {
    case KW_ADDITIONAL_ITEMS:
        return KW_ITEMS;
    case KW_DEPENDENCIES:
        return KW_DEPENDENT_SCHEMAS;
    default:
        return k;
    }
}

static void put_unknown(struct building *g)
{
    struct flattener *f = g->f;
    for (unsigned i = 0; i < g->v->unknown_count && is_full(f); i++) {
        int node = g->v->unknown[i];
        struct member *m = builder_add(&g->b, KW_UNKNOWN, MEMBER_RAW);
        m->key = canonical_key(f, json_key_raw(f->j, node));
        m->as.raw = json_raw(f->j, node);
    }
}

// Without the description's place, where nothing is to be said there.
static void put_description(struct building *g)
{
    struct span text = description_text(g->f, g->v);
    unsigned at = g->description_at - 1;
    if (!span_is_absent(text)) {
        g->b.member[at].as.raw = text;
        return;
    }
    memmove(&g->b.member[at], &g->b.member[at + 1], (g->b.count - at - 1) * sizeof g->b.member[0]);
    g->b.count--;
}

struct node *build_finish(struct building *g)
{
    if (g->never)
        return NULL;
    put_unknown(g);
    put_description(g);
    struct node *n = schema_node_new(g->f, &g->b);
    n->takes_null = g->nullable;
    n->is_null = g->types == TYPE_NULL;
    return n;
}

static void check_strict(struct building *g)
{
    struct view *v = g->v;
    if (!g->f->p->strict)
        return;
    if (!v->typed && !v->has_enum)
        flattener_refuse(g->f, v->origin, "a schema without a type");
    if ((g->types & TYPE_OBJECT) == 0 || (!v->typed && v->has_enum))
        return;
    bool closed = v->has_additional && v->additional->next == NULL &&
                  json_type(g->f->j, v->additional->node) == JSON_FALSE;
    if (v->properties.count == 0 && !closed && !g->s.root)
        flattener_refuse(g->f, v->origin, "an object of any shape");
    if (v->has_additional && !closed && demands_anything(g->f, v->additional))
        flattener_refuse(g->f, v->origin, "a map from names to values");
    if (v->patterns.count > 0)
        flattener_refuse(g->f, v->origin, "properties by pattern");
}

static unsigned types_of_values(const struct flattener *f, const struct view *v)
{
    unsigned types = 0;
    for (unsigned i = 0; i < v->value_count; i++)
        types |= v->values[i] == JSON_NONE ? (unsigned)TYPE_NULL : value_type(f->j, v->values[i]);
    return types & TYPE_NUMBER ? types & ~(unsigned)TYPE_INTEGER : types;
}

struct keyword_set {
    uint64_t word[2];
};

static void set_add(struct keyword_set *s, enum keyword k, bool on)
{
    s->word[k / 64] |= (uint64_t)on << (k % 64);
}

// Keywords that may have something to say: those of the source, and those that come about here.
static struct keyword_set keywords_of(const struct building *g)
{
    const struct view *v = g->v;
    struct keyword_set s = {{v->seen[0], v->seen[1]}};
    set_add(&s, KW_TYPE, true);
    set_add(&s, KW_DESCRIPTION, true);
    set_add(&s, KW_REF, !span_is_absent(v->ref));
    set_add(&s, KW_NULLABLE, (g->types & TYPE_NULL) != 0);
    set_add(&s, KW_ENUM, v->has_enum);
    set_add(&s, KW_ITEMS, g->has_items);
    set_add(&s, KW_PREFIX_ITEMS, g->prefix_count > 0);
    set_add(&s, KW_MINIMUM, true);
    set_add(&s, KW_MAXIMUM, true);
    set_add(&s, KW_MAX_ITEMS, true);
    if (g->types & TYPE_OBJECT) {
        set_add(&s, KW_PROPERTIES, true);
        set_add(&s, KW_REQUIRED, true);
        set_add(&s, KW_ADDITIONAL_PROPERTIES, true);
        set_add(&s, KW_DEPENDENT_REQUIRED, true);
        set_add(&s, KW_DEPENDENT_SCHEMAS, true);
    }
    set_add(&s, KW_ALL_OF, v->residual != NULL);
    set_add(&s, KW_DEFS, g->s.root);
    return s;
}

struct node *build_plain(struct flattener *f, struct view *v, unsigned types, struct site s)
{
    struct building *g = building_take(f);
    g->v = v;
    g->s = s;
    g->types = types;
    g->losses_before = v->losses_before;
    if (!v->typed && v->has_enum && f->p->untyped == UNTYPED_REFUSED) {
        g->types = types_of_values(f, v);
        v->typed = true;
    }
    check_strict(g);
    build_conditional_properties(g);
    replace_exclusive(g, KW_EXCLUSIVE_MINIMUM);
    replace_exclusive(g, KW_EXCLUSIVE_MAXIMUM);
    if (g->types & TYPE_OBJECT)
        build_object(g);
    if (g->types & TYPE_ARRAY)
        build_array(g);
    for (unsigned i = 0; i < v->order_count; i++)
        put_member(g, place_of((enum keyword)v->order[i]));
    struct keyword_set left = keywords_of(g);
    for (size_t i = 0; i < ARRAY_COUNT(canonical_order); i++)
        if (left.word[canonical_order[i] / 64] & 1ULL << (canonical_order[i] % 64))
            put_member(g, canonical_order[i]);
    struct node *n = build_finish(g);
    building_give(f, g);
    return n;
}
