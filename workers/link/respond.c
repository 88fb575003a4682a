// SPDX-License-Identifier: Apache-2.0
#include "workers/link/respond.h"

#include "gateway/lib/base/buffer.h"
#include "gateway/lib/mcp/envelope.h"
#include "gateway/lib/scrub/scrub.h"
#include "workers/link/answer.h"

enum { RESPONSE_LIMIT = 33 << 20 };

void respond_result(struct answer *answer, struct span id, struct span result)
{
    struct buffer json;
    buffer_init(&json, RESPONSE_LIMIT);
    if (mcp_write_result(&json, id, result) == 0)
        answer_add(answer, id, buffer_span(&json));
    else
        answer_skip(answer);
    buffer_fini(&json);
}

void respond_complete(struct answer *answer, struct span id, struct span result)
{
    struct buffer json;
    buffer_init(&json, RESPONSE_LIMIT);
    if (buffer_append_string(&json, "{\"resultType\":\"complete\",") == 0 &&
        buffer_append(&json, span_slice(result, 1, result.size)) == 0)
        respond_result(answer, id, buffer_span(&json));
    else
        answer_skip(answer);
    buffer_fini(&json);
}

void respond_error(struct answer *answer, struct span id, int code, struct span text)
{
    struct buffer json, scrubbed;
    buffer_init(&json, RESPONSE_LIMIT);
    buffer_init(&scrubbed, RESPONSE_LIMIT);
    if (scrub_text(text, &scrubbed, NULL) == 0)
        text = buffer_span(&scrubbed);
    else
        text = SPAN_LITERAL("the error's text is too long");
    (void)mcp_write_error(&json, id, code, text, SPAN_NONE);
    answer_add(answer, id, buffer_span(&json));
    buffer_fini(&json);
    buffer_fini(&scrubbed);
}
