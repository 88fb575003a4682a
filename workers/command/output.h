// SPDX-License-Identifier: Apache-2.0
//
// What a command wrote, in constant memory: the beginning and the end are kept, the middle is
// counted and dropped, since errors tend to stand last.
#ifndef WRIST_WORKERS_COMMAND_OUTPUT_H
#define WRIST_WORKERS_COMMAND_OUTPUT_H

#include "gateway/lib/base/buffer.h"

struct output {
    size_t half;      // bytes kept of the beginning and of the end each
    char *head;       // owned
    char *tail;       // owned; a ring
    size_t head_size; // ≤ half
    size_t tail_size; // ≤ half
    size_t tail_next; // where the next byte of the ring goes
    uint64_t total;   // bytes ever added
};

void output_init(struct output *o, size_t limit_bytes);
void output_fini(struct output *o);
void output_add(struct output *o, struct span bytes);
bool output_is_cut(const struct output *o);
// All of it, or beginning, a line that says how much is missing, and end. Cuts fall between the
// characters of UTF-8 text.
int output_write(const struct output *o, struct buffer *out);

#endif
