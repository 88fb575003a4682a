// SPDX-License-Identifier: Apache-2.0
//
// Inside of building nodes: what the files share that make a node from a view.
#ifndef WRIST_SCHEMAS_BUILD_H
#define WRIST_SCHEMAS_BUILD_H

#include "schemas/flattener.h"

// One node being built from a view.
struct building {
    struct building *next_free;
    struct flattener *f;
    struct view *v;
    struct site s;
    unsigned types; // those that it is built for
    unsigned losses_before;
    struct builder b;
    bool done[KW_COUNT + 1];
    bool never, has_enum;
    bool nullable; // its type list takes null, or the flag is set
    // What was lowered before the members are put in their order.
    struct named_node *properties;
    uint32_t property_count;
    struct node **prefix;
    uint32_t prefix_count;
    struct node *items;
    bool has_items, keeps_unevaluated;
    unsigned description_at; // 1 + the place kept for it
};

struct building *building_take(struct flattener *f);
void building_give(struct flattener *f, struct building *g);
void build_object(struct building *g); // properties and prefix before their places are known
void build_array(struct building *g);
void build_conditional_properties(struct building *g);
void build_exclusive(struct building *g, enum keyword k); // an exclusive bound the provider lacks
// Each puts the member that a keyword comes to; false where the keyword is not its own.
bool build_value_member(struct building *g, enum keyword k);
bool build_note_member(struct building *g, enum keyword k);
bool build_object_member(struct building *g, enum keyword k);
bool build_array_member(struct building *g, enum keyword k);
bool build_logic_member(struct building *g, enum keyword k);
bool build_bound_member(struct building *g, enum keyword k);

struct site site_below(struct site s, bool deeper);
struct node *schema_node_new(struct flattener *f, const struct builder *b);
struct node *node_own(struct flattener *f, const struct node *n);
// Puts title, description (with the hints) and the like around a node that has none of them.
struct node *with_notes(struct flattener *f, struct view *v, struct node *n, struct site s);
// A value as JSON without white space.
struct span compact(struct flattener *f, int node);
struct span description_text(struct flattener *f, const struct view *v);
struct span number_text(struct flattener *f, uint64_t n);
bool raw_i64(struct span raw, int64_t *out);

#endif
