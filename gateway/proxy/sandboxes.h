// SPDX-License-Identifier: Apache-2.0
// /v1/sandboxes: named sandboxes for harnesses and for clients without sessions.
#ifndef WRIST_GATEWAY_PROXY_SANDBOXES_H
#define WRIST_GATEWAY_PROXY_SANDBOXES_H

#include "gateway/proxy/route.h"

struct failure;

// For proxy_add_routes.
const struct route *sandboxes_routes(size_t *count);

// What the files of the endpoint share. The sandbox that the path's handle names, the
// asker's own or granted to it; NOT_FOUND in the words that every unknown and foreign one gets.
struct handle_name;
struct json_writer;
int sandboxes_open_handle(struct visit *v, struct handle_name *out, struct failure *why);
void sandboxes_answer_unknown(struct visit *v);
// Its members "handle" and "mcp_url"; see handle_name_seal for `grantee`.
void sandboxes_write_handle(struct visit *v, const char *grantee, const struct handle_name *name,
                            struct json_writer *w);
void sandboxes_write_time(struct json_writer *w, const char *key, int64_t wall_ms);
void sandboxes_respond_json(struct visit *v, int status, const struct json_writer *w);
void sandboxes_upload(struct visit *v);
void sandboxes_download(struct visit *v);

#endif
