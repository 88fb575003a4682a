// SPDX-License-Identifier: Apache-2.0
#include "gateway/store/quota.h"

#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"

struct bucket {
    char name[STORE_NAME_SIZE];
    int64_t count;
};

struct hold {
    struct list node; // in its holder's
    struct bucket *bucket;
};

struct holder { // an id
    struct list holds;
};

struct quota {
    struct table *buckets; // owned rows, none of them empty
    struct table *holders; // owned rows
};

struct quota *quota_new(void)
{
    struct quota *q = memory_new(sizeof *q);
    q->buckets = table_new();
    q->holders = table_new();
    return q;
}

static void holder_free(struct holder *holder)
{
    struct list *node;
    while ((node = list_pop(&holder->holds)) != NULL)
        free(LIST_ENTRY(node, struct hold, node));
    free(holder);
}

void quota_free(struct quota *q)
{
    if (q == NULL)
        return;
    void *row;
    for (size_t at = 0; table_next(q->holders, &at, NULL, &row);)
        holder_free(row);
    for (size_t at = 0; table_next(q->buckets, &at, NULL, &row);)
        free(row);
    table_free(q->holders);
    table_free(q->buckets);
    free(q);
}

const struct quota_bucket *quota_full(const struct quota *q, const struct quota_bucket *buckets,
                                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct bucket *b = table_get(q->buckets, span_from_string(buckets[i].name));
        if (buckets[i].limit > 0 && (b != NULL ? b->count : 0) >= buckets[i].limit)
            return &buckets[i];
    }
    return NULL;
}

static struct bucket *bucket_named(struct quota *q, const char *name)
{
    struct bucket *b = table_get(q->buckets, span_from_string(name));
    if (b == NULL) {
        b = memory_new(sizeof *b);
        span_copy_string(span_from_string(name), b->name, sizeof b->name);
        table_put(q->buckets, span_from_string(name), b);
    }
    return b;
}

static void hold_bucket(struct holder *holder, struct bucket *bucket)
{
    LIST_EACH(node, &holder->holds)
    if (LIST_ENTRY(node, struct hold, node)->bucket == bucket)
        return;
    struct hold *hold = memory_new(sizeof *hold);
    hold->bucket = bucket;
    bucket->count++;
    list_append(&holder->holds, &hold->node);
}

void quota_add(struct quota *q, const struct quota_bucket *buckets, size_t count, const char *id)
{
    struct holder *holder = table_get(q->holders, span_from_string(id));
    if (holder == NULL) {
        holder = memory_new(sizeof *holder);
        list_init(&holder->holds);
        table_put(q->holders, span_from_string(id), holder);
    }
    for (size_t i = 0; i < count; i++)
        hold_bucket(holder, bucket_named(q, buckets[i].name));
}

bool quota_holds(const struct quota *q, const char *id)
{
    return table_get(q->holders, span_from_string(id)) != NULL;
}

void quota_remove(struct quota *q, const char *id)
{
    struct holder *holder = table_remove(q->holders, span_from_string(id));
    if (holder == NULL)
        return;
    LIST_EACH(node, &holder->holds)
    {
        struct bucket *bucket = LIST_ENTRY(node, struct hold, node)->bucket;
        if (--bucket->count == 0) {
            table_remove(q->buckets, span_from_string(bucket->name));
            free(bucket);
        }
    }
    holder_free(holder);
}
