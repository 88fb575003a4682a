// SPDX-License-Identifier: Apache-2.0
//
// One message: answered at once, or a tool call whose end answers it.
#ifndef WRIST_WORKERS_LINK_DISPATCH_H
#define WRIST_WORKERS_LINK_DISPATCH_H

#include "gateway/lib/mcp/message.h"
#include "gateway/lib/mcp/revision.h"

struct answer;
struct service;

struct caller {
    struct span session; // absent: none
    struct span reader;
    struct span link_id; // absent: none
    enum mcp_era era;
};

// Whose its calls and shells are: the session's, or without one the principal's.
static inline struct span caller_whose(const struct caller *c)
{
    return c->session.size > 0 ? c->session : c->reader;
}

// `answer` gets the response, or is NULL where the message wants none.
void dispatch_message(struct service *s, const struct json *doc, const struct mcp_message *m,
                      const struct caller *caller, struct answer *answer);
// What an initialize request is answered with.
enum mcp_revision initialize_revision(const struct json *doc, const struct mcp_message *m);

#endif
