// SPDX-License-Identifier: Apache-2.0
#include "schemas/disjoint.h"

#include "schemas/value.h"

enum { BRANCHES_MAX = 64, TAGS_MAX = 4 };

struct tag {
    struct span key;
    int value; // a const, or an enum with one value
};

struct branch {
    unsigned types;
    int value; // the node itself is this const
    struct tag tag[TAGS_MAX];
    unsigned tag_count;
};

static int only_value(const struct json *j, int node)
{
    int value = json_get(j, node, "const"), list = json_get(j, node, "enum");
    if (value == JSON_NONE && json_type(j, list) == JSON_ARRAY && json_count(j, list) == 1)
        value = json_first(j, list);
    return value;
}

static bool requires(const struct json *j, int node, struct span key)
{
    int required = json_get(j, node, "required");
    JSON_EACH(one, j, required)
    {
        struct span raw = json_raw(j, one);
        if (json_type(j, one) == JSON_STRING && span_equals(span_slice(raw, 1, raw.size - 1), key))
            return true;
    }
    return false;
}

static void read_tags(const struct json *j, int node, struct branch *b)
{
    int properties = json_get(j, node, "properties");
    if (json_type(j, properties) != JSON_OBJECT || json_count(j, properties) > 100)
        return;
    JSON_EACH(property, j, properties)
    {
        int value = json_type(j, property) == JSON_OBJECT ? only_value(j, property) : JSON_NONE;
        if (value == JSON_NONE || b->tag_count == TAGS_MAX ||
            !requires(j, node, json_key_raw(j, property)))
            continue;
        b->tag[b->tag_count++] = (struct tag){json_key_raw(j, property), value};
    }
}

static int follow(struct flattener *f, int node)
{
    for (int hops = 0; hops < 8; hops++) {
        int ref = json_get(f->j, node, "$ref"), target;
        if (json_type(f->j, ref) != JSON_STRING ||
            document_resolve(f->d, node, KW_REF, ref, &target) != RESOLVED)
            return node;
        node = target;
    }
    return node;
}

static struct branch read_branch(struct flattener *f, const struct part *part)
{
    struct branch b = {.types = TYPE_ANY, .value = JSON_NONE};
    if (part == NULL || part->any != NULL)
        return b;
    int node = follow(f, part->node);
    struct span text;
    if (json_type(f->j, node) != JSON_OBJECT)
        return b;
    int type = json_get(f->j, node, "type");
    if (json_string_plain(f->j, type, &text) && type_find(text, true) != 0)
        b.types = type_find(text, true);
    if (b.types & TYPE_NUMBER)
        b.types |= TYPE_INTEGER;
    if (json_type(f->j, json_get(f->j, node, "nullable")) == JSON_TRUE)
        b.types |= TYPE_NULL;
    b.value = only_value(f->j, node);
    if (b.types == TYPE_OBJECT)
        read_tags(f->j, node, &b);
    return b;
}

static bool branches_are_disjoint(const struct json *j, const struct branch *a,
                                  const struct branch *b)
{
    if ((a->types & b->types) == 0)
        return true;
    if (a->value != JSON_NONE && b->value != JSON_NONE && !value_equal(j, a->value, b->value))
        return true;
    for (unsigned i = 0; i < a->tag_count; i++)
        for (unsigned k = 0; k < b->tag_count; k++)
            if (span_equals(a->tag[i].key, b->tag[k].key) &&
                !value_equal(j, a->tag[i].value, b->tag[k].value))
                return true;
    return false;
}

bool alternatives_are_disjoint(struct flattener *f, const struct alternatives *any)
{
    if (any->count > BRANCHES_MAX)
        return false;
    struct branch *b = flattener_alloc(f, any->count * sizeof *b);
    for (unsigned i = 0; i < any->count; i++)
        b[i] = read_branch(f, any->branch[i]);
    for (unsigned i = 0; i < any->count; i++)
        for (unsigned k = i + 1; k < any->count; k++)
            if (!branches_are_disjoint(f->j, &b[i], &b[k]))
                return false;
    return true;
}
