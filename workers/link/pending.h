// SPDX-License-Identifier: Apache-2.0
//
// Tool calls, and who waits for each. A call whose link was lost before its answer could be kept
// elsewhere is detached: it goes on, and the next call of the same reader with the same params,
// whatever its id and _meta, is given its result instead of running again. A modern one is ended
// 30 s after its link was lost, since its client would come at once; a legacy one runs to its end,
// and its result waits for as long. A client that resets its stream is no lost link: its gateway
// says so with a cancel.
#ifndef WRIST_WORKERS_LINK_PENDING_H
#define WRIST_WORKERS_LINK_PENDING_H

#include "workers/link/call.h"
#include "workers/link/dispatch.h"

struct answer;
struct loop;
struct pendings;

enum { DETACHED_MS = 30000, DETACHED_RESULT_BYTES = 16 << 20 };

// `detaches`: a lost connection is a lost link. Stand-alone it is the client that left, and what
// its calls say is dropped.
struct pendings *pendings_new(struct loop *loop, struct calls *calls, bool detaches);
void pendings_free(struct pendings *all); // NULL is harmless

// Runs it, or attaches it to a detached one. `answer` gets the response.
void pending_call(struct pendings *all, const struct tool *tool, const struct json *doc,
                  const struct mcp_message *m, const struct caller *caller, struct answer *answer);

// Cancels what runs and forgets the results that wait. See call.h.
void pendings_cancel_request(struct pendings *all, struct span session, struct span id);
void pendings_cancel_link(struct pendings *all, struct span link_id);
void pendings_cancel_session(struct pendings *all, struct span session);

#endif
