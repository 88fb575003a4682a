// SPDX-License-Identifier: Apache-2.0
// /v1/sandboxes: named sandboxes for harnesses and for clients without sessions.
#ifndef WRIST_GATEWAY_PROXY_SANDBOXES_H
#define WRIST_GATEWAY_PROXY_SANDBOXES_H

#include "gateway/proxy/route.h"

struct failure;

// For proxy_add_routes.
const struct route *sandboxes_routes(size_t *count);

// What the files of the endpoint share. The sandbox that the path's handle names, whosever it is;
// NOT_FOUND in the words that every unknown and every foreign one gets.
struct handle_name;
int sandboxes_open_handle(struct visit *v, struct handle_name *out, struct failure *why);
void sandboxes_answer_unknown(struct visit *v);
void sandboxes_upload(struct visit *v);

#endif
