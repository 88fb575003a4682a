// SPDX-License-Identifier: Apache-2.0
//
// What a place in a schema demands, gathered from every schema that applies there: the one that
// stands there, the targets of its references, the members of its allOf. All of it is in the arena
// of one flattening. Schemas below are kept as parts and are gathered when their turn comes.
#ifndef WRIST_SCHEMAS_VIEW_H
#define WRIST_SCHEMAS_VIEW_H

#include "schemas/document.h"
#include "schemas/loss.h"
#include "schemas/provider.h"

// A list of schemas that all apply; NULL demands nothing.
struct part {
    struct part *next;
    int node;                       // a schema of the document, or JSON_NONE and `any`
    const struct alternatives *any; // at least one of these
    unsigned flags;                 // enum part_flag
};
enum part_flag {
    PART_NO_UNIONS = 1, // its anyOf and oneOf are dealt with elsewhere
    PART_NO_NOTES = 2,  // title, description, default, …
    PART_NO_REF = 4,    // its reference is kept, not followed
    PART_SOFT = 8,      // tell what cannot be merged instead of setting it aside
};

struct alternatives {
    struct part **branch;
    unsigned count;
    bool exclusive; // oneOf
    bool made;      // by us, not in the source
};

struct entry {
    struct span key; // JSON text between the quotes, in one spelling
    struct part *parts;
    unsigned stamp, made; // the last and the first part that named it
};
struct entries {
    struct entry *list;
    uint32_t count, capacity;
    uint32_t *slots; // 1 + index; NULL while there are few
    uint32_t slot_count;
};

struct hint {
    struct hint *next;
    struct span text;
};

enum { VIEW_ORDER_MAX = 80, VIEW_UNIONS_MAX = 16 };

struct condition {
    struct condition *next;
    struct part *if_, *then, *else_;
};

struct view {
    struct view *next_free;
    int origin; // where it was gathered first, for notes
    bool never; // no value fits
    bool cut;   // what stands below was left away: give the types only
    unsigned order_count;
    unsigned losses_before; // of the whole flattening, when gathering began
    unsigned parts_seen;    // schemas read into it
    uint64_t seen[2];       // keywords in `order`

    bool typed, null_flag; // null_flag: OpenAPI's nullable
    unsigned types;        // TYPE_ANY unless typed
    unsigned char type_order[TYPE_COUNT];
    unsigned type_count;

    bool has_enum, is_const;
    int *values; // of enum; JSON_NONE is a null that stands nowhere
    unsigned value_count;

    struct entries properties, patterns, required, dependent_required, dependent_schemas;
    struct part *additional, *names, *unevaluated_properties;
    bool has_additional, has_unevaluated_properties;
    struct part *items, *unevaluated_items, *contains;
    bool has_items, has_unevaluated_items, has_contains;
    struct part **prefix;
    unsigned prefix_count;
    struct part *nots;
    struct condition *condition;
    bool unique;

    unsigned unknown_count;
    struct span ref; // a reference that is kept, as JSON, or absent
    bool deprecated, read_only, write_only;

    unsigned union_count;
    struct part *residual; // what cannot be merged without loss

    struct hint *hints, *last_hint;
    unsigned entered_count;

    // From here on not cleared as a whole: see view_clear.
    int ordering;                    // propertyOrdering
    int text[KW_COUNT];              // pattern, format, title, default, …: node or JSON_NONE
    struct span bound[KW_BOUND_END]; // from KW_BOUND_FIRST on; as written
    // Read up to their counts only.
    unsigned char order[VIEW_ORDER_MAX]; // keywords as they came
    int unknown[8];                      // scalars under keywords we do not know
    const struct alternatives *unions[VIEW_UNIONS_MAX];
    int entered[64]; // targets of references that were followed
};

void view_clear(struct view *v); // demands nothing
struct entry *entries_find(const struct entries *e, struct span key);

#endif
