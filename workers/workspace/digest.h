// SPDX-License-Identifier: Apache-2.0
// SHA-256 over content that comes in pieces.
#ifndef WRIST_WORKERS_WORKSPACE_DIGEST_H
#define WRIST_WORKERS_WORKSPACE_DIGEST_H

#include "gateway/lib/base/span.h"

enum { DIGEST_SIZE = 32 };

struct digest;

struct digest *digest_new(void);
void digest_add(struct digest *d, struct span bytes);
void digest_finish(struct digest *d, unsigned char out[DIGEST_SIZE]); // frees it
void digest_free(struct digest *d);                                   // where it is not finished
void digest_of(struct span bytes, unsigned char out[DIGEST_SIZE]);

#endif
