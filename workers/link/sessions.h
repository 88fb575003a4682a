// SPDX-License-Identifier: Apache-2.0
//
// The MCP sessions of a worker that stands alone. Bounded: past the limit the one not used for
// longest is ended.
#ifndef WRIST_WORKERS_LINK_SESSIONS_H
#define WRIST_WORKERS_LINK_SESSIONS_H

#include "gateway/lib/base/random.h"
#include "gateway/lib/http/exchange.h"
#include "gateway/lib/mcp/revision.h"

struct loop;
struct sessions;

enum { SESSIONS_MAX = 256 };

struct sessions *sessions_new(struct loop *loop);
void sessions_free(struct sessions *s); // NULL is harmless
// A new id in `id`; `evicted` gets the id of the one that had to go, "" for none.
void sessions_open(struct sessions *s, enum mcp_revision revision, char id[ID_SIZE],
                   char evicted[ID_SIZE]);
bool sessions_find(struct sessions *s, struct span id, enum mcp_revision *revision); // also uses it
bool sessions_end(struct sessions *s, struct span id);

// Holds the GET stream of a session open with comments. False where it has one already.
bool sessions_hold_stream(struct sessions *s, struct span id, struct exchange *ex);
void sessions_close_streams(struct sessions *s);

#endif
