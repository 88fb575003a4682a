// SPDX-License-Identifier: Apache-2.0
#include "workers/link/card.h"

#include "gateway/lib/crypto/digest.h"
#include "gateway/lib/json/writer.h"
#include "workers/tools/tool.h"

enum { PARTS_LIMIT = 1 << 20 };

static const char instructions[] =
    "A sandbox with a workspace at /workspace; inputs, where there are any, are at /inputs and are "
    "read-only. Read a file before you Write over it or Edit it. Each Bash call is a fresh shell "
    "in "
    "/workspace, and nothing that it starts outlives it.";

static const char read_only_instructions[] =
    "A sandbox to read in: what was uploaded is at /workspace. Nothing can be written or run.";

static void write_server(struct json_writer *w, bool read_only)
{
    json_write_key(w, "serverInfo");
    json_object_open(w);
    json_write_member_string(w, "name", "wrist-worker");
    json_write_member_string(w, "title", "Wrist sandbox");
    json_write_member_string(w, "version", "0.1.0");
    json_object_close(w);
    json_write_key(w, "capabilities");
    json_write_raw(w, SPAN_LITERAL("{\"tools\":{}}"));
    json_write_member_string(w, "instructions", read_only ? read_only_instructions : instructions);
}

static void write_tools(struct json_writer *w, bool read_only)
{
    json_write_key(w, "tools");
    tool_list_write(w, read_only);
}

static void write_parts(struct json_writer *w, bool read_only)
{
    write_server(w, read_only);
    write_tools(w, read_only);
}

// The digest is of the parts, so that equal cards can be known by it.
int card_write(bool read_only, struct buffer *out, struct failure *why)
{
    struct buffer parts;
    struct json_writer w;
    char digest[SHA256_HEX_SIZE];
    buffer_init(&parts, PARTS_LIMIT);
    json_writer_init(&w, &parts);
    json_object_open(&w);
    write_parts(&w, read_only);
    json_object_close(&w);
    int fault = json_writer_finish(&w);
    if (fault == 0) {
        struct span inner = span_slice(buffer_span(&parts), 1, buffer_size(&parts));
        sha256_hex(buffer_span(&parts), digest);
        fault = buffer_printf(out, "{\"digest\":\"sha256:%s\",", digest);
        if (fault == 0)
            fault = buffer_append(out, inner);
    }
    buffer_fini(&parts);
    return fault != 0 ? failure_set(why, (enum fault)fault, "the card is too large") : 0;
}

int card_write_initialize(bool read_only, enum mcp_revision revision, struct buffer *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_object_open(&w);
    json_write_member_string(&w, "protocolVersion", mcp_revision_text(revision));
    write_server(&w, read_only);
    json_object_close(&w);
    return json_writer_finish(&w);
}

int card_write_tools(bool read_only, struct buffer *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    json_object_open(&w);
    write_tools(&w, read_only);
    json_object_close(&w);
    return json_writer_finish(&w);
}
