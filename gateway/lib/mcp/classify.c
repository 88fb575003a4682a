// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/mcp/classify.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/mcp/header_value.h"

struct ladder {
    const struct json *doc;
    const struct mcp_headers *headers;
    const struct mcp_context *context;
    struct arena *arena;
    struct mcp_request *out;
    struct mcp_refusal *refusal;
};

static int refuse(struct ladder *l, int code, struct span id, const char *text)
{
    return mcp_refusal_set(l->refusal, 400, code, id, "%s", text);
}

// --- modern ---------------------------------------------------------------------------------

static int check_meta(struct ladder *l, const struct mcp_message *m)
{
    bool version = m->claimed_version != JSON_NONE;
    bool capabilities = m->client_capabilities != JSON_NONE;
    if (!version || !capabilities)
        return mcp_refusal_set(l->refusal, 400, MCP_ERROR_PARAMS, m->id,
                               "params._meta lacks %s%s%s",
                               version ? "" : MCP_META_PREFIX "protocolVersion",
                               version || capabilities ? "" : " and ",
                               capabilities ? "" : MCP_META_PREFIX "clientCapabilities");
    if (json_type(l->doc, m->claimed_version) != JSON_STRING)
        return refuse(l, MCP_ERROR_PARAMS, m->id,
                      "params._meta." MCP_META_PREFIX "protocolVersion must be a string");
    if (json_type(l->doc, m->client_capabilities) != JSON_OBJECT)
        return refuse(l, MCP_ERROR_PARAMS, m->id,
                      "params._meta." MCP_META_PREFIX "clientCapabilities must be an object");
    return 0;
}

static int check_mirror(struct ladder *l, const struct mcp_message *m, const char *header,
                        struct span sent, struct span meant)
{
    if (span_is_absent(sent))
        return mcp_refusal_set(l->refusal, 400, MCP_ERROR_HEADERS, m->id,
                               "the header %s is missing", header);
    if (!span_equals(sent, meant))
        return mcp_refusal_set(l->refusal, 400, MCP_ERROR_HEADERS, m->id,
                               "the header %s differs from the body", header);
    return 0;
}

// Notifications have no Mcp-Method duty; where it is sent it must agree.
static int check_headers(struct ladder *l, const struct mcp_message *m, struct span version)
{
    const struct mcp_headers *h = l->headers;
    int fault = check_mirror(l, m, "MCP-Protocol-Version", h->version, version);
    if (fault == 0 && (m->kind == MCP_REQUEST || !span_is_absent(h->method)))
        fault = check_mirror(l, m, "Mcp-Method", h->method, m->method_text);
    if (fault != 0 || span_is_absent(m->name))
        return fault;
    struct failure why;
    struct span name = SPAN_NONE;
    if (!span_is_absent(h->name) && mcp_header_decode(h->name, l->arena, &name, &why) != 0)
        return mcp_refusal_set(l->refusal, 400, MCP_ERROR_HEADERS, m->id, "Mcp-Name: %s", why.text);
    return check_mirror(l, m, "Mcp-Name", name, m->name);
}

static int refuse_version(struct ladder *l, const struct mcp_message *m, struct span version)
{
    mcp_refusal_set(l->refusal, 400, MCP_ERROR_VERSION, m->id,
                    "this protocol version is not supported");
    l->refusal->supported_eras = l->context->eras;
    l->refusal->requested = version;
    return FAULT_REQUEST;
}

static int classify_modern(struct ladder *l, const struct mcp_message *m)
{
    if (m->kind == MCP_RESPONSE)
        return refuse(l, MCP_ERROR_REQUEST, m->id, "this revision knows no responses from clients");
    int fault = check_meta(l, m);
    if (fault != 0)
        return fault;
    struct span version = SPAN_NONE;
    if (!json_string_arena(l->doc, m->claimed_version, l->arena, &version))
        return refuse(l, MCP_ERROR_PARAMS, m->id, "the protocol version cannot be read");
    // A server without the modern era says so at once, so that a client may fall back.
    if ((l->context->eras & MCP_ERA_MODERN) == 0)
        return refuse_version(l, m, version);
    fault = check_headers(l, m, version);
    if (fault != 0)
        return fault;
    l->out->era = MCP_ERA_MODERN;
    l->out->revision = mcp_revision_from(version);
    if (mcp_revision_era(l->out->revision) != MCP_ERA_MODERN)
        return refuse_version(l, m, version);
    return 0;
}

// --- legacy ---------------------------------------------------------------------------------

// The header's revision; a modern one here is a client that mixes both eras in a known session.
static int legacy_revision(struct ladder *l, struct span id)
{
    enum mcp_revision negotiated = l->context->session_revision;
    enum mcp_revision told = mcp_revision_from(l->headers->version);
    bool modern = mcp_version_claims_modern(l->headers->version);
    if (!span_is_absent(l->headers->version) && told == MCP_REVISION_UNKNOWN && !modern)
        return refuse(l, MCP_ERROR_LEGACY, id,
                      "MCP-Protocol-Version is none of the versions that are supported: "
                      "2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, 2024-10-07");
    if (told == MCP_REVISION_UNKNOWN || modern)
        told = negotiated != MCP_REVISION_UNKNOWN ? negotiated
                                                  : (enum mcp_revision)MCP_REVISION_ASSUMED;
    l->out->revision = told;
    return 0;
}

static int classify_initialize(struct ladder *l, const struct mcp_message *m)
{
    if (mcp_version_claims_modern(l->headers->version))
        return refuse(l, MCP_ERROR_HEADERS, m->id,
                      "MCP-Protocol-Version names a revision without initialize");
    if (m->kind != MCP_REQUEST)
        return refuse(l, MCP_ERROR_REQUEST, m->id, "initialize needs an id");
    l->out->revision = (enum mcp_revision)MCP_REVISION_ASSUMED;
    return 0;
}

static int classify_single(struct ladder *l)
{
    struct mcp_message *m = arena_alloc(l->arena, sizeof *m);
    struct failure why;
    int fault = mcp_message_read(l->doc, JSON_ROOT, l->arena, m, &why);
    // Bad params are the answer to a request; what wants no answer is refused by the status.
    bool params = fault == FAULT_INVALID;
    if (fault != 0)
        return mcp_refusal_set(l->refusal, params && m->kind == MCP_REQUEST ? 200 : 400,
                               params ? MCP_ERROR_PARAMS : MCP_ERROR_REQUEST, m->id, "%s",
                               why.text);
    l->out->messages = m;
    l->out->count = 1;
    l->out->requests = m->kind == MCP_REQUEST;
    l->out->era = MCP_ERA_LEGACY;
    if (m->claimed_version != JSON_NONE)
        return classify_modern(l, m);
    if (m->method == MCP_METHOD_INITIALIZE)
        return classify_initialize(l, m);
    if (mcp_version_claims_modern(l->headers->version) && !l->context->session_known)
        return classify_modern(l, m);
    return legacy_revision(l, m->id);
}

// --- batches --------------------------------------------------------------------------------

static int check_batch_allowed(struct ladder *l)
{
    enum mcp_revision negotiated = l->context->session_revision;
    bool old = span_is_absent(l->headers->version) || span_is(l->headers->version, "2025-03-26") ||
               (negotiated != MCP_REVISION_UNKNOWN && negotiated <= MCP_REVISION_2025_03_26);
    size_t count = json_count(l->doc, JSON_ROOT);
    if (!old)
        return refuse(l, MCP_ERROR_REQUEST, SPAN_NONE, "this revision knows no batches");
    if (count == 0)
        return refuse(l, MCP_ERROR_REQUEST, SPAN_NONE, "the batch is empty");
    if (count > MCP_BATCH_MAX)
        return refuse(l, MCP_ERROR_REQUEST, SPAN_NONE, "a batch has 100 messages at most");
    return 0;
}

static int check_batch_member(struct ladder *l, const struct mcp_message *m)
{
    if (m->claimed_version != JSON_NONE)
        return refuse(l, MCP_ERROR_REQUEST, SPAN_NONE, "2026-07-28 knows no batches");
    if (m->method == MCP_METHOD_INITIALIZE)
        return refuse(l, MCP_ERROR_REQUEST, SPAN_NONE, "initialize stands alone, in no batch");
    for (const struct mcp_message *o = l->out->messages; m->kind == MCP_REQUEST && o < m; o++) {
        if (o->kind == MCP_REQUEST && span_equals(o->id, m->id))
            return refuse(l, MCP_ERROR_REQUEST, SPAN_NONE, "an id stands twice in the batch");
    }
    return 0;
}

static int classify_batch(struct ladder *l)
{
    int fault = check_batch_allowed(l);
    if (fault != 0)
        return fault;
    l->out->is_batch = true;
    l->out->era = MCP_ERA_LEGACY;
    l->out->revision = MCP_REVISION_2025_03_26;
    l->out->messages =
        arena_alloc(l->arena, json_count(l->doc, JSON_ROOT) * sizeof *l->out->messages);
    JSON_EACH(node, l->doc, JSON_ROOT)
    {
        struct mcp_message *m = &l->out->messages[l->out->count];
        struct failure why;
        if (mcp_message_read(l->doc, node, l->arena, m, &why) != 0)
            return mcp_refusal_set(l->refusal, 400, MCP_ERROR_REQUEST, SPAN_NONE,
                                   "message %zu of the batch: %.200s", l->out->count + 1, why.text);
        fault = check_batch_member(l, m);
        if (fault != 0)
            return fault;
        l->out->count++;
        l->out->requests += m->kind == MCP_REQUEST;
    }
    return 0;
}

int mcp_classify(const struct json *doc, const struct mcp_headers *headers,
                 const struct mcp_context *context, struct arena *arena, struct mcp_request *out,
                 struct mcp_refusal *refusal)
{
    *out = (struct mcp_request){.era = MCP_ERA_LEGACY};
    struct ladder l = {doc, headers, context, arena, out, refusal};
    return json_type(doc, JSON_ROOT) == JSON_ARRAY ? classify_batch(&l) : classify_single(&l);
}
