// SPDX-License-Identifier: Apache-2.0
//
// One JSON Schema document with an index of what its references may name: resources (`$id`),
// anchors, and any place by pointer. Nothing outside the document is ever looked up.
#ifndef WRIST_SCHEMAS_DOCUMENT_H
#define WRIST_SCHEMAS_DOCUMENT_H

#include "gateway/lib/base/arena.h"
#include "gateway/lib/json/json.h"
#include "schemas/keyword.h"

enum dialect { DIALECT_4, DIALECT_6, DIALECT_7, DIALECT_2019, DIALECT_2020 };

enum resolution {
    RESOLVED,
    RESOLVED_DANGLING, // a local reference to nothing
    RESOLVED_REMOTE,   // another document; never fetched
    RESOLVED_DYNAMIC,  // several anchors of this name: depends on the way taken
};

struct document;

// 16 MiB, 2 Mi values, depth 512.
extern const struct json_limits schemas_limits;

// A byte order mark in front is skipped. The source and the arena must outlive the document.
int document_open(struct span source, struct arena *arena, struct document **out,
                  struct failure *why);
void document_close(struct document *d);
const struct json *document_json(const struct document *d);
// By node, the keyword that its key spells; KW_UNKNOWN where it has none. Read by position only: a
// property may have the name of a keyword.
const unsigned char *document_keywords(const struct document *d);
// Of the resource that the node stands in; 2020-12 where nothing says otherwise.
enum dialect document_dialect(const struct document *d, int node);

// Where the `$ref`, `$dynamicRef` or `$recursiveRef` (k) that stands in schema `node` leads.
enum resolution document_resolve(struct document *d, int node, enum keyword k, int value, int *out);

// Calls `visit` for every schema directly below the schema `node`, by position.
typedef void document_visit(void *arg, int child, enum keyword k);
void document_each_child(const struct document *d, int node, document_visit *visit, void *arg);

// Can one come from this schema, by references and by position, back to it? Linear once a document.
bool document_is_cyclic(struct document *d, int node);

#endif
