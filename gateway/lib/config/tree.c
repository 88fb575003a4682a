// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/config/tree.h"

#include <stdio.h>

bool key_is_leaf(const struct key *k)
{
    return k != NULL && k->kind != KEY_LIST && k->kind != KEY_MAP;
}

// What of the row's path stands below the pattern; NULL where it does not stand below it.
static const char *below(const struct key *k, const char *pattern)
{
    size_t size = strlen(pattern);
    if (size == 0)
        return k->path;
    return strncmp(k->path, pattern, size) == 0 && k->path[size] == '.' ? k->path + size + 1 : NULL;
}

static bool same_segment(const char *rest, const char *segment)
{
    size_t size = strcspn(rest, ".[");
    return strlen(segment) == size && memcmp(rest, segment, size) == 0;
}

static bool came_before(const struct key_table *t, const char *pattern, size_t row,
                        const char *segment)
{
    for (size_t i = 0; i < row; i++) {
        const char *rest = below(&t->keys[i], pattern);
        if (rest != NULL && same_segment(rest, segment))
            return true;
    }
    return false;
}

static void describe(const struct key *k, const char *pattern, const char *rest,
                     struct key_child *out)
{
    const char *tail = rest + strcspn(rest, ".[");
    bool own = tail[0] == '\0' || strcmp(tail, "[]") == 0 || strcmp(tail, ".<name>") == 0;
    out->key = own ? k : NULL;
    snprintf(out->pattern, sizeof out->pattern, "%s%s%s%s", pattern, pattern[0] != '\0' ? "." : "",
             out->segment, own ? tail : "");
}

bool key_child_next(const struct key_table *t, const char *pattern, size_t *at,
                    struct key_child *out)
{
    while (*at < t->count) {
        size_t row = (*at)++;
        const char *rest = below(&t->keys[row], pattern);
        if (rest == NULL)
            continue;
        span_copy_string(span_of(rest, strcspn(rest, ".[")), out->segment, sizeof out->segment);
        if (came_before(t, pattern, row, out->segment))
            continue;
        describe(&t->keys[row], pattern, rest, out);
        return true;
    }
    return false;
}

bool key_child_find(const struct key_table *t, const char *pattern, struct span segment,
                    struct key_child *out)
{
    for (size_t at = 0; key_child_next(t, pattern, &at, out);)
        if (span_is(segment, out->segment))
            return true;
    return false;
}
