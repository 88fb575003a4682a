// SPDX-License-Identifier: Apache-2.0
#include "schemas/results.h"

#include "gateway/lib/json/edit.h"
#include "gateway/lib/json/text.h"
#include "gateway/lib/json/writer.h"

enum { UNDERSCORES_MAX = 64 };

static const struct json_limits limits = {.bytes = 64U << 20, .tokens = 8U << 20, .depth = 512};

struct rewriting {
    const struct json *j;
    struct json_writer w;
    bool changed;
};

// Only an escape can say what must not pass.
static bool is_safe(struct span raw)
{
    return raw.size < 6 || memmem(raw.data, raw.size, "\\u", 2) == NULL;
}

static void write_text(struct rewriting *r, struct span raw, bool key)
{
    struct buffer text;
    buffer_init(&text, raw.size);
    (void)json_unescape(raw, &text);
    // A NUL becomes U+FFFD too; lone surrogates have by now.
    r->changed = true;
    struct buffer safe;
    buffer_init(&safe, raw.size * 3 + 3);
    struct span all = buffer_span(&text);
    for (size_t i = 0; i < all.size; i++) {
        if (all.data[i] == '\0')
            buffer_append_string(&safe, "\xef\xbf\xbd");
        else
            buffer_append_char(&safe, all.data[i]);
    }
    if (key)
        json_write_key_span(&r->w, buffer_span(&safe));
    else
        json_write_string(&r->w, buffer_span(&safe));
    buffer_fini(&safe);
    buffer_fini(&text);
}

static bool has_key(const struct json *j, int object, struct span key)
{
    return json_get_span(j, object, key) != JSON_NONE;
}

static void write_renamed(struct rewriting *r, int object)
{
    char key[UNDERSCORES_MAX + 8] = "";
    size_t size = 0;
    r->changed = true;
    do
        key[size++] = '_';
    while (size < UNDERSCORES_MAX &&
           (memcpy(key + size, "$ref", 5), has_key(r->j, object, span_of(key, size + 4))));
    memcpy(key + size, "$ref", 5);
    json_write_key(&r->w, key);
}

static void write_key(struct rewriting *r, int object, int value)
{
    struct span raw = json_key_raw(r->j, value);
    struct buffer text;
    if (is_safe(raw) && !span_is(raw, "$ref")) {
        // Its bytes: the quotes stand around them in the source.
        json_write_raw(&r->w, span_of(raw.data - 1, raw.size + 2));
        r->w.comma = false;
        if (r->w.fault == 0)
            r->w.fault = buffer_append_char(r->w.out, ':');
        return;
    }
    buffer_init(&text, raw.size);
    (void)json_unescape(raw, &text);
    bool reference = span_is(buffer_span(&text), "$ref");
    buffer_fini(&text);
    if (reference)
        write_renamed(r, object);
    else
        write_text(r, raw, true);
}

static void write_value(struct rewriting *r, int node)
{
    double d;
    struct span raw = json_raw(r->j, node);
    switch (json_type(r->j, node)) {
    case JSON_OBJECT:
        json_object_open(&r->w);
        JSON_EACH(child, r->j, node)
        {
            write_key(r, node, child);
            write_value(r, child);
        }
        json_object_close(&r->w);
        return;
    case JSON_ARRAY:
        json_array_open(&r->w);
        JSON_EACH(child, r->j, node)
        write_value(r, child);
        json_array_close(&r->w);
        return;
    case JSON_STRING:
        if (is_safe(raw))
            json_write_raw(&r->w, raw);
        else
            write_text(r, span_slice(raw, 1, raw.size - 1), false);
        return;
    case JSON_NUMBER:
        if (json_double(r->j, node, &d))
            json_write_raw(&r->w, raw);
        else
            json_write_string(&r->w, raw), r->changed = true;
        return;
    default:
        json_write_raw(&r->w, raw);
    }
}

static int write_document(const struct json *j, int node, bool wrap, bool *changed,
                          struct buffer *out)
{
    struct rewriting r = {.j = j};
    json_writer_init(&r.w, out);
    bool wrapped = wrap && json_type(j, node) != JSON_OBJECT;
    if (wrapped) {
        json_object_open(&r.w);
        json_write_key(&r.w, "result");
    }
    write_value(&r, node);
    if (wrapped)
        json_object_close(&r.w);
    *changed = r.changed || wrapped;
    return json_writer_finish(&r.w);
}

int results_rewrite(struct span json, struct buffer *out, struct failure *why)
{
    struct json *j;
    if (span_starts_with(json, SPAN_LITERAL("\xef\xbb\xbf")))
        json = span_slice(json, 3, json.size);
    int rc = json_parse(json, &limits, &j, why);
    if (rc != 0)
        return rc;
    bool changed;
    rc = write_document(j, JSON_ROOT, true, &changed, out);
    json_free(j);
    return rc == 0 ? 0 : failure_set(why, rc, "the result is too large");
}

int results_rewrite_value(struct span json, struct buffer *out)
{
    struct json *j;
    bool changed;
    int rc = json_parse(json, &limits, &j, NULL);
    if (rc != 0)
        return rc;
    rc = write_document(j, JSON_ROOT, false, &changed, out);
    json_free(j);
    return rc;
}

// The text of a block, rewritten, as a JSON string; false where it is no object or array, or has
// nothing to rewrite: then its bytes stay.
static bool rewrite_text(const struct json *j, int text, struct buffer *out)
{
    struct buffer plain, rewritten;
    struct json *inner;
    bool done = false, changed = false;
    buffer_init(&plain, json_raw(j, text).size);
    buffer_init(&rewritten, json_raw(j, text).size * 4 + 1024);
    if (json_string(j, text, &plain) &&
        json_parse(buffer_span(&plain), &limits, &inner, NULL) == 0) {
        enum json_type type = json_type(inner, JSON_ROOT);
        if ((type == JSON_OBJECT || type == JSON_ARRAY) &&
            write_document(inner, JSON_ROOT, false, &changed, &rewritten) == 0 && changed) {
            struct json_writer w;
            json_writer_init(&w, out);
            json_write_string(&w, buffer_span(&rewritten));
            done = json_writer_finish(&w) == 0;
        }
        json_free(inner);
    }
    buffer_fini(&rewritten);
    buffer_fini(&plain);
    return done;
}

static void write_members_but(struct rewriting *r, int object, const char *key, struct span json)
{
    json_object_open(&r->w);
    JSON_EACH(value, r->j, object)
    {
        struct span raw = json_key_raw(r->j, value);
        json_write_raw(&r->w, span_of(raw.data - 1, raw.size + 2));
        r->w.comma = false;
        if (r->w.fault == 0)
            r->w.fault = buffer_append_char(r->w.out, ':');
        json_write_raw(&r->w, value == json_get(r->j, object, key) ? json : json_raw(r->j, value));
    }
    json_object_close(&r->w);
}

static void write_block(struct rewriting *r, int block)
{
    struct buffer text;
    int value = json_get(r->j, block, "text");
    struct span raw = json_raw(r->j, value);
    buffer_init(&text, raw.size * 8 + 4096);
    bool is_text = json_string_is(r->j, json_get(r->j, block, "type"), "text");
    // Only what holds the word can hold the key.
    bool candidate =
        is_text && raw.size > 6 && (memmem(raw.data, raw.size, "$ref", 4) != NULL || !is_safe(raw));
    if (candidate && rewrite_text(r->j, value, &text))
        write_members_but(r, block, "text", buffer_span(&text));
    else
        json_write_raw(&r->w, json_raw(r->j, block));
    buffer_fini(&text);
}

static int write_content(const struct json *j, int content, struct buffer *out)
{
    struct rewriting r = {.j = j};
    json_writer_init(&r.w, out);
    json_array_open(&r.w);
    JSON_EACH(block, j, content)
    write_block(&r, block);
    json_array_close(&r.w);
    return json_writer_finish(&r.w);
}

int results_rewrite_call(struct span result, bool texts, struct buffer *out, struct failure *why)
{
    struct json *j;
    int rc = json_parse(result, &limits, &j, why);
    if (rc != 0)
        return rc;
    struct json_edit e;
    struct buffer structured, content;
    buffer_init(&structured, out->limit);
    buffer_init(&content, out->limit);
    json_edit_init(&e, j);
    int node = json_get(j, JSON_ROOT, "structuredContent");
    if (node != JSON_NONE) {
        bool changed;
        rc = write_document(j, node, true, &changed, &structured);
        if (rc == 0)
            rc = json_edit_replace(&e, node, buffer_span(&structured));
    }
    node = json_get(j, JSON_ROOT, "content");
    if (rc == 0 && texts && json_type(j, node) == JSON_ARRAY) {
        rc = write_content(j, node, &content);
        if (rc == 0)
            rc = json_edit_replace(&e, node, buffer_span(&content));
    }
    if (rc == 0)
        rc = json_edit_write(&e, out);
    buffer_fini(&structured);
    buffer_fini(&content);
    json_free(j);
    return rc == 0 ? 0 : failure_set(why, rc, "the result cannot be rewritten");
}
