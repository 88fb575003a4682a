// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_GATEWAY_LIB_BASE_RANDOM_H
#define WRIST_GATEWAY_LIB_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

void random_bytes(void *out, size_t size); // from the kernel; aborts where there is none

// 128 random bits as 32 lower-case hex digits: sandbox, session and fleet ids.
enum { ID_SIZE = 33 }; // with the closing NUL
void id_new(char out[ID_SIZE]);

// Ids that need to differ, not to be secret: a random start, then a counter.
struct id_series {
    char start[17]; // "" until the first one is taken
    uint64_t next;
};
void id_next(struct id_series *s, char out[ID_SIZE]);

#endif
