// SPDX-License-Identifier: Apache-2.0
// A binary heap by score, and a table from the name to its place in it.
#include "gateway/store/sorted.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"

struct entry {
    char *name; // owned
    int64_t score;
    size_t place;
};

struct sorted {
    struct table *by_name;
    struct entry **heap; // owned, and the entries
    size_t count, capacity;
};

struct sorted *sorted_new(void)
{
    struct sorted *s = memory_new(sizeof *s);
    s->by_name = table_new();
    return s;
}

static void entry_free(struct entry *e)
{
    free(e->name);
    free(e);
}

void sorted_free(struct sorted *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->count; i++)
        entry_free(s->heap[i]);
    table_free(s->by_name);
    free(s->heap);
    free(s);
}

static void place(struct sorted *s, struct entry *e, size_t at)
{
    s->heap[at] = e;
    e->place = at;
}

static void sift(struct sorted *s, struct entry *e)
{
    size_t at = e->place;
    for (; at > 0 && s->heap[(at - 1) / 2]->score > e->score; at = (at - 1) / 2)
        place(s, s->heap[(at - 1) / 2], at);
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < s->count && s->heap[child + 1]->score < s->heap[child]->score)
            child++;
        if (child >= s->count || s->heap[child]->score >= e->score)
            break;
        place(s, s->heap[child], at);
        at = child;
    }
    place(s, e, at);
}

void sorted_set(struct sorted *s, const char *name, int64_t score)
{
    struct entry *e = table_get(s->by_name, span_from_string(name));
    if (e == NULL) {
        e = memory_new(sizeof *e);
        e->name = memory_copy_string(name);
        if (s->count == s->capacity) {
            s->capacity = s->capacity == 0 ? 16 : s->capacity * 2;
            s->heap = memory_resize(s->heap, s->capacity, sizeof(struct entry *));
        }
        place(s, e, s->count++);
        table_put(s->by_name, span_from_string(name), e);
    }
    e->score = score;
    sift(s, e);
}

void sorted_remove(struct sorted *s, const char *name)
{
    struct entry *e = table_remove(s->by_name, span_from_string(name));
    if (e == NULL)
        return;
    struct entry *last = s->heap[--s->count];
    if (last != e) {
        place(s, last, e->place);
        sift(s, last);
    }
    entry_free(e);
}

bool sorted_has(const struct sorted *s, const char *name)
{
    return table_get(s->by_name, span_from_string(name)) != NULL;
}

const char *sorted_first(const struct sorted *s, int64_t *score)
{
    if (s->count == 0)
        return NULL;
    *score = s->heap[0]->score;
    return s->heap[0]->name;
}
