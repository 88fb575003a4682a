// SPDX-License-Identifier: Apache-2.0
//
// A flat struct as a JSON object: one table of fields serves the writer and the reader, so the two
// ends cannot drift apart. Members that the table does not know are passed over, so that programs
// of neighbouring versions understand each other.
#ifndef WRIST_GATEWAY_LIB_CONTROL_FIELDS_H
#define WRIST_GATEWAY_LIB_CONTROL_FIELDS_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/json/json.h"
#include "gateway/lib/json/writer.h"

enum field_kind {
    FIELD_ID,    // char[ID_SIZE], 32 lower-case hex digits
    FIELD_HASH,  // char[65], 64 lower-case hex digits
    FIELD_NAME,  // char[], a profile's name
    FIELD_TEXT,  // char[], no NUL
    FIELD_BYTES, // unsigned char[], hex on the wire
    FIELD_I64,   // int64_t, at least `least`
    FIELD_WORD,  // int (an enum from 0), by `words`
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset, size;
    bool optional; // "" where it is absent, and then not written
    int64_t least;
    const char *const *words; // ends with NULL
};

#define FIELD_AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

struct fields {
    const char *what; // "sandbox record", for messages
    const struct field *row;
    size_t count;
};

// The object as one value of a document that is being written.
void fields_write_value(const struct fields *f, const void *from, struct json_writer *w);
int fields_write(const struct fields *f, const void *from, struct buffer *out);
// *to is filled whole, or left zeroed on failure. `f` never has more than 16 rows.
int fields_read_node(const struct fields *f, const struct json *j, int node, void *to,
                     size_t to_size, struct failure *why);
int fields_parse(const struct fields *f, struct span json, void *to, size_t to_size,
                 struct failure *why);

#endif
