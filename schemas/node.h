// SPDX-License-Identifier: Apache-2.0
//
// A schema as a provider takes it, before it is written: members in their order, in an arena.
#ifndef WRIST_SCHEMAS_NODE_H
#define WRIST_SCHEMAS_NODE_H

#include "gateway/lib/base/buffer.h"
#include "schemas/keyword.h"

struct node;

struct named_node {
    struct span key; // JSON text between the quotes
    struct node *node;
};

struct member {
    unsigned char keyword; // enum keyword
    enum member_kind { MEMBER_RAW, MEMBER_NODE, MEMBER_LIST, MEMBER_MAP } kind : 8;
    uint32_t count;
    struct span key; // of an unknown keyword, JSON text between the quotes
    union {
        struct span raw; // JSON
        struct node *node;
        struct node **list;
        struct named_node *map;
    } as;
};

struct node {
    struct member *members;
    uint32_t count;
    bool is_null, takes_null; // null is the only value; is one
    bool shared;              // stands at several places: written once, then copied
    bool hashed;
    uint64_t hash;                   // of all that is in it, once it was asked for
    size_t written_at, written_size; // in the buffer, once it is
};

enum { BUILDER_MEMBERS_MAX = 100 };
struct builder {
    struct member member[BUILDER_MEMBERS_MAX]; // read up to count only, so not cleared
    unsigned count;
};

struct member *builder_add(struct builder *b, enum keyword k, enum member_kind kind);
void builder_raw(struct builder *b, enum keyword k, struct span raw);
void builder_node(struct builder *b, enum keyword k, struct node *node);
void builder_list(struct builder *b, enum keyword k, struct node **list, size_t count);
void builder_map(struct builder *b, enum keyword k, struct named_node *map, size_t count);

struct member *schema_node_member(struct node *n, enum keyword k); // NULL where there is none
uint64_t schema_node_hash(struct node *n); // of all that is in it; its members stay as they are
// To one buffer only, from which nothing is taken meanwhile.
int schema_node_write(struct node *n, struct buffer *out);

#endif
