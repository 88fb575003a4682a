// SPDX-License-Identifier: Apache-2.0
//
// Who has read which content of which file. Kept by PID 1, so that hands can die; bounded, the one
// not asked for longest is forgotten, which costs the reader one more Read.
#ifndef WRIST_WORKERS_HANDS_READS_H
#define WRIST_WORKERS_HANDS_READS_H

#include "gateway/lib/base/span.h"
#include "workers/tools/tool.h"

struct reads;

struct reads *reads_new(size_t limit);
void reads_free(struct reads *r);
void reads_note(struct reads *r, struct span reader, struct span path,
                const unsigned char digest[TOOL_DIGEST_SIZE]);
enum tool_read_state reads_state(struct reads *r, struct span reader, struct span path,
                                 const unsigned char digest[TOOL_DIGEST_SIZE]);
void reads_forget(struct reads *r, struct span reader); // all of that reader

#endif
