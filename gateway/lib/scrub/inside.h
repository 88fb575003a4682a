// SPDX-License-Identifier: Apache-2.0
// What the parts of this folder share.
#ifndef WRIST_GATEWAY_LIB_SCRUB_INSIDE_H
#define WRIST_GATEWAY_LIB_SCRUB_INSIDE_H

#include "gateway/lib/base/span.h"

enum {
    SCRUB_BEHIND = 256, // bytes before a candidate that its check may look at
    SCRUB_AHEAD = 8192, // bytes behind it; no match is longer
    SCRUB_WINDOW = 65536,
    SCRUB_SPARE = 8,  // bytes behind a window that may be read, and mean nothing
    SCRUB_ANCHOR = 3, // bytes that name a candidate
};

struct scrub_match {
    size_t from, to;
    const char *label;
    bool opens_key; // a private key begins at `to`
};

// A place where `anchor` stands, at `at` of the window: whether a secret is there.
struct scrub_row;
struct scrub_anchor {
    char bytes[SCRUB_ANCHOR];
    bool any_case;
    const void *row;
    bool (*check)(const void *row, struct span window, size_t at, struct scrub_match *out);
};

// filter.c: finds anchors by a hash of their bytes.
struct filter;
const struct filter *filter_get(void); // built at first use
void filter_rebuild(void);
// The first match that begins with an anchor in [from, to).
bool filter_next(const struct filter *f, struct span window, size_t from, size_t to,
                 struct scrub_match *out);

// Each adds its anchors.
struct anchor_list {
    struct scrub_anchor *rows;
    size_t count, capacity;
};
void anchor_add(struct anchor_list *list, const char *bytes, bool any_case, const void *row,
                bool (*check)(const void *, struct span, size_t, struct scrub_match *));
void shapes_add(struct anchor_list *list);
void assignments_add(struct anchor_list *list);
void known_add(struct anchor_list *list);

bool scrub_is_placeholder(struct span value);

static inline bool scrub_is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool scrub_is_word(char c)
{
    return scrub_is_alnum(c) || c == '_' || c == '-';
}

#endif
