// SPDX-License-Identifier: Apache-2.0
//
// The table seen as a tree: which keys stand directly under a pattern like "" (the top), "limits",
// "listen[]" or "profiles.<name>".
#ifndef WRIST_GATEWAY_LIB_CONFIG_TREE_H
#define WRIST_GATEWAY_LIB_CONFIG_TREE_H

#include "gateway/lib/config/keys.h"

enum { KEY_PATH_SIZE = 256, KEY_SEGMENT_SIZE = 64 };

struct key_child {
    char segment[KEY_SEGMENT_SIZE]; // "listen"
    char pattern[KEY_PATH_SIZE];    // what its own children stand under: "listen[]"
    const struct key *key;          // NULL: a plain group
};

// for (size_t at = 0; key_child_next(t, pattern, &at, &child);) …
bool key_child_next(const struct key_table *t, const char *pattern, size_t *at,
                    struct key_child *out);
bool key_child_find(const struct key_table *t, const char *pattern, struct span segment,
                    struct key_child *out);
bool key_is_leaf(const struct key *k); // neither LIST nor MAP; NULL is none

static inline void *key_field(const struct key *k, const void *base)
{
    return (char *)(uintptr_t)base + k->offset;
}
static inline size_t *key_count_field(const struct key *k, const void *base)
{
    return (size_t *)(void *)((char *)(uintptr_t)base + k->count_offset);
}

#endif
