// SPDX-License-Identifier: Apache-2.0
//
// A YAML file as a tree of nodes that know where they stood. Strict: one document, no anchors,
// aliases, tags, directives or duplicate keys; scalars stay text, their meaning comes from the key.
#ifndef WRIST_GATEWAY_LIB_CONFIG_DOCUMENT_H
#define WRIST_GATEWAY_LIB_CONFIG_DOCUMENT_H

#include "gateway/lib/base/failure.h"
#include "gateway/lib/base/span.h"

enum {
    DOCUMENT_BYTES = 4 << 20,
    DOCUMENT_NODES = 200000,
    DOCUMENT_DEPTH = 16,
};

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    bool quoted;                     // a scalar in any style but plain
    size_t line, column;             // of its start, from 1
    size_t key_line, key_column;     // of its key; members of a map only
    struct span text;                // of a scalar
    struct span key;                 // members of a map only
    const struct node *first, *next; // children, and the next sibling
    size_t count;                    // children
};

struct document;

// `name` is for messages. An empty file has no root.
int document_parse(struct span yaml, const char *name, struct document **out, struct failure *why);
void document_free(struct document *d);
const char *document_name(const struct document *d);
const struct node *document_root(const struct document *d); // NULL where there is none

// These take NULL, and nodes of another kind, as having no children.
const struct node *node_member(const struct node *map, struct span key);
const struct node *node_element(const struct node *list, size_t index);
bool node_is_null(const struct node *n); // absent, or nothing behind the colon, ~ or null

#endif
