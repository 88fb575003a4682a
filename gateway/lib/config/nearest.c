// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/config/nearest.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Letters to change, insert or remove; a swap of neighbours counts as one. Both are shorter than
// KEY_SEGMENT_SIZE.
static size_t distance(struct span a, struct span b)
{
    size_t row[KEY_SEGMENT_SIZE + 1][KEY_SEGMENT_SIZE + 1];
    for (size_t i = 0; i <= a.size; i++)
        row[i][0] = i;
    for (size_t j = 0; j <= b.size; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a.size; i++)
        for (size_t j = 1; j <= b.size; j++) {
            size_t change = row[i - 1][j - 1] + (a.data[i - 1] != b.data[j - 1]);
            row[i][j] = least(change, least(row[i - 1][j], row[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
                row[i][j] = least(row[i][j], row[i - 2][j - 2] + 1);
        }
    return row[a.size][b.size];
}

bool nearest_key(const struct key_table *t, const char *pattern, struct span typed,
                 struct key_child *out)
{
    struct key_child child;
    size_t best = typed.size / 3 + 2;
    bool found = false;
    if (typed.size >= KEY_SEGMENT_SIZE)
        return false;
    for (size_t at = 0; key_child_next(t, pattern, &at, &child);) {
        size_t d = distance(typed, span_from_string(child.segment));
        if (d >= best)
            continue;
        best = d;
        *out = child;
        found = true;
    }
    return found;
}
