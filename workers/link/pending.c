// SPDX-License-Identifier: Apache-2.0
#include "workers/link/pending.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/crypto/digest.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/lib/mcp/envelope.h"
#include "gateway/lib/telemetry/log.h"
#include "workers/link/answer.h"
#include "workers/link/respond.h"

enum { PROGRESS_MS = 10000 };

struct pendings {
    struct loop *loop; // borrowed, as the next
    struct calls *calls;
    bool detaches;
    struct list detached; // owned; the one lost first stands first
    size_t kept_bytes;    // of their results
};

struct pending {
    struct list node; // of the detached; linked to nothing while somebody waits
    struct pendings *all;
    struct answer *answer; // NULL: nobody waits
    struct answer_wait wait;
    struct call *call; // NULL once it has ended
    const struct tool *tool;
    char *id, *token; // owned; raw JSON-RPC id and progress token, "" for no token
    char *session, *link_id;
    unsigned char key[SHA256_SIZE]; // of reader and params
    enum mcp_era era;
    struct timer progress, patience;
    int64_t started_us;
    struct buffer result; // of a detached one that has ended
    size_t kept;          // of it in all->kept_bytes
};

struct pendings *pendings_new(struct loop *loop, struct calls *calls, bool detaches)
{
    struct pendings *all = memory_new(sizeof *all);
    *all = (struct pendings){.loop = loop, .calls = calls, .detaches = detaches};
    list_init(&all->detached);
    return all;
}

static void pending_free(void *object)
{
    struct pending *p = object;
    buffer_fini(&p->result);
    free(p->id);
    free(p->token);
    free(p->session);
    free(p->link_id);
    free(p);
}

static void leave_detached(struct pending *p)
{
    timer_cancel(&p->patience);
    list_remove(&p->node);
    p->all->kept_bytes -= p->kept;
    p->kept = 0;
}

static void bury(struct pending *p)
{
    leave_detached(p);
    timer_cancel(&p->progress);
    loop_bury(p->all->loop, p, pending_free);
}

void pendings_free(struct pendings *all)
{
    if (all == NULL)
        return;
    LIST_EACH(node, &all->detached)
    {
        struct pending *p = LIST_ENTRY(node, struct pending, node);
        if (p->call == NULL)
            bury(p);
    }
    free(all);
}

// --- whose call it is -----------------------------------------------------------------------

static void digest_piece(struct sha256 *digest, struct span piece)
{
    uint64_t size = piece.size;
    sha256_update(digest, span_of(&size, sizeof size));
    sha256_update(digest, piece);
}

// Of everything that says what is asked. _meta says how: progress tokens and trace ids differ when
// a client asks again.
static void key_of(const struct json *doc, const struct mcp_message *m, const struct caller *caller,
                   unsigned char key[SHA256_SIZE])
{
    struct sha256 *digest = sha256_start();
    sha256_update(digest, span_of(&caller->era, sizeof caller->era));
    digest_piece(digest, caller->reader);
    JSON_EACH(member, doc, m->params)
    {
        if (span_is(json_key_raw(doc, member), "_meta"))
            continue;
        digest_piece(digest, json_key_raw(doc, member));
        digest_piece(digest, json_raw(doc, member));
    }
    sha256_finish(digest, key);
}

static struct pending *find_detached(struct pendings *all, const unsigned char key[SHA256_SIZE])
{
    LIST_EACH(node, &all->detached)
    {
        struct pending *p = LIST_ENTRY(node, struct pending, node);
        if (memcmp(p->key, key, SHA256_SIZE) == 0)
            return p;
    }
    return NULL;
}

// --- its answer -----------------------------------------------------------------------------

// Tells a client with a time-out of its own that the call still runs.
static void on_progress(struct timer *timer)
{
    struct pending *p = CONTAINER_OF(timer, struct pending, progress);
    int64_t seconds = (loop_now_us(p->all->loop) - p->started_us) / 1000000;
    struct buffer json;
    buffer_init(&json, 8192);
    buffer_printf(&json,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                  "\"progressToken\":%s,\"progress\":%" PRId64 ",\"message\":\"%s still runs, "
                  "%" PRId64 " s so far\"}}",
                  p->token, seconds, p->tool->name, seconds);
    answer_notify(p->answer, buffer_span(&json));
    buffer_fini(&json);
    timer_start(timer, PROGRESS_MS);
}

static void give(struct pending *p, struct span result)
{
    struct answer *answer = p->answer;
    answer_unwatch(&p->wait);
    p->answer = NULL;
    if (span_is_absent(result))
        answer_skip(answer);
    else if (p->era == MCP_ERA_MODERN)
        respond_complete(answer, span_from_string(p->id), result);
    else
        respond_result(answer, span_from_string(p->id), result);
    bury(p);
}

// A link that broke has its results forgotten, the oldest first, before they fill the worker.
static void limit_kept(struct pendings *all)
{
    LIST_EACH(node, &all->detached)
    {
        struct pending *p = LIST_ENTRY(node, struct pending, node);
        if (all->kept_bytes <= DETACHED_RESULT_BYTES)
            return;
        if (p->call == NULL)
            bury(p);
    }
}

static void keep(struct pending *p, struct span result)
{
    if (buffer_append(&p->result, result) != 0) {
        bury(p);
        return;
    }
    p->kept = buffer_size(&p->result);
    p->all->kept_bytes += p->kept;
    if (p->era == MCP_ERA_LEGACY)
        timer_start(&p->patience, DETACHED_MS);
    limit_kept(p->all);
}

static void on_ended(void *owner, struct span result)
{
    struct pending *p = owner;
    bool is_detached = p->answer == NULL && p->all->detaches;
    p->call = NULL;
    timer_cancel(&p->progress);
    if (p->answer != NULL)
        give(p, result);
    else if (is_detached && !span_is_absent(result))
        keep(p, result);
    else
        bury(p);
}

// --- a lost link ----------------------------------------------------------------------------

static void on_patience(struct timer *timer)
{
    struct pending *p = CONTAINER_OF(timer, struct pending, patience);
    LOG(LOG_INFO, "call.given_up", LOG_STRING("tool", p->tool->name),
        LOG_BOOL("had_ended", p->call == NULL));
    if (p->call != NULL)
        call_cancel(p->call);
    else
        bury(p);
}

static void on_gone(struct answer_wait *w)
{
    struct pending *p = CONTAINER_OF(w, struct pending, wait);
    struct answer *answer = p->answer;
    timer_cancel(&p->progress);
    p->answer = NULL;
    answer_skip(answer);
    if (!p->all->detaches)
        return;
    LOG(LOG_INFO, "call.detached", LOG_STRING("tool", p->tool->name));
    list_append(&p->all->detached, &p->node);
    if (p->era == MCP_ERA_MODERN)
        timer_start(&p->patience, DETACHED_MS);
}

// --- calls ----------------------------------------------------------------------------------

static void set_text(char **text, struct span now)
{
    free(*text);
    *text = memory_copy_span(now);
}

static void wait_for(struct pending *p, const struct json *doc, const struct mcp_message *m,
                     const struct caller *caller, struct answer *answer)
{
    p->answer = answer;
    set_text(&p->id, m->id);
    set_text(&p->link_id, caller->link_id);
    set_text(&p->token,
             m->progress_token != JSON_NONE ? json_raw(doc, m->progress_token) : SPAN_NONE);
    answer_watch(answer, &p->wait);
    if (p->token[0] != '\0' && strlen(p->token) <= MCP_ID_BYTES)
        timer_start(&p->progress, PROGRESS_MS);
}

static void attach(struct pending *p, const struct json *doc, const struct mcp_message *m,
                   const struct caller *caller, struct answer *answer)
{
    LOG(LOG_INFO, "call.attached", LOG_STRING("tool", p->tool->name),
        LOG_BOOL("had_ended", p->call == NULL));
    leave_detached(p);
    wait_for(p, doc, m, caller, answer);
    if (p->call != NULL)
        call_rename(p->call, m->id, caller->link_id);
    else
        give(p, buffer_span(&p->result));
}

static void begin(struct pending *p, const struct json *doc, const struct mcp_message *m,
                  const struct caller *caller)
{
    const struct call_request request = {
        .tool = p->tool,
        .doc = doc,
        .arguments = m->arguments,
        .reader = caller->reader,
        .session = caller_whose(caller),
        .id = m->id,
        .link_id = caller->link_id,
    };
    p->call = call_start(p->all->calls, &request, on_ended, p);
}

void pending_call(struct pendings *all, const struct tool *tool, const struct json *doc,
                  const struct mcp_message *m, const struct caller *caller, struct answer *answer)
{
    unsigned char key[SHA256_SIZE];
    key_of(doc, m, caller, key);
    struct pending *p = find_detached(all, key);
    if (p != NULL) {
        attach(p, doc, m, caller, answer);
        return;
    }
    p = memory_new(sizeof *p);
    *p = (struct pending){
        .all = all,
        .tool = tool,
        .era = caller->era,
        .wait = {.gone = on_gone},
        .session = memory_copy_span(caller_whose(caller)),
        .started_us = loop_now_us(all->loop),
    };
    memcpy(p->key, key, sizeof p->key);
    buffer_init(&p->result, DETACHED_RESULT_BYTES);
    timer_init(&p->progress, all->loop, on_progress);
    timer_init(&p->patience, all->loop, on_patience);
    wait_for(p, doc, m, caller, answer);
    begin(p, doc, m, caller);
}

// --- cancellation ---------------------------------------------------------------------------

// NULL is not looked at.
static void forget(struct pendings *all, const struct span *session, const struct span *id,
                   const struct span *link_id)
{
    LIST_EACH(node, &all->detached)
    {
        struct pending *p = LIST_ENTRY(node, struct pending, node);
        if (p->call != NULL || (session != NULL && !span_is(*session, p->session)) ||
            (id != NULL && !span_is(*id, p->id)) ||
            (link_id != NULL && !span_is(*link_id, p->link_id)))
            continue;
        bury(p);
    }
}

void pendings_cancel_request(struct pendings *all, struct span session, struct span id)
{
    calls_cancel_request(all->calls, session, id);
    forget(all, &session, &id, NULL);
}

void pendings_cancel_link(struct pendings *all, struct span link_id)
{
    calls_cancel_link(all->calls, link_id);
    forget(all, NULL, NULL, &link_id);
}

void pendings_cancel_session(struct pendings *all, struct span session)
{
    calls_cancel_session(all->calls, session);
    forget(all, &session, NULL, NULL);
}
