// SPDX-License-Identifier: Apache-2.0
//
// What a provider takes, as data. One file in providers/ fills one of these; the flattener and the
// checker read nothing else, so that what `flatten` writes is what `check` accepts.
#ifndef WRIST_SCHEMAS_PROVIDER_H
#define WRIST_SCHEMAS_PROVIDER_H

#include "schemas/keyword.h"

enum refs {
    REFS_INLINE,   // no references at all
    REFS_BARE,     // "#/$defs/x" with nothing beside it
    REFS_SIBLINGS, // what stands beside applies too
};
enum recursion { RECURSION_KEEP, RECURSION_UNROLL, RECURSION_REFUSE };
enum null_style { NULL_TYPE, NULL_FLAG };
enum enum_style {
    ENUM_ANY,
    ENUM_SCALARS,  // no arrays or objects
    ENUM_STRINGS,  // of type string only, none empty
    ENUM_ONE_TYPE, // strings or numbers of one type, none empty, no null
};
enum pattern_style {
    PATTERN_ANY,
    PATTERN_NO_LOOK,  // no look-around
    PATTERN_SIMPLE,   // nor back-references, \b, \p, inline flags
    PATTERN_ANCHORED, // ^…$, no groups with (?
};
enum untyped {
    UNTYPED_KEPT,   // {} means anything
    UNTYPED_UNION,  // every node has a type: anything is a union
    UNTYPED_BARE,   // only a node that says nothing needs the union
    UNTYPED_REFUSED // strict: the caller falls back
};

struct name_rule {
    bool letter_first;   // a letter or '_'
    const char *symbols; // beside letters and digits
    size_t longest;
};

struct provider {
    const char *name;
    const struct provider *otherwise; // a strict mode's: what to use where it refuses
    unsigned char keeps[KW_COUNT];    // keywords that it takes
    unsigned char rejects[KW_COUNT];  // keywords that make it refuse; the rest it ignores
    enum refs refs;
    enum recursion recursion;
    enum null_style null_style;
    enum enum_style enum_style;
    enum pattern_style pattern_style;
    enum untyped untyped;
    bool type_lists;      // "type" may be a list
    bool union_alone;     // nothing but annotations beside anyOf
    bool union_bare;      // not even annotations
    bool union_described; // of them, the description only
    bool strict;          // closed objects; what cannot be said is refused
    bool all_required;    // every property is required, optional ones take null
    bool known_required;  // "required" names declared properties only
    bool properties_beside_required;
    bool free_form_open;        // objects are closed unless they say otherwise
    bool inline_in_maps;        // references below additionalProperties are not followed
    bool map_values;            // additionalProperties may be a schema
    bool int64_bounds;          // bounds on integers fit 64 bits
    bool refs_to_defs;          // what stands outside $defs is inlined, where it can be
    bool plain_ref_names;       // pointer escapes are not undone
    bool property_keys;         // top-level properties match [a-zA-Z0-9_.-]{1,64}
    bool root_is_bare;          // the root has type, properties and required only
    bool array_needs_items;     // an array without items is refused
    bool boolean_schemas;       // true and false below the root
    bool lax;                   // it does not look whether keywords are well-formed
    bool only_kept;             // any keyword that it does not take is an error
    bool plain_results;         // a key "$ref" in a result is taken for a pointer
    bool filled_objects;        // an empty "properties" below the root is refused
    const char *const *formats; // NULL: any; else a list for strings that ends with NULL
    bool number_formats;        // formats on numbers: int32, int64, float, double only
    unsigned min_items_most;    // 0: any
    unsigned depth;             // levels of schemas; 0: ours
    unsigned properties_most, enum_most, optional_most, unions_most;
    size_t text_most; // characters in names, enum and const together
    struct name_rule names;
    unsigned tools_most;       // 0: any
    unsigned description_most; // of a tool; 0: any
};

// NULL where there is no such provider.
const struct provider *provider_find(struct span name);
// All of them, ends with NULL.
extern const struct provider *const provider_list[];

#endif
