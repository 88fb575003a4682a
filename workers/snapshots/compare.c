// SPDX-License-Identifier: Apache-2.0
#include "workers/snapshots/compare.h"

char difference_letter(enum difference d)
{
    switch (d) {
    case DIFFERENCE_ADDED:
        return 'A';
    case DIFFERENCE_REMOVED:
        return 'D';
    case DIFFERENCE_CONTENT:
        return 'M';
    case DIFFERENCE_TYPE:
        return 'T';
    default:
        return 'm';
    }
}

static int order(struct span a, struct span b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int first = memcmp(a.data, b.data, common);
    return first != 0 ? first : (a.size > b.size) - (a.size < b.size);
}

static bool same_metadata(const struct tree_entry *a, const struct tree_entry *b)
{
    if (a->type == TREE_LINK || a->type == TREE_OTHER)
        return true;
    bool same_time = a->type == TREE_DIRECTORY ||
                     (a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec);
    return a->mode == b->mode && same_time && span_equals(a->attributes, b->attributes);
}

static int same_content(const struct comparison *c, const struct tree_entry *before,
                        struct tree_entry *after, bool *same, struct failure *why)
{
    *same = before->type == TREE_LINK ? span_equals(before->target, after->target) : true;
    if (before->type != TREE_FILE || tree_is_untouched(before, after))
        return 0;
    *same = before->size == after->size;
    if (!*same)
        return 0;
    int fault = after->has_digest ? 0 : c->digest(c->ctx, after, why);
    *same = fault == 0 && memcmp(before->digest, after->digest, sizeof before->digest) == 0;
    return fault;
}

static int compare_two(const struct comparison *c, const struct tree_entry *before,
                       struct tree_entry *after, struct failure *why)
{
    bool same;
    if (before->type == TREE_HIDDEN || after->type == TREE_HIDDEN)
        return 0;
    if (before->type != after->type)
        return c->found(c->ctx, DIFFERENCE_TYPE, before, after, why);
    int fault = same_content(c, before, after, &same, why);
    if (fault != 0)
        return fault;
    if (!same)
        return c->found(c->ctx, DIFFERENCE_CONTENT, before, after, why);
    if (!same_metadata(before, after))
        return c->found(c->ctx, DIFFERENCE_METADATA, before, after, why);
    return 0;
}

// Paths below a hidden folder sort behind it, but not at once: "a-b" stands between "a" and "a/c".
static bool is_hidden(const struct tree *t, struct span path)
{
    for (size_t size = path.size; size > 0; size--) {
        if (size < path.size && path.data[size] != '/')
            continue;
        const struct tree_entry *e = tree_find(t, span_of(path.data, size));
        if (e != NULL && e->type == TREE_HIDDEN)
            return true;
    }
    return false;
}

static int one_sided(const struct comparison *c, enum difference d, const struct tree_entry *e,
                     const struct tree *other, struct failure *why)
{
    if (e->type == TREE_HIDDEN || is_hidden(other, e->path))
        return 0;
    return d == DIFFERENCE_REMOVED ? c->found(c->ctx, d, e, NULL, why)
                                   : c->found(c->ctx, d, NULL, e, why);
}

int compare_trees(const struct comparison *c, struct failure *why)
{
    size_t b = 0, a = 0;
    int fault = 0;
    while (fault == 0 && (b < c->before->count || a < c->after->count)) {
        const struct tree_entry *before = b < c->before->count ? &c->before->entries[b] : NULL;
        struct tree_entry *after = a < c->after->count ? &c->after->entries[a] : NULL;
        int which = before == NULL ? 1 : after == NULL ? -1 : order(before->path, after->path);
        if (which < 0)
            fault = one_sided(c, DIFFERENCE_REMOVED, before, c->after, why);
        else if (which > 0)
            fault = one_sided(c, DIFFERENCE_ADDED, after, c->before, why);
        else
            fault = compare_two(c, before, after, why);
        b += which <= 0;
        a += which >= 0;
    }
    return fault;
}
