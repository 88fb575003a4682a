// SPDX-License-Identifier: Apache-2.0
//
// The state of one flattening, for the files of this folder only.
#ifndef WRIST_SCHEMAS_FLATTENER_H
#define WRIST_SCHEMAS_FLATTENER_H

#include "schemas/flatten.h"
#include "schemas/node.h"
#include "schemas/view.h"

struct building;

struct active { // a reference target being inlined, innermost first
    const struct active *outer;
    int target;
};

struct definition {
    int target;
    struct span name;      // JSON text between the quotes
    struct span reference; // to it, JSON
    struct node *node;
    bool used;
};

struct flattener {
    const struct provider *p;
    const struct flatten_options *options;
    struct document *d; // owned
    const struct json *j;
    struct arena *arena; // owned
    const struct active *active;
    struct definition *definition; // in arena
    size_t definition_count, definition_capacity;
    struct table *definition_of;        // owned: target to index + 1
    struct table *inlined;              // owned: what a plain reference came to, to be used again
    struct table *names_taken;          // owned: of definitions
    struct table *keys_taken, *renamed; // owned: keys at the root, and those that changed
    const struct view *root;            // while something is below it
    size_t expansion_left;              // bytes of source that references may still bring in
    size_t work_left;                   // keywords that may still be read
    struct flatten_result *result;
    const unsigned char *keyword; // by node, of the document
    uint32_t *mark;               // definitions in use, in the order met
    uint32_t mark_count;
    bool counts_items;               // unevaluatedItems stands somewhere: items {} would matter
    bool unsettled;                  // what came out may be simplified further
    struct view *free_views;         // for use again
    struct building *free_buildings; // the same
    unsigned loss_total;
    bool refused;
    struct failure *why;
};

// Where a schema stands.
struct site {
    unsigned depth;
    bool root;     // the root itself, or applied to the same object: keys may be renamed
    bool exact;    // in a place where widening would narrow: any loss undoes it
    bool add_null; // a strict optional: null must be accepted
    bool below_map;
    bool definition; // the top of one: its own reference is followed
    bool branch;     // of a union: what cannot be met leaves it
    unsigned level;  // of recursion here
};

void *flattener_alloc(struct flattener *f, size_t size);     // zeroed
void *flattener_alloc_raw(struct flattener *f, size_t size); // for what is filled at once
struct span flattener_printf(struct flattener *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Puts into a table that is made when it is first needed.
void flattener_keep(struct table **t, struct span key, void *value);
void flattener_lose(struct flattener *f, enum loss row, int node, const char *what);
void flattener_refuse(struct flattener *f, int node, const char *what);
void hint_add(struct flattener *f, struct view *v, struct span text);
// "name: value", the value compact and cut to a length that a description can bear.
void hint_value(struct flattener *f, struct view *v, const char *name, int node);
void hint_parts(struct flattener *f, struct view *v, const char *name, const struct part *parts);
struct span canonical_key(struct flattener *f, struct span raw);

static inline enum keyword keyword_of(const struct flattener *f, int value)
{
    return (enum keyword)f->keyword[value];
}

struct part *part_new(struct flattener *f, int node, unsigned flags, struct part *next);
// A copy of a list with flags put on each part.
struct part *parts_flagged(struct flattener *f, const struct part *parts, unsigned flags);
struct part *part_of_alternatives(struct flattener *f, const struct alternatives *any);
void parts_append(struct part **list, struct part *more);
// False where it is sure, without gathering them, that they demand nothing.
bool parts_demand(const struct flattener *f, const struct part *parts);
bool parts_refuse_all(const struct flattener *f, const struct part *parts); // false is among them

void gather(struct flattener *f, const struct part *parts, struct view *v, bool root);
struct entry *entries_add(struct flattener *f, struct entries *e, struct span key);

// NULL where no value fits.
struct node *lower(struct flattener *f, const struct part *parts, struct site s);
struct node *lower_view(struct flattener *f, struct view *v, const struct part *parts,
                        struct site s);
// The same, with the references that were followed marked as being inlined.
struct node *lower_gathered(struct flattener *f, struct view *v, const struct part *parts,
                            struct site s);
struct node *lower_root(struct flattener *f);
struct node *build_plain(struct flattener *f, struct view *v, unsigned types, struct site s);
struct node *build_anything(struct flattener *f, struct view *v, struct site s);
struct node *build_union(struct flattener *f, struct view *v, const struct part *parts,
                         struct site s);
struct node *build_split(struct flattener *f, struct view *v, struct site s);
// True where what is written needs no more levels than these.
bool parts_fit(const struct flattener *f, const struct part *parts, unsigned levels);
bool view_is_open(const struct view *v);     // it demands nothing
bool view_has_demands(const struct view *v); // besides unions and notes

// True where the reference that stands here is kept: *ref is its JSON, and *bare tells that nothing
// that counts stands beside it.
bool keep_reference(struct flattener *f, const struct part *parts, struct site s, struct span *ref,
                    bool *bare);
int plain_target(struct flattener *f, const struct part *parts);
void lower_definitions(struct flattener *f);
void drop_unused_definitions(struct flattener *f, const struct node *root);
// Views are large, so they are used again.
struct view *view_take(struct flattener *f);
void view_give(struct flattener *f, struct view *v);
struct span renamed_key(struct flattener *f, struct span key, struct site s);

#endif
