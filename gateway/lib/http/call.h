// SPDX-License-Identifier: Apache-2.0
//
// What client.c (the pool and the calls) and client_link.c (one connection) share; nobody else
// includes it.
#ifndef WRIST_GATEWAY_LIB_HTTP_CALL_H
#define WRIST_GATEWAY_LIB_HTTP_CALL_H

#include "gateway/lib/base/list.h"
#include "gateway/lib/http/client.h"
#include "gateway/lib/http/h1_parser.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/net/stream.h"

struct client_link; // one connection to the upstream

enum call_state {
    CALL_WAITING, // in line for a connection; its request lies in `request`
    CALL_RUNNING, // on `link`
    CALL_ENDING,  // `ended` comes from the loop
    CALL_OVER,    // told or cancelled; buried
};

struct http_call {
    struct list node; // while waiting: in the client
    enum call_state state;
    struct http_client *client;
    struct client_link *link; // borrowed; while running
    const struct http_call_ops *ops;
    void *user;
    struct buffer request; // owned; head and body that no link took yet
    struct arena *arena;   // owned; of the response head
    struct http_header *headers;
    size_t header_count;
    int64_t content_length;
    bool is_head, chunked, request_ended, paused, sent, redialled;
    struct failure why; // of CALL_ENDING
    struct task ending;
};

struct http_client {
    struct loop *loop;
    struct http_client_options options;
    struct h1_limits limits;
    struct list waiting; // calls
    struct list idle;    // links, the last used first
    struct list busy;    // links, dialling ones too
    size_t waiting_count, link_count, idle_count;
    struct task assign;
    bool closed;
};

void client_link_dial(struct http_client *c, struct http_call *call);
void client_link_use(struct client_link *link, struct http_call *call); // an idle one
struct client_link *client_link_of_idle_node(struct list *node);
void client_link_close(struct client_link *link);
struct http_call *client_link_call_of_busy_node(struct list *node);
void client_link_pause(struct client_link *link);
int client_link_write(struct client_link *link, struct span bytes);
void client_link_resume(struct client_link *link);
bool client_link_is_choked(const struct client_link *link);
bool client_link_was_sent(const struct client_link *link);

// From the loop. With fault 0 the answer is whole.
void call_finish(struct http_call *call, const struct failure *why);
// No byte of it reached the kernel on a kept connection: it goes to the front of the line, once.
void call_redial(struct http_call *call, struct span unsent);

#endif
