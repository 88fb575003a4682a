// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/scrub/inside.h"

enum { HASHES = 65536, STRIDE = 8, NO_ROW = 0xffff };

struct filter {
    uint8_t may[HASHES];   // whether an anchor has this hash
    uint16_t head[HASHES]; // the first one that has
    struct anchor_list anchors;
    uint16_t *next; // the anchor behind it
};

static struct filter *built; // owned, for the life of the process

// Of the three bytes at `at`; reads a fourth.
static inline uint32_t hash_at(const char *at)
{
    uint32_t bytes;
    memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes >>= 8;
#endif
    return (bytes & 0xffffff) * 0x9e3779b1u >> 16;
}

static char other_case(char c)
{
    return (c >= 'a' && c <= 'z') ? (char)(c - 32) : c;
}

void anchor_add(struct anchor_list *list, const char *bytes, bool any_case, const void *row,
                bool (*check)(const void *, struct span, size_t, struct scrub_match *))
{
    unsigned cases = any_case ? 1u << SCRUB_ANCHOR : 1;
    for (unsigned mask = 0; mask < cases; mask++) {
        struct scrub_anchor a = {.any_case = any_case, .row = row, .check = check};
        bool is_new = true;
        for (unsigned i = 0; i < SCRUB_ANCHOR; i++) {
            a.bytes[i] = mask >> i & 1 ? other_case(bytes[i]) : bytes[i];
            is_new = is_new && (!(mask >> i & 1) || a.bytes[i] != bytes[i]);
        }
        if (!is_new)
            continue;
        if (list->count == list->capacity) {
            list->capacity = list->capacity > 0 ? 2 * list->capacity : 128;
            list->rows = memory_resize(list->rows, list->capacity, sizeof *list->rows);
        }
        list->rows[list->count++] = a;
    }
}

static void enter(struct filter *f, size_t i)
{
    char bytes[4] = {0};
    memcpy(bytes, f->anchors.rows[i].bytes, SCRUB_ANCHOR);
    uint32_t hash = hash_at(bytes);
    f->may[hash] = 1;
    f->next[i] = f->head[hash];
    f->head[hash] = (uint16_t)i;
}

void filter_rebuild(void)
{
    struct filter *f = memory_new(sizeof *f);
    memset(f->head, 0xff, sizeof f->head);
    known_add(&f->anchors); // what comes first is entered last, and is looked at first
    shapes_add(&f->anchors);
    assignments_add(&f->anchors);
    f->next = memory_new_array(f->anchors.count, sizeof *f->next);
    for (size_t i = f->anchors.count; i-- > 0;)
        enter(f, i);
    if (built != NULL) {
        free(built->anchors.rows);
        free(built->next);
        free(built);
    }
    built = f;
}

const struct filter *filter_get(void)
{
    if (built == NULL)
        filter_rebuild();
    return built;
}

static bool check_at(const struct filter *f, struct span window, size_t at, struct scrub_match *out)
{
    for (size_t i = f->head[hash_at(window.data + at)]; i != NO_ROW; i = f->next[i]) {
        const struct scrub_anchor *a = &f->anchors.rows[i];
        *out = (struct scrub_match){0};
        if (memcmp(a->bytes, window.data + at, SCRUB_ANCHOR) == 0 &&
            a->check(a->row, window, at, out))
            return true;
    }
    return false;
}

// Eight places in a row with one branch: what is common in text is not worth a misprediction each.
static inline bool may_begin(const struct filter *f, const char *at)
{
    unsigned any = 0;
    for (unsigned i = 0; i < STRIDE; i++)
        any |= f->may[hash_at(at + i)];
    return any != 0;
}

bool filter_next(const struct filter *f, struct span window, size_t from, size_t to,
                 struct scrub_match *out)
{
    size_t end = window.size < SCRUB_ANCHOR ? 0 : window.size - SCRUB_ANCHOR + 1;
    end = to < end ? to : end;
    for (size_t at = from; at < end;) {
        size_t stop = at + STRIDE < end ? at + STRIDE : end;
        if (stop - at == STRIDE && !may_begin(f, window.data + at)) {
            at = stop;
            continue;
        }
        for (; at < stop; at++)
            if (f->may[hash_at(window.data + at)] != 0 && check_at(f, window, at, out) &&
                out->to > from && (out->opens_key || out->from >= from))
                return true;
    }
    return false;
}
