// SPDX-License-Identifier: Apache-2.0
// Whether a schema as it is written needs no more levels than are left, so that what was put at the
// depth limit once (the union that stands for anything, a list of it) is not cut a second time.
#include "schemas/build.h"

enum { NODES_MAX = 64 };

struct fitting {
    const struct flattener *f;
    unsigned nodes; // looked at so far
};

static bool fits(struct fitting *t, int node, unsigned levels);

static bool list_fits(struct fitting *t, int list, unsigned levels)
{
    if (json_type(t->f->j, list) != JSON_ARRAY)
        return false;
    JSON_EACH(one, t->f->j, list)
    if (!fits(t, one, levels))
        return false;
    return true;
}

static bool keyword_fits(struct fitting *t, enum keyword k, int value, unsigned levels)
{
    const struct json *j = t->f->j;
    switch (k) {
    case KW_REF:
    case KW_DYNAMIC_REF:
    case KW_RECURSIVE_REF:
    case KW_DEPENDENT_REQUIRED:
    case KW_DEPENDENCIES:
        return false;
    case KW_ANY_OF:
        return list_fits(t, value, levels);
    case KW_ITEMS:
        return levels > 0 && fits(t, value, levels - 1);
    case KW_PROPERTIES:
        return json_type(j, value) == JSON_OBJECT && json_count(j, value) == 0;
    case KW_ADDITIONAL_PROPERTIES:
        return json_type(j, value) == JSON_TRUE || json_type(j, value) == JSON_FALSE;
    default:
        return keyword_shape(k) < SHAPE_SCHEMA || k == KW_TYPE || k == KW_ENUM;
    }
}

// What the provider would get more levels for than are written.
static bool grows(const struct flattener *f, int node)
{
    int type = json_get(f->j, node, "type");
    if (f->p->untyped == UNTYPED_KEPT)
        return false;
    if (type == JSON_NONE)
        return json_get(f->j, node, "anyOf") == JSON_NONE;
    return json_type(f->j, type) != JSON_STRING ||
           (json_string_is(f->j, type, "array") && json_get(f->j, node, "items") == JSON_NONE);
}

static bool fits(struct fitting *t, int node, unsigned levels)
{
    if (++t->nodes > NODES_MAX || json_type(t->f->j, node) != JSON_OBJECT || grows(t->f, node))
        return false;
    JSON_EACH(value, t->f->j, node)
    {
        enum keyword k = keyword_of(t->f, value);
        if (k == KW_UNKNOWN || !keyword_fits(t, k, value, levels))
            return false;
    }
    return true;
}

bool parts_fit(const struct flattener *f, const struct part *parts, unsigned levels)
{
    struct fitting t = {.f = f};
    for (const struct part *p = parts; p != NULL; p = p->next)
        if (p->any != NULL || !fits(&t, p->node, levels))
            return false;
    return true;
}
