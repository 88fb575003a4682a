// SPDX-License-Identifier: Apache-2.0
//
// The state of a POST to an MCP URL, shared by the files that hold its steps: post.c (to the bound
// sandbox), serve.c (its messages), card_answer.c (answers without a sandbox).
#ifndef WRIST_GATEWAY_PROXY_POST_H
#define WRIST_GATEWAY_PROXY_POST_H

#include "gateway/lib/json/json.h"
#include "gateway/lib/mcp/classify.h"
#include "gateway/proxy/inside.h"
#include "gateway/proxy/mcp_routes.h"
#include "gateway/proxy/place.h"
#include "gateway/proxy/reply.h"
#include "gateway/proxy/translate.h"
#include "gateway/upstream/link_call.h"

enum step { STEP_NEXT, STEP_WAIT, STEP_DONE };

struct post {
    struct visit *v;  // counted until the post has ended
    struct list node; // of the proxy's posts
    size_t step;
    bool is_ended;
    struct arena *arena;     // owned; what the messages point into besides the body
    struct buffer body, out; // out: an answer that is made here
    struct json *doc;        // owned; over the body
    struct mcp_request mcp;
    struct place place;
    struct session session;
    struct reply reply;
    char *session_text; // owned; a new session's id, behind reply.session

    const struct provider *provider; // whose dialect the client gets; NULL: tools as they are
    struct translation translation;  // of the message being served

    struct bind_wait *wait;       // NULL while none runs
    struct lease *lease;          // owned
    struct failure *bind_failure; // owned; NULL: none
    int64_t retry_after_ms;

    size_t message;          // being served
    struct link_call *call;  // its call on the link, NULL while none runs
    enum link_answer answer; // its form
    bool has_answer;
    struct session_stream listening; // of subscriptions/listen
    struct timer timer;              // of the call, or of waiting for the card
    int64_t card_deadline_ms;        // monotonic; 0: not waiting
};

void post_run(struct post *p); // goes on with the step it stands at

// Each answers and returns STEP_DONE, or, where the batch goes on, is followed by the next message.
enum step post_refuse(struct post *p, int status, int code, struct span id, const char *text);
// A failure from binder or link before anything ran, told by status and text.
enum step post_fail(struct post *p, const struct mcp_message *m, const struct failure *why);

enum step serve_messages(struct post *p);
void serve_drained(struct post *p);
// Lets go of the lease and of the call; the call goes on in the worker.
void serve_release(struct post *p);
void serve_cancel(struct post *p); // the call ends in the worker too

// subscriptions/listen: WAIT while the stream is held.
enum step listen_start(struct post *p, const struct mcp_message *m);
void listen_release(struct post *p);

// Whether the message needs hands, by its method.
bool serve_needs_sandbox(struct post *p);

// NEXT: answered; WAIT: no card yet.
enum step card_answer(struct post *p, const struct mcp_message *m);
bool card_has_capability(struct post *p, const char *name);

enum step translate_choose(struct post *p); // a step: whose dialect
struct span translate_list(struct post *p, const struct card *card, const char *member);

// The message as its worker understands it: `body`, or a text that lives until the next call.
struct span translate_call(struct post *p, const struct mcp_message *m, struct span body);
struct span translate_name(const struct post *p, const struct mcp_message *m);

// The answer, while is_on. The end fails where there is none that can be given.
void translate_head(struct post *p);
void translate_piece(struct post *p, struct span bytes);
int translate_end(struct post *p, struct failure *why);

#endif
