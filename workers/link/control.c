// SPDX-License-Identifier: Apache-2.0
// The gateway's own routes: card, bind, grant, status, cancel, sessions, end.
#include "gateway/lib/json/json.h"
#include "gateway/lib/telemetry/log.h"
#include "workers/hands/reads.h"
#include "workers/init/life.h"
#include "workers/link/pending.h"
#include "workers/link/replay.h"
#include "workers/link/service.h"

enum { SMALL_BODY = 16 << 10 };

void card_get(struct service *s, struct exchange *ex)
{
    respond_json(ex, 200, buffer_span(&s->card));
}

static void respond_with_status(struct service *s, struct exchange *ex)
{
    struct link_status status = {
        .generation = s->options.start->generation,
        .idle_ms = life_idle_ms(s->options.life),
        .absolute_left_ms = life_absolute_left_ms(s->options.life),
        .calls = life_calls_running(s->options.life),
        .sessions = (int64_t)hold_sessions(s->hold),
    };
    struct buffer json;
    memcpy(status.sandbox, s->options.start->id, sizeof status.sandbox);
    memcpy(status.principal, hold_principal(s->hold), sizeof status.principal);
    buffer_init(&json, SMALL_BODY);
    (void)link_status_write(&status, &json);
    respond_json(ex, 200, buffer_span(&json));
    buffer_fini(&json);
}

void status_get(struct service *s, struct exchange *ex)
{
    respond_with_status(s, ex);
}

static void take_bind(struct service *s, struct exchange *ex, struct span body)
{
    struct link_bind bind;
    struct failure why;
    int fault = link_bind_parse(body, &bind, &why);
    if (fault == 0 && s->ending)
        fault = failure_set(&why, FAULT_UNAVAILABLE, "the sandbox is ending");
    if (fault == 0)
        fault = hold_bind(s->hold, &bind, &why);
    if (fault != 0) {
        respond_failure(ex, &why);
        return;
    }
    life_bind(s->options.life, bind.idle_ms, bind.absolute_ms);
    respond_with_status(s, ex);
}

void bind_post(struct service *s, struct exchange *ex)
{
    body_collect(s, ex, SMALL_BODY, take_bind);
}

static void end_granted(void *owner, struct span reader)
{
    struct service *s = owner;
    pendings_cancel_session(s->pendings, reader);
    replay_forget(s->replay, reader);
    reads_forget(s->options.reads, reader);
}

static void take_grant(struct service *s, struct exchange *ex, struct span body)
{
    struct link_grant grant;
    struct failure why;
    int fault = link_grant_parse(body, &grant, &why);
    if (fault == 0 && grant.granted != 0)
        fault = hold_grant(s->hold, &grant, &why);
    else if (fault == 0)
        fault = hold_revoke(s->hold, &grant, end_granted, s, &why);
    if (fault != 0) {
        respond_failure(ex, &why);
        return;
    }
    if (grant.granted == 0) // what came without a session
        end_granted(s, span_from_string(grant.principal));
    respond_status(ex, 204);
}

void grant_post(struct service *s, struct exchange *ex)
{
    body_collect(s, ex, SMALL_BODY, take_grant);
}

static void take_cancel(struct service *s, struct exchange *ex, struct span body)
{
    struct json *doc;
    struct failure why;
    struct span call;
    if (json_parse(body, NULL, &doc, &why) != 0) {
        respond_failure(ex, &why);
        return;
    }
    if (json_string_plain(doc, json_get(doc, JSON_ROOT, "call"), &call)) {
        pendings_cancel_link(s->pendings, call);
        respond_status(ex, 204);
    } else {
        failure_set(&why, FAULT_INVALID, "\"call\" must be the id of a call");
        respond_failure(ex, &why);
    }
    json_free(doc);
}

void cancel_post(struct service *s, struct exchange *ex)
{
    body_collect(s, ex, SMALL_BODY, take_cancel);
}

void session_delete(struct service *s, struct exchange *ex)
{
    struct span path = exchange_path(ex);
    struct span session = span_slice(path, sizeof "/sessions/" - 1, path.size);
    pendings_cancel_session(s->pendings, session);
    replay_forget(s->replay, session);
    reads_forget(s->options.reads, session);
    hold_end_session(s->hold, session);
    respond_status(ex, 204);
}

void end_post(struct service *s, struct exchange *ex)
{
    respond_status(ex, 204);
    LOG(LOG_INFO, "link.end", LOG_STRING("sandbox", s->options.start->id));
    s->options.end(s->options.owner);
}
