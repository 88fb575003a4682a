// SPDX-License-Identifier: Apache-2.0
#include "schemas/node.h"

#include "schemas/value.h"

struct member *builder_add(struct builder *b, enum keyword k, enum member_kind kind)
{
    struct member *m = &b->member[b->count < BUILDER_MEMBERS_MAX - 1 ? b->count++ : b->count];
    *m = (struct member){.keyword = (unsigned char)k, .kind = kind};
    return m;
}

void builder_raw(struct builder *b, enum keyword k, struct span raw)
{
    builder_add(b, k, MEMBER_RAW)->as.raw = raw;
}

void builder_node(struct builder *b, enum keyword k, struct node *node)
{
    builder_add(b, k, MEMBER_NODE)->as.node = node;
}

void builder_list(struct builder *b, enum keyword k, struct node **list, size_t count)
{
    struct member *m = builder_add(b, k, MEMBER_LIST);
    m->as.list = list;
    m->count = (uint32_t)count;
}

void builder_map(struct builder *b, enum keyword k, struct named_node *map, size_t count)
{
    struct member *m = builder_add(b, k, MEMBER_MAP);
    m->as.map = map;
    m->count = (uint32_t)count;
}

struct member *schema_node_member(struct node *n, enum keyword k)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (n->members[i].keyword == k)
            return &n->members[i];
    return NULL;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9e3779b97f4a7c15U;
    return h ^ (h >> 29);
}

uint64_t schema_node_hash(struct node *n)
{
    if (n == NULL || n->hashed)
        return n != NULL ? n->hash : 1;
    uint64_t h = n->count;
    for (uint32_t i = 0; i < n->count; i++) {
        const struct member *m = &n->members[i];
        h = mix(h, (uint64_t)m->keyword << 8 | (uint64_t)m->kind);
        if (m->keyword == KW_UNKNOWN)
            h = hash_bytes(h, m->key);
        if (m->kind == MEMBER_RAW)
            h = hash_bytes(h, m->as.raw);
        else if (m->kind == MEMBER_NODE)
            h = mix(h, schema_node_hash(m->as.node));
        for (uint32_t k = 0; k < m->count; k++) {
            if (m->kind == MEMBER_MAP)
                h = hash_bytes(h, m->as.map[k].key);
            h = mix(h, schema_node_hash(m->kind == MEMBER_MAP ? m->as.map[k].node : m->as.list[k]));
        }
    }
    n->hashed = true;
    return n->hash = h;
}

// A comma where one is due, a key, and what stands behind it as far as it is known already.
static int write_pair(struct buffer *out, bool comma, struct span key, struct span value)
{
    char *at;
    int rc = buffer_reserve(out, key.size + value.size + 4, &at);
    if (rc != 0)
        return rc;
    if (comma)
        *at++ = ',';
    *at++ = '"';
    if (key.size > 0)
        memcpy(at, key.data, key.size);
    at += key.size;
    *at++ = '"';
    *at++ = ':';
    if (value.size > 0)
        memcpy(at, value.data, value.size);
    buffer_commit(out, key.size + value.size + 3 + comma);
    return 0;
}

static int write_many(const struct member *m, struct buffer *out)
{
    bool map = m->kind == MEMBER_MAP;
    int rc = buffer_append_char(out, map ? '{' : '[');
    for (uint32_t i = 0; i < m->count && rc == 0; i++) {
        if (map)
            rc = write_pair(out, i > 0, m->as.map[i].key, SPAN_NONE);
        else if (i > 0)
            rc = buffer_append_char(out, ',');
        if (rc == 0)
            rc = schema_node_write(map ? m->as.map[i].node : m->as.list[i], out);
    }
    return rc == 0 ? buffer_append_char(out, map ? '}' : ']') : rc;
}

static int write_member(const struct member *m, bool comma, struct buffer *out)
{
    enum keyword k = (enum keyword)m->keyword;
    struct span key = k == KW_UNKNOWN ? m->key : keyword_text(k);
    bool raw = m->kind == MEMBER_RAW;
    int rc = write_pair(out, comma, key, raw ? m->as.raw : SPAN_NONE);
    if (rc != 0 || raw)
        return rc;
    return m->kind == MEMBER_NODE ? schema_node_write(m->as.node, out) : write_many(m, out);
}

static int write_node(const struct node *n, struct buffer *out)
{
    int rc = buffer_append_char(out, '{');
    for (uint32_t i = 0; i < n->count && rc == 0; i++)
        rc = write_member(&n->members[i], i > 0, out);
    return rc == 0 ? buffer_append_char(out, '}') : rc;
}

static int copy_written(const struct node *n, struct buffer *out)
{
    char *room;
    int rc = buffer_reserve(out, n->written_size, &room);
    if (rc != 0)
        return rc;
    memcpy(room, buffer_span(out).data + n->written_at, n->written_size);
    buffer_commit(out, n->written_size);
    return 0;
}

// NULL is the schema that no value fits.
int schema_node_write(struct node *n, struct buffer *out)
{
    if (n == NULL)
        return buffer_append_string(out, "false");
    if (n->written_size > 0)
        return copy_written(n, out);
    size_t at = buffer_size(out);
    int rc = write_node(n, out);
    if (rc == 0 && n->shared) {
        n->written_at = at;
        n->written_size = buffer_size(out) - at;
    }
    return rc;
}
