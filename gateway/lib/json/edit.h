// SPDX-License-Identifier: Apache-2.0
//
// Splices a document: replaces, inserts and deletes ranges of the source and leaves every other
// byte as it was. Edits may be noted in any order. They must not overlap, but neighbours may be
// deleted together.
#ifndef WRIST_GATEWAY_LIB_JSON_EDIT_H
#define WRIST_GATEWAY_LIB_JSON_EDIT_H

#include "gateway/lib/json/json.h"

enum { JSON_EDIT_MAX = 16 };

struct json_edit {
    const struct json *doc; // borrowed
    size_t count;
    struct json_change {
        enum json_change_kind { JSON_REPLACE, JSON_DELETE, JSON_INSERT } kind;
        int node;
        struct span bytes; // borrowed until json_edit_write
    } change[JSON_EDIT_MAX];
};

void json_edit_init(struct json_edit *e, const struct json *doc);
// Each returns FAULT_TOO_LARGE past JSON_EDIT_MAX, FAULT_INVALID where the node does not fit.
int json_edit_replace(struct json_edit *e, int node, struct span json);
int json_edit_delete(struct json_edit *e, int node); // a member or element, with its comma
// `member` is `"key":value` without commas; it goes to the front of the object.
int json_edit_insert_member(struct json_edit *e, int object, struct span member);
// FAULT_INVALID where edits overlap, FAULT_TOO_LARGE past the limit of `out`.
int json_edit_write(const struct json_edit *e, struct buffer *out);

#endif
