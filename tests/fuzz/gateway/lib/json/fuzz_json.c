// SPDX-License-Identifier: Apache-2.0
// Any bytes: parse, walk every node, take every value, edit, and parse again what came out.
#include <stdlib.h>

#include "gateway/lib/json/edit.h"
#include "gateway/lib/json/utf8.h"
#include "gateway/lib/json/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_limits limits = {.bytes = 1 << 20, .tokens = 1 << 16, .depth = 64};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_parse(struct buffer *text)
{
    struct json *again;
    struct failure why;
    must(json_parse(buffer_span(text), NULL, &again, &why) == 0);
    json_free(again);
    buffer_clear(text);
}

static void visit(const struct json *j, int node, struct buffer *scratch)
{
    double d;
    int64_t n;
    struct span raw = json_raw(j, node);
    struct json_writer w;
    (void)json_double(j, node, &d);
    (void)json_i64(j, node, &n);
    if (json_string(j, node, scratch)) {
        must(utf8_is_valid(buffer_span(scratch)));
        struct buffer quoted;
        buffer_init(&quoted, 8 << 20);
        json_writer_init(&w, &quoted);
        json_write_string(&w, buffer_span(scratch));
        must(json_writer_finish(&w) == 0);
        must_parse(&quoted);
        buffer_fini(&quoted);
    }
    buffer_clear(scratch);
    must(json_pointer(j, node, scratch) == 0);
    buffer_clear(scratch);
    struct json *alone;
    must(json_parse(raw, NULL, &alone, NULL) == 0);
    json_free(alone);
    (void)json_object_duplicate(j, node);
    struct span key = json_key_raw(j, node);
    if (!span_is_absent(key) && memchr(key.data, '\\', key.size) == NULL)
        must(json_get_span(j, json_parent(j, node), key) >= node);
}

static void edit(const struct json *j, int node, struct buffer *out)
{
    struct json_edit e;
    json_edit_init(&e, j);
    must(json_edit_replace(&e, node, SPAN_LITERAL("[0]")) == 0);
    must(json_edit_write(&e, out) == 0);
    must_parse(out);
    json_edit_init(&e, j);
    if (json_edit_delete(&e, node) == 0) {
        int next = json_next(j, node);
        if (next != JSON_NONE)
            must(json_edit_delete(&e, next) == 0);
        if (json_type(j, json_parent(j, node)) == JSON_OBJECT)
            must(json_edit_insert_member(&e, json_parent(j, node), SPAN_LITERAL("\"k\":0")) == 0);
        must(json_edit_write(&e, out) == 0);
        must_parse(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json *j;
    struct failure why = {0};
    if (json_parse(span_of(data, size), &limits, &j, &why) != 0) {
        must(why.fault != 0 && why.text[0] != '\0');
        return 0;
    }
    struct buffer scratch;
    buffer_init(&scratch, 8 << 20);
    int budget = 200, node = 0;
    while (node != JSON_NONE && budget-- > 0) {
        visit(j, node, &scratch);
        edit(j, node, &scratch);
        int next = json_first(j, node);
        for (; next == JSON_NONE && node != JSON_NONE; node = json_parent(j, node))
            next = json_next(j, node);
        node = next;
    }
    buffer_fini(&scratch);
    json_free(j);
    return 0;
}
