// SPDX-License-Identifier: Apache-2.0
// The members of a node that are bounds: of numbers, and of how many there may be.
#include "schemas/build.h"

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

static void tell_bound(struct building *g, enum keyword k, struct span raw)
{
    hint_add(g->f, g->v, flattener_printf(g->f, "%s: %.*s", keyword_name(k), SPAN_ARGS(raw)));
    flattener_lose(g->f, LOSS_TOLD, g->v->origin, keyword_name(k));
}

// An exclusive bound that the provider has no word for: the next integer where it is one, else the
// inclusive bound and a hint.
void build_exclusive(struct building *g, enum keyword k)
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

bool build_bound_member(struct building *g, enum keyword k)
{
    if (keyword_shape(k) != SHAPE_NUMBER && keyword_shape(k) != SHAPE_COUNT)
        return false;
    put_bound(g, k);
    return true;
}
