// SPDX-License-Identifier: Apache-2.0
// subscriptions/listen: a stream that is held, since nothing here changes while it is: lists come
// from the card. What was asked for is acknowledged as far as it is honoured: not at all.
#include "gateway/lib/base/random.h"
#include "gateway/proxy/post.h"

#define SUBSCRIPTION "\"_meta\":{\"" MCP_META_PREFIX "subscriptionId\":"

static void write_end(struct post *p)
{
    buffer_clear(&p->out);
    buffer_printf(&p->out,
                  "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"resultType\":\"complete\",",
                  SPAN_ARGS(p->mcp.messages->id));
    buffer_printf(&p->out, SUBSCRIPTION "%.*s}}}", SPAN_ARGS(p->mcp.messages->id));
    reply_message(&p->reply, 200, buffer_span(&p->out));
}

static void on_ended(struct session_stream *stream)
{
    struct post *p = CONTAINER_OF(stream, struct post, listening);
    write_end(p);
    p->message++;
    post_run(p);
}

enum step listen_start(struct post *p, const struct mcp_message *m)
{
    char id[ID_SIZE];
    if (!p->reply.accept.events)
        return post_refuse(p, 406, MCP_ERROR_REQUEST, m->id, "the stream is text/event-stream");
    p->reply.accept.json = false; // a stream from its first message on
    buffer_clear(&p->out);
    buffer_append_string(&p->out, "{\"jsonrpc\":\"2.0\",\"method\":"
                                  "\"notifications/subscriptions/acknowledged\","
                                  "\"params\":{\"notifications\":{}," SUBSCRIPTION);
    buffer_append(&p->out, m->id);
    buffer_append_string(&p->out, "}}}");
    reply_message(&p->reply, 200, buffer_span(&p->out));
    if (p->v->proxy->is_ending) {
        write_end(p);
        return STEP_NEXT;
    }
    p->listening.ended = on_ended;
    id_new(id);
    sessions_put_stream(p->v->proxy->sessions, span_from_string(id), &p->listening);
    return STEP_WAIT;
}

void listen_release(struct post *p)
{
    sessions_remove_stream(p->v->proxy->sessions, &p->listening);
}
