// SPDX-License-Identifier: Apache-2.0
// What the files of workers/link share; nobody else includes it.
#ifndef WRIST_WORKERS_LINK_SERVICE_H
#define WRIST_WORKERS_LINK_SERVICE_H

#include "gateway/lib/base/buffer.h"
#include "workers/link/call.h"
#include "workers/link/handler.h"
#include "workers/link/hold.h"
#include "workers/link/link.h"

struct pendings;
struct replay;
struct sessions;

struct service {
    struct link_options options;
    struct hold *hold;
    struct sessions *sessions; // stand-alone only, else NULL
    struct pendings *pendings;
    struct replay *replay;
    struct http_server *server;
    struct listener *listener;
    struct buffer card;
    bool ending;
};

// Collects the body, at most limit_bytes, then hands it over.
void body_collect(struct service *s, struct exchange *ex, size_t limit_bytes,
                  void (*handle)(struct service *s, struct exchange *ex, struct span body));

// The routes' functions.
void mcp_post(struct service *s, struct exchange *ex);
void mcp_get(struct service *s, struct exchange *ex);    // stand-alone
void mcp_resume(struct service *s, struct exchange *ex); // linked
void mcp_delete(struct service *s, struct exchange *ex); // stand-alone
void card_get(struct service *s, struct exchange *ex);
void bind_post(struct service *s, struct exchange *ex);
void grant_post(struct service *s, struct exchange *ex);
void status_get(struct service *s, struct exchange *ex);
void cancel_post(struct service *s, struct exchange *ex);
void session_delete(struct service *s, struct exchange *ex);
void files_put(struct service *s, struct exchange *ex);
void files_get(struct service *s, struct exchange *ex);
void end_post(struct service *s, struct exchange *ex);

#endif
