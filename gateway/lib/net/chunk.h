// SPDX-License-Identifier: Apache-2.0
//
// Working memory for buffers that are empty most of the time. A stream borrows a chunk while bytes
// pass through it and gives it back once it is empty, so an idle connection holds none and a busy
// one does not allocate.
#ifndef WRIST_GATEWAY_LIB_NET_CHUNK_H
#define WRIST_GATEWAY_LIB_NET_CHUNK_H

#include "gateway/lib/base/buffer.h"

enum { CHUNK_SIZE = 16 * 1024 + 512 }; // a full TLS record or HTTP/2 frame, and its head

void chunk_lend(struct buffer *b);      // where it has no memory yet; the limit stays
void chunk_take_back(struct buffer *b); // frees or keeps its memory; the content is gone

#endif
