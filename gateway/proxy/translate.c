// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/json/edit.h"
#include "gateway/lib/json/writer.h"
#include "gateway/lib/mcp/sse.h"
#include "gateway/proxy/dialect.h"
#include "gateway/proxy/post.h"
#include "schemas/results.h"

enum { ANSWER_BYTES = 16 << 20, CALL_BYTES = 64 << 20 };

void translation_init(struct translation *t)
{
    *t = (struct translation){0};
    buffer_init(&t->call, CALL_BYTES);
    buffer_init(&t->answer, ANSWER_BYTES);
}

void translation_fini(struct translation *t)
{
    buffer_fini(&t->call);
    buffer_fini(&t->answer);
    memory_free_at(&t->trouble);
    sse_reader_free(t->events);
    t->events = NULL;
}

// --- whose dialect -------------------------------------------------------------------------------

static struct span client_provider(const struct post *p)
{
    if (!p->v->config->by_client_name)
        return SPAN_NONE;
    if (p->session.state == SESSION_KNOWN)
        return span_from_string(p->session.name.provider);
    const struct provider *told = dialect_of_client(p->doc, p->mcp.messages->client_info);
    return told != NULL ? span_from_string(told->name) : SPAN_NONE;
}

int translation_find(struct visit *v, const struct profile *profile, struct span client,
                     const struct provider **out, struct failure *why)
{
    struct dialect_sources sources = {
        .token = span_from_string(principal_provider(v->principal)),
        .profile = span_from_string(profile->provider),
        .client = client,
    };
    if (v->ex != NULL) {
        sources.query = exchange_query(v->ex);
        sources.header = exchange_header(v->ex, "x-wrist-provider");
    }
    return dialect_choose(&sources, out, why);
}

enum step translate_choose(struct post *p)
{
    struct failure why;
    if (translation_find(p->v, p->place.profile, client_provider(p), &p->provider, &why) == 0)
        return STEP_NEXT;
    return post_refuse(p, 400, MCP_ERROR_LEGACY, p->mcp.is_batch ? SPAN_NONE : p->mcp.messages->id,
                       why.text);
}

static const struct tool_list *list_of(struct post *p, const struct card *card)
{
    if (p->provider == NULL || card == NULL)
        return NULL;
    const struct tool_list *list = tool_lists_get(p->v->proxy->tools, card, p->provider);
    return list->map != NULL ? list : NULL;
}

struct span translate_list(struct post *p, const struct card *card, const char *member)
{
    const struct tool_list *list = strcmp(member, "tools") == 0 ? list_of(p, card) : NULL;
    return list != NULL ? list->tools : card_member(card, member);
}

// --- calls ---------------------------------------------------------------------------------------

struct patch {
    struct span at, with;
};

// Everything outside the patches keeps its bytes; they stand in order.
static int splice(struct span whole, const struct patch *patches, size_t count, struct buffer *out)
{
    const char *from = whole.data, *end = whole.data + whole.size;
    for (size_t i = 0; i < count; i++) {
        buffer_append(out, span_of(from, (size_t)(patches[i].at.data - from)));
        buffer_append(out, patches[i].with);
        from = patches[i].at.data + patches[i].at.size;
    }
    return buffer_append(out, span_of(from, (size_t)(end - from)));
}

static struct span quoted(struct post *p, struct span text)
{
    struct buffer out;
    struct json_writer w;
    buffer_init(&out, 8 * text.size + 2);
    json_writer_init(&w, &out);
    json_write_string(&w, text);
    struct span kept = arena_copy(p->arena, buffer_span(&out));
    buffer_fini(&out);
    return kept;
}

static size_t find_patches(struct post *p, const struct mcp_message *m, const struct tool_map *map,
                           struct buffer *arguments, struct patch patches[2])
{
    size_t count = 0;
    struct span own = tool_map_name(map, m->name);
    if (!span_equals(own, m->name)) {
        p->translation.name = own;
        patches[count++] =
            (struct patch){json_raw(p->doc, json_get(p->doc, m->params, "name")), quoted(p, own)};
    }
    if (tool_map_arguments(map, m->name, p->doc, m->arguments, arguments))
        patches[count++] = (struct patch){json_raw(p->doc, m->arguments), buffer_span(arguments)};
    if (count == 2 && patches[0].at.data > patches[1].at.data) {
        struct patch first = patches[1];
        patches[1] = patches[0];
        patches[0] = first;
    }
    return count;
}

struct span translate_call(struct post *p, const struct mcp_message *m, struct span body)
{
    struct translation *t = &p->translation;
    struct buffer arguments;
    struct patch patches[2];
    translation_fini(t);
    translation_init(t);
    bool calls = m->method == MCP_METHOD_TOOLS_CALL;
    t->is_on = p->provider != NULL && p->provider->plain_results &&
               (calls || m->method == MCP_METHOD_TASKS_RESULT);
    const struct tool_list *list =
        calls ? list_of(p, binder_card(p->v->proxy->binder, p->place.profile, NULL)) : NULL;
    if (list == NULL)
        return body;
    buffer_init(&arguments, CALL_BYTES);
    size_t count = find_patches(p, m, list->map, &arguments, patches);
    if (count > 0 && splice(body, patches, count, &t->call) == 0)
        body = buffer_span(&t->call);
    buffer_fini(&arguments);
    return body;
}

struct span translate_name(const struct post *p, const struct mcp_message *m)
{
    return span_is_absent(p->translation.name) ? m->name : p->translation.name;
}

// --- answers -------------------------------------------------------------------------------------

// What is no answer with a result keeps its bytes.
static int rewrite_message(const struct translation *t, struct span message, struct buffer *out,
                           struct failure *why)
{
    struct json *j;
    struct json_edit edit;
    struct buffer result;
    if (json_parse(message, &json_limits_default, &j, why) != 0)
        return why->fault;
    int node = json_get(j, JSON_ROOT, "result"), fault = 0;
    buffer_init(&result, ANSWER_BYTES);
    json_edit_init(&edit, j);
    if (json_type(j, node) == JSON_OBJECT) {
        fault = results_rewrite_call(json_raw(j, node), t->rewrites_texts, &result, why);
        if (fault == 0)
            fault = json_edit_replace(&edit, node, buffer_span(&result));
    }
    if (fault == 0)
        fault = json_edit_write(&edit, out);
    buffer_fini(&result);
    json_free(j);
    return fault;
}

static int on_event(void *owner, const struct sse_event *event)
{
    struct translation *t = owner;
    struct buffer message;
    int fault = 0;
    buffer_init(&message, ANSWER_BYTES);
    buffer_clear(&t->answer);
    if (event->data.size > 0)
        fault = rewrite_message(t, event->data, &message, t->trouble);
    if (fault == 0)
        fault = sse_write_event(&t->answer, event->has_id ? event->id : SPAN_NONE,
                                buffer_span(&message));
    if (fault == 0)
        reply_events(t->reply, buffer_span(&t->answer));
    buffer_fini(&message);
    return fault;
}

static void on_retry(void *owner, int64_t ms)
{
    struct translation *t = owner;
    buffer_clear(&t->answer);
    if (sse_write_retry(&t->answer, ms) == 0)
        reply_events(t->reply, buffer_span(&t->answer));
}

static void on_primed(void *owner, struct span id)
{
    struct translation *t = owner;
    buffer_clear(&t->answer);
    if (buffer_append_string(&t->answer, "id: ") == 0 && buffer_append(&t->answer, id) == 0 &&
        buffer_append_string(&t->answer, "\ndata: \n\n") == 0)
        reply_events(t->reply, buffer_span(&t->answer));
}

static const struct sse_reader_ops event_ops = {
    .event = on_event, .retry = on_retry, .primed = on_primed};

void translation_begin(struct translation *t, bool rewrites_texts, struct reply *events)
{
    buffer_clear(&t->answer);
    memory_free_at(&t->trouble);
    t->trouble = memory_new(sizeof *t->trouble);
    t->rewrites_texts = rewrites_texts;
    t->reply = events;
    if (events != NULL)
        t->events = sse_reader_new(ANSWER_BYTES, &event_ops, t);
}

// After trouble the rest is let go by, and the end tells.
void translation_feed(struct translation *t, struct span bytes)
{
    if (t->trouble->fault != 0)
        return;
    int fault = t->events != NULL ? sse_reader_feed(t->events, bytes, t->trouble)
                                  : buffer_append(&t->answer, bytes);
    if (fault != 0 && t->trouble->fault == 0)
        failure_set(t->trouble, (enum fault)fault, "it is too large");
}

int translation_end_events(struct translation *t, struct failure *why)
{
    if (t->trouble->fault == 0 && !sse_reader_is_between_events(t->events))
        failure_set(t->trouble, FAULT_PEER, "its event stream ended inside an event");
    if (t->trouble->fault != 0)
        *why = *t->trouble;
    return t->trouble->fault;
}

void translate_head(struct post *p)
{
    translation_begin(&p->translation, p->place.profile->rewrite_texts,
                      p->answer == LINK_EVENTS ? &p->reply : NULL);
}

void translate_piece(struct post *p, struct span bytes)
{
    translation_feed(&p->translation, bytes);
}

int translate_end(struct post *p, struct failure *why)
{
    struct translation *t = &p->translation;
    if (t->trouble->fault == 0 && t->events == NULL) {
        buffer_clear(&p->out);
        if (rewrite_message(t, buffer_span(&t->answer), &p->out, t->trouble) == 0)
            reply_message(&p->reply, 200, buffer_span(&p->out));
        else if (t->trouble->fault == 0)
            failure_set(t->trouble, FAULT_TOO_LARGE, "it is too large");
    } else if (t->trouble->fault == 0) {
        translation_end_events(t, why);
    }
    if (t->trouble->fault == 0)
        return 0;
    *why = *t->trouble;
    failure_prefix(why, "the call ran, but its result cannot be said in the way of %s",
                   p->provider->name);
    return why->fault;
}
