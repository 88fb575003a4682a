// SPDX-License-Identifier: Apache-2.0
//
// What PID 1 and a hand say to each other over their socket: a head, then `size` bytes. Both are
// the same binary, so the layout is the compiler's. A hand is not believed blindly: it works on
// files that the brain wrote, so sizes and kinds are checked here.
#ifndef WRIST_WORKERS_HANDS_FRAME_H
#define WRIST_WORKERS_HANDS_FRAME_H

#include <stdint.h>

#include "gateway/lib/base/buffer.h"

enum frame_kind {
    // To the hand.
    FRAME_CALL = 1, // struct frame_call, then the arguments as JSON
    FRAME_FILES,    // struct frame_files; a tar stream follows in FRAME_DATA
    FRAME_DATA,
    FRAME_DATA_END,
    FRAME_ANSWER, // to FRAME_ASK: one byte, an enum tool_read_state
    FRAME_EXPORT, // a path, which is then sent in FRAME_DATA
    // From the hand.
    FRAME_ASK,    // a digest, then the canonical path
    FRAME_NOTE,   // likewise; not answered
    FRAME_FACTS,  // struct frame_facts, before an export's FRAME_DATA
    FRAME_RESULT, // struct frame_result, then text of its kind; the job is over
};

struct frame_head {
    uint32_t size;
    uint32_t kind;
};

struct frame_call {
    uint32_t tool; // its place in the table
    uint32_t unused;
    int64_t deadline_us; // monotonic
};

struct frame_files {
    uint32_t root; // enum workspace_root
};

struct frame_facts { // of an export; texts end with a NUL
    uint64_t files, bytes, left_out;
    char type[64];
    char name[300];
};

struct frame_result {
    int32_t fault;     // of an upload or export; 0 for tool calls
    uint32_t is_error; // of a tool call
    // then: the members of a result as a JSON object, or the text of the fault
};

enum { FRAME_LIMIT = 32 << 20 };

int frame_append(struct buffer *out, enum frame_kind kind, struct span first, struct span second);
// 1 with *kind and *payload (valid until `in` is consumed or written to), 0 where more bytes are
// needed, or FAULT_PEER. The caller then consumes frame_bytes(payload).
int frame_peek(const struct buffer *in, enum frame_kind *kind, struct span *payload);
static inline size_t frame_bytes(struct span payload)
{
    return sizeof(struct frame_head) + payload.size;
}

// Blocking, for the hand's end. FAULT_CLOSED at the end of the stream.
int frame_send(int socket, enum frame_kind kind, struct span first, struct span second);
int frame_receive(int socket, struct buffer *in, enum frame_kind *kind, struct span *payload);

#endif
