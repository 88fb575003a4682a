// SPDX-License-Identifier: Apache-2.0
#include "workers/tools/leave.h"

#include "gateway/lib/json/json.h"
#include "gateway/lib/scrub/scrub.h"

// A mark is longer than the shortest secret, though not four times.
enum { GROWTH = 4, SPARE = 256 };

void leave_string(struct json_writer *w, struct span text)
{
    struct buffer out;
    buffer_init(&out, GROWTH * text.size + SPARE);
    if (scrub_text(text, &out, NULL) == 0)
        json_write_string(w, buffer_span(&out));
    else
        json_write_string(w, SPAN_LITERAL("[withheld: it could not be scrubbed of secrets]"));
    buffer_fini(&out);
}

static int put_string(struct buffer *out, const struct json *doc, int node)
{
    struct buffer text;
    struct json_writer w;
    struct span raw = json_raw(doc, node);
    buffer_init(&text, 3 * raw.size + SPARE); // three bytes for each lone surrogate
    json_writer_init(&w, out);
    if (json_string(doc, node, &text))
        leave_string(&w, buffer_span(&text));
    else
        json_write_string(&w, SPAN_LITERAL(""));
    buffer_fini(&text);
    return json_writer_finish(&w);
}

void leave_json(struct json_writer *w, struct span json)
{
    struct json *doc = NULL;
    struct buffer out;
    struct failure why;
    const char *done = json.data;
    int rc = json_parse(json, &json_limits_default, &doc, &why);
    buffer_init(&out, GROWTH * json.size + SPARE);
    for (size_t node = 0; rc == 0 && node < json_size(doc); node++) {
        if (json_type(doc, (int)node) != JSON_STRING)
            continue;
        struct span raw = json_raw(doc, (int)node);
        rc = buffer_append(&out, span_of(done, (size_t)(raw.data - done)));
        if (rc == 0)
            rc = put_string(&out, doc, (int)node);
        done = raw.data + raw.size;
    }
    if (rc == 0)
        rc = buffer_append(&out, span_of(done, (size_t)(json.data + json.size - done)));
    json_write_raw(w, rc == 0 ? buffer_span(&out) : SPAN_LITERAL("{}"));
    buffer_fini(&out);
    json_free(doc);
}
