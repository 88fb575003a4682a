// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/mcp/revision.h"

static const struct {
    const char *text;
    enum mcp_era era;
    bool batch;
} revisions[MCP_REVISION_COUNT] = {[MCP_REVISION_UNKNOWN] = {"", MCP_ERA_LEGACY, false},
#define X(name, text, era, batch) [MCP_REVISION_##name] = {text, MCP_ERA_##era, batch},
                                   MCP_REVISION_TABLE(X)
#undef X
};

enum mcp_revision mcp_revision_from(struct span text)
{
    for (int r = MCP_REVISION_COUNT - 1; r > MCP_REVISION_UNKNOWN; r--) {
        if (span_is(text, revisions[r].text))
            return (enum mcp_revision)r;
    }
    return MCP_REVISION_UNKNOWN;
}

const char *mcp_revision_text(enum mcp_revision r)
{
    return revisions[r].text;
}

enum mcp_era mcp_revision_era(enum mcp_revision r)
{
    return revisions[r].era;
}

enum mcp_revision mcp_revision_negotiate(struct span requested)
{
    enum mcp_revision r = mcp_revision_from(requested);
    if (r == MCP_REVISION_UNKNOWN || revisions[r].era != MCP_ERA_LEGACY)
        return (enum mcp_revision)MCP_REVISION_LATEST_LEGACY;
    return r;
}

bool mcp_version_claims_modern(struct span text)
{
    static const char first_modern[] = "2026-07-28";
    if (text.size != sizeof first_modern - 1)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        bool dash = i == 4 || i == 7;
        if (dash ? text.data[i] != '-' : text.data[i] < '0' || text.data[i] > '9')
            return false;
    }
    return memcmp(text.data, first_modern, text.size) >= 0;
}

int mcp_revisions_write(unsigned eras, struct buffer *out)
{
    int fault = buffer_append_char(out, '[');
    bool first = true;
    for (int r = MCP_REVISION_COUNT - 1; r > MCP_REVISION_UNKNOWN && fault == 0; r--) {
        if ((eras & (unsigned)revisions[r].era) == 0)
            continue;
        fault = buffer_printf(out, "%s\"%s\"", first ? "" : ",", revisions[r].text);
        first = false;
    }
    return fault != 0 ? fault : buffer_append_char(out, ']');
}
