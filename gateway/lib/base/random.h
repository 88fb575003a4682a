// SPDX-License-Identifier: Apache-2.0
#ifndef WRIST_GATEWAY_LIB_BASE_RANDOM_H
#define WRIST_GATEWAY_LIB_BASE_RANDOM_H

#include <stddef.h>

void random_bytes(void *out, size_t size); // from the kernel; aborts where there is none

// 128 random bits as 32 lower-case hex digits: sandbox, session and fleet ids.
enum { ID_SIZE = 33 }; // with the closing NUL
void id_new(char out[ID_SIZE]);

#endif
