// SPDX-License-Identifier: Apache-2.0
#include "workers/hands/reads.h"

#include <stdlib.h>

#include "gateway/lib/base/list.h"
#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"

struct entry {
    struct list node; // the one used last stands first
    char *key;        // owned: reader, NUL, path
    size_t key_size, reader_size;
    unsigned char digest[TOOL_DIGEST_SIZE];
};

struct reads {
    size_t limit;
    struct list recent;
    struct table *by_key; // borrows the entries of the list
};

struct reads *reads_new(size_t limit)
{
    struct reads *r = memory_new(sizeof *r);
    r->limit = limit;
    r->by_key = table_new();
    list_init(&r->recent);
    return r;
}

static void entry_drop(struct reads *r, struct entry *e)
{
    table_remove(r->by_key, span_of(e->key, e->key_size));
    list_remove(&e->node);
    free(e->key);
    free(e);
}

void reads_free(struct reads *r)
{
    if (r == NULL)
        return;
    LIST_EACH(node, &r->recent)
    entry_drop(r, LIST_ENTRY(node, struct entry, node));
    table_free(r->by_key);
    free(r);
}

static struct span key_make(struct span reader, struct span path)
{
    char *key = memory_new(reader.size + 1 + path.size);
    memcpy(key, reader.data, reader.size);
    memcpy(key + reader.size + 1, path.data, path.size);
    return span_of(key, reader.size + 1 + path.size);
}

static struct entry *entry_find(struct reads *r, struct span key)
{
    struct entry *e = table_get(r->by_key, key);
    if (e != NULL) {
        list_remove(&e->node);
        list_prepend(&r->recent, &e->node);
    }
    return e;
}

static struct entry *entry_add(struct reads *r, struct span key, size_t reader_size)
{
    if (table_count(r->by_key) >= r->limit)
        entry_drop(r, LIST_ENTRY(r->recent.prev, struct entry, node));
    struct entry *e = memory_new(sizeof *e);
    e->key_size = key.size;
    e->reader_size = reader_size;
    e->key = memory_new(key.size);
    memcpy(e->key, key.data, key.size);
    list_prepend(&r->recent, &e->node);
    table_put(r->by_key, key, e);
    return e;
}

void reads_note(struct reads *r, struct span reader, struct span path,
                const unsigned char digest[TOOL_DIGEST_SIZE])
{
    struct span key = key_make(reader, path);
    CLEANUP_FREE const char *owned = key.data;
    (void)owned; // freed on the way out
    struct entry *e = entry_find(r, key);
    if (e == NULL)
        e = entry_add(r, key, reader.size);
    memcpy(e->digest, digest, sizeof e->digest);
}

enum tool_read_state reads_state(struct reads *r, struct span reader, struct span path,
                                 const unsigned char digest[TOOL_DIGEST_SIZE])
{
    struct span key = key_make(reader, path);
    CLEANUP_FREE const char *owned = key.data;
    (void)owned; // freed on the way out
    const struct entry *e = entry_find(r, key);
    if (e == NULL)
        return TOOL_READ_NEVER;
    return memcmp(e->digest, digest, sizeof e->digest) == 0 ? TOOL_READ_CURRENT : TOOL_READ_STALE;
}

void reads_forget(struct reads *r, struct span reader)
{
    LIST_EACH(node, &r->recent)
    {
        struct entry *e = LIST_ENTRY(node, struct entry, node);
        if (span_equals(span_of(e->key, e->reader_size), reader))
            entry_drop(r, e);
    }
}
