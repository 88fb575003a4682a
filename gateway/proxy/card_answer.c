// SPDX-License-Identifier: Apache-2.0
// What is answered without a sandbox: initialize, ping and the lists, spliced from the card.
#include <stdio.h>

#include "gateway/lib/base/random.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/proxy/dialect.h"
#include "gateway/proxy/dispatch.h"
#include "gateway/proxy/post.h"

enum { CARD_POLL_MS = 50 };

static void append_member(struct buffer *out, const char *name, struct span value)
{
    if (!span_is_absent(value)) {
        buffer_printf(out, ",\"%s\":", name);
        buffer_append(out, value);
    }
}

static void open_result(struct post *p, const struct mcp_message *m)
{
    buffer_clear(&p->out);
    buffer_append_string(&p->out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buffer_append(&p->out, m->id);
    buffer_append_string(&p->out, ",\"result\":{");
}

static enum step close_result(struct post *p)
{
    if (buffer_append_string(&p->out, "}}") != 0)
        return post_refuse(p, 200, MCP_ERROR_INTERNAL, SPAN_NONE, "the answer is too large");
    reply_message(&p->reply, 200, buffer_span(&p->out));
    return STEP_NEXT;
}

// --- initialize ----------------------------------------------------------------------------------

// Nothing is written anywhere: all that the session is stands in its id.
static int make_session(struct post *p, const struct mcp_message *m, enum mcp_revision revision)
{
    struct visit *v = p->v;
    struct session_name name = {.issued_ms = binder_now_ms(v->proxy->binder), .revision = revision};
    struct buffer text;
    const struct provider *told =
        dialect_of_client(p->doc, json_get(p->doc, m->params, "clientInfo"));
    if (told != NULL)
        span_copy_string(span_from_string(told->name), name.provider, sizeof name.provider);
    memcpy(name.volume, p->place.volume, sizeof name.volume);
    id_new(name.id);
    session_name_mark(&name);
    buffer_init(&text, SEALED_TEXT_SIZE - 1);
    int fault =
        session_name_seal(v->proxy->keyring, v->principal, place_key(&p->place), &name, &text);
    if (fault == 0) {
        p->session_text = memory_copy_span(buffer_span(&text));
        p->reply.session = span_from_string(p->session_text);
    }
    buffer_fini(&text);
    session_note(v, &name);
    return fault;
}

static enum mcp_revision negotiate(const struct post *p, const struct mcp_message *m)
{
    struct span asked = SPAN_NONE;
    json_string_plain(p->doc, json_get(p->doc, m->params, "protocolVersion"), &asked);
    return mcp_revision_negotiate(asked);
}

static enum step answer_initialize(struct post *p, const struct mcp_message *m,
                                   const struct card *card, enum mcp_revision revision)
{
    open_result(p, m);
    buffer_printf(&p->out, "\"protocolVersion\":\"%s\"", mcp_revision_text(revision));
    struct span capabilities = card_member(card, "capabilities");
    append_member(&p->out, "capabilities",
                  span_is_absent(capabilities) ? SPAN_LITERAL("{}") : capabilities);
    append_member(&p->out, "serverInfo", card_member(card, "serverInfo"));
    append_member(&p->out, "instructions", card_member(card, "instructions"));
    meters_session_opened(p->v->proxy->meters);
    return close_result(p);
}

// --- discover ---------------------------------------------------------------------------------

#define COMPLETE "\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\""

// Never waits and never fails: a client takes a 5xx here as the end of it.
static enum step answer_discover(struct post *p, const struct mcp_message *m,
                                 const struct card *card)
{
    struct span capabilities = card != NULL ? card_member(card, "capabilities") : SPAN_NONE;
    struct span server = card != NULL ? card_member(card, "serverInfo") : SPAN_NONE;
    open_result(p, m);
    buffer_append_string(&p->out, COMPLETE ",\"supportedVersions\":");
    mcp_revisions_write(dispatch_eras, &p->out);
    append_member(&p->out, "capabilities",
                  span_is_absent(capabilities) ? SPAN_LITERAL("{\"tools\":{}}") : capabilities);
    if (card != NULL)
        append_member(&p->out, "instructions", card_member(card, "instructions"));
    if (!span_is_absent(server)) {
        buffer_append_string(&p->out, ",\"_meta\":{\"" MCP_META_PREFIX "serverInfo\":");
        buffer_append(&p->out, server);
        buffer_append_char(&p->out, '}');
    }
    return close_result(p);
}

// --- lists ---------------------------------------------------------------------------------------

static enum step answer_list(struct post *p, const struct mcp_message *m, const struct card *card,
                             const char *member)
{
    struct span list = translate_list(p, card, member);
    if (span_is_absent(list)) {
        buffer_clear(&p->out);
        mcp_write_error(&p->out, m->id, MCP_ERROR_METHOD, SPAN_LITERAL("Method not found"),
                        SPAN_NONE);
        reply_message(&p->reply, mcp_error_status(MCP_ERROR_METHOD, p->mcp.era),
                      buffer_span(&p->out));
        return STEP_NEXT;
    }
    open_result(p, m);
    if (p->mcp.era == MCP_ERA_MODERN)
        buffer_append_string(&p->out, COMPLETE ",");
    buffer_printf(&p->out, "\"%s\":", member);
    buffer_append(&p->out, list);
    return close_result(p);
}

// --- the card ------------------------------------------------------------------------------------

bool card_has_capability(struct post *p, const char *name)
{
    const struct card *card = binder_card(p->v->proxy->binder, p->place.profile, NULL);
    struct json *doc;
    if (card == NULL ||
        json_parse(card_member(card, "capabilities"), &json_limits_default, &doc, NULL) != 0)
        return false;
    bool has = json_get(doc, JSON_ROOT, name) != JSON_NONE;
    json_free(doc);
    return has;
}

static void look_again(struct timer *t)
{
    post_run(CONTAINER_OF(t, struct post, timer));
}

// At a pool's start no worker has been asked yet: wait for it as for a cold sandbox.
static enum step wait_for_card(struct post *p, const struct mcp_message *m,
                               const struct failure *why)
{
    struct loop *loop = p->v->proxy->loop;
    if (p->card_deadline_ms == 0)
        p->card_deadline_ms = loop_now_ms(loop) + p->place.profile->start_timeout_ms;
    if (loop_now_ms(loop) >= p->card_deadline_ms) {
        struct failure late = *why;
        late.fault = FAULT_UNAVAILABLE;
        return post_fail(p, m, &late);
    }
    reply_commit_later(&p->reply);
    timer_init(&p->timer, loop, look_again);
    timer_start(&p->timer, CARD_POLL_MS);
    return STEP_WAIT;
}

enum step card_answer(struct post *p, const struct mcp_message *m)
{
    const struct dispatch *d = dispatch_find(p->mcp.era, m->method);
    struct failure why = {0};
    if (d->handling == HANDLE_PING) {
        open_result(p, m);
        return close_result(p);
    }
    enum mcp_revision revision =
        d->handling == HANDLE_INITIALIZE ? negotiate(p, m) : p->mcp.revision;
    // The id goes out with the head, which waiting may send before the answer.
    if (d->handling == HANDLE_INITIALIZE && span_is_absent(p->reply.session) &&
        make_session(p, m, revision) != 0)
        return post_refuse(p, 200, MCP_ERROR_INTERNAL, m->id, "no session could be made");
    const struct card *card = binder_card(p->v->proxy->binder, p->place.profile, &why);
    if (d->handling == HANDLE_DISCOVER)
        return answer_discover(p, m, card);
    if (card == NULL)
        return wait_for_card(p, m, &why);
    if (d->handling == HANDLE_LIST)
        return answer_list(p, m, card, d->member);
    p->v->is_audited = true;
    return answer_initialize(p, m, card, revision);
}
