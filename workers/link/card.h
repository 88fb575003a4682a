// SPDX-License-Identifier: Apache-2.0
//
// What this worker is, in the parts that answer initialize and the lists.
#ifndef WRIST_WORKERS_LINK_CARD_H
#define WRIST_WORKERS_LINK_CARD_H

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/base/failure.h"
#include "gateway/lib/mcp/revision.h"

int card_write(bool read_only, struct buffer *out, struct failure *why);
// The results of initialize and tools/list, as JSON objects.
int card_write_initialize(bool read_only, enum mcp_revision revision, struct buffer *out);
int card_write_tools(bool read_only, struct buffer *out);

#endif
