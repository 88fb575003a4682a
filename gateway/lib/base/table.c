// SPDX-License-Identifier: Apache-2.0
// Open addressing with linear probing and tombstones; SipHash-1-3 over the key.
#include "gateway/lib/base/table.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/random.h"

enum { FIRST_SLOTS = 16 };

struct slot {
    uint64_t hash;
    char *key;   // owned; NULL: never used
    size_t size; // of the key
    void *value; // borrowed; NULL with a key: a tombstone
};

struct table {
    struct slot *slots; // owned
    size_t slot_count;  // a power of two, or 0
    size_t used;        // live rows and tombstones
    size_t count;       // live rows
};

static uint64_t seed[2];

static uint64_t rotate(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

static inline __attribute__((always_inline)) void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static uint64_t hash_key(struct span key)
{
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575U, seed[1] ^ 0x646f72616e646f6dU,
                     seed[0] ^ 0x6c7967656e657261U, seed[1] ^ 0x7465646279746573U};
    uint64_t last = (uint64_t)key.size << 56;
    size_t at = 0;
    for (; key.size - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, key.data + at, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    for (size_t i = 0; at + i < key.size; i++)
        last |= (uint64_t)(unsigned char)key.data[at + i] << (8 * i);
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct table *table_new(void)
{
    if (seed[0] == 0 && seed[1] == 0)
        random_bytes(seed, sizeof seed);
    return memory_new(sizeof(struct table));
}

void table_free(struct table *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->slot_count; i++)
        free(t->slots[i].key);
    free(t->slots);
    free(t);
}

size_t table_count(const struct table *t)
{
    return t->count;
}

// The row with this key, else the never-used slot where the search ended. NULL in an empty table.
static struct slot *find(const struct table *t, struct span key, uint64_t hash)
{
    if (t->slot_count == 0)
        return NULL;
    for (size_t i = hash & (t->slot_count - 1);; i = (i + 1) & (t->slot_count - 1)) {
        struct slot *s = &t->slots[i];
        if (s->key == NULL)
            return s;
        if (s->hash == hash && span_equals(span_of(s->key, s->size), key))
            return s;
    }
}

static void rebuild(struct table *t)
{
    size_t old_count = t->slot_count;
    struct slot *old = t->slots;
    size_t wanted = FIRST_SLOTS;
    while (wanted < t->count * 4)
        wanted *= 2;
    t->slots = memory_new_array(wanted, sizeof *t->slots);
    t->slot_count = wanted;
    t->used = t->count;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i].key == NULL)
            continue;
        if (old[i].value == NULL) {
            free(old[i].key);
            continue;
        }
        *find(t, span_of(old[i].key, old[i].size), old[i].hash) = old[i];
    }
    free(old);
}

void *table_get(const struct table *t, struct span key)
{
    if (t == NULL || t->slot_count == 0)
        return NULL;
    struct slot *s = find(t, key, hash_key(key));
    return s->key != NULL ? s->value : NULL;
}

void table_put(struct table *t, struct span key, void *value)
{
    if (t->used * 4 >= t->slot_count * 3)
        rebuild(t);
    uint64_t hash = hash_key(key);
    struct slot *s = find(t, key, hash);
    if (s->key == NULL) {
        *s = (struct slot){.hash = hash, .key = memory_copy_span(key), .size = key.size};
        t->used++;
    }
    if (s->value == NULL)
        t->count++;
    s->value = value;
}

void *table_remove(struct table *t, struct span key)
{
    struct slot *s = find(t, key, hash_key(key));
    if (s == NULL || s->key == NULL || s->value == NULL)
        return NULL;
    void *value = s->value;
    s->value = NULL;
    t->count--;
    return value;
}

bool table_next(const struct table *t, size_t *at, struct span *key, void **value)
{
    for (; *at < t->slot_count; (*at)++) {
        const struct slot *s = &t->slots[*at];
        if (s->key == NULL || s->value == NULL)
            continue;
        if (key != NULL)
            *key = span_of(s->key, s->size);
        if (value != NULL)
            *value = s->value;
        (*at)++;
        return true;
    }
    return false;
}
