// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/json/json.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "gateway/lib/json/text.h"
#include "gateway/lib/json/token.h"
#include "gateway/lib/json/utf8.h"

size_t json_count(const struct json *j, int node)
{
    size_t count = 0;
    JSON_EACH(child, j, node)
    count++;
    return count;
}

int json_parent(const struct json *j, int node)
{
    if (!token_exists(j, node) || j->tokens[node].parent == TOKEN_NO_PARENT)
        return JSON_NONE;
    return (int)j->tokens[node].parent;
}

size_t json_member_start(const struct json *j, int node)
{
    const struct token *key = token_key(j, node);
    if (key != NULL)
        return key->start;
    return token_exists(j, node) ? j->tokens[node].start : 0;
}

static bool token_is(const struct json *j, const struct token *t, struct span text)
{
    struct span raw = token_between_quotes(j, t);
    return t->escaped ? text_equals(raw, text) : span_equals(raw, text);
}

int json_get_span(const struct json *j, int node, struct span key)
{
    int found = JSON_NONE;
    if (json_type(j, node) != JSON_OBJECT)
        return JSON_NONE;
    JSON_EACH(child, j, node)
    if (token_is(j, &j->tokens[child - 1], key))
        found = child;
    return found;
}

int json_get(const struct json *j, int node, const char *key)
{
    return json_get_span(j, node, span_from_string(key));
}

int json_at(const struct json *j, int node, size_t index)
{
    if (json_type(j, node) != JSON_ARRAY)
        return JSON_NONE;
    JSON_EACH(child, j, node)
    if (index-- == 0)
        return child;
    return JSON_NONE;
}

// A key as text, lone surrogates told apart. Points into the source where there are no escapes.
static struct span key_text(const struct json *j, const struct token *key, struct buffer *scratch)
{
    struct span raw = token_between_quotes(j, key);
    if (!key->escaped)
        return raw;
    buffer_clear(scratch);
    for (const char *at = raw.data, *end = at + raw.size; at < end;) {
        char bytes[4];
        size_t size = utf8_encode(text_next(&at, end), bytes);
        // The text is never longer than its escaped form, which fits the limit.
        (void)buffer_append(scratch, span_of(bytes, size));
    }
    return buffer_span(scratch);
}

int json_object_duplicate(const struct json *j, int node)
{
    if (json_type(j, node) != JSON_OBJECT)
        return JSON_NONE;
    int first = json_first(j, node), found = JSON_NONE;
    if (json_next(j, first) == JSON_NONE)
        return JSON_NONE;
    struct table *seen = table_new();
    struct buffer scratch;
    buffer_init(&scratch, j->source.size);
    for (int child = first; child != JSON_NONE && found == JSON_NONE; child = json_next(j, child)) {
        struct span key = key_text(j, &j->tokens[child - 1], &scratch);
        if (table_get(seen, key) != NULL)
            found = child;
        else
            table_put(seen, key, seen);
    }
    buffer_fini(&scratch);
    table_free(seen);
    return found;
}

static int append_pointer_token(struct buffer *out, struct span text)
{
    int rc = 0;
    for (size_t i = 0; i < text.size && rc == 0; i++) {
        char c = text.data[i];
        rc = c == '~'   ? buffer_append_string(out, "~0")
             : c == '/' ? buffer_append_string(out, "~1")
                        : buffer_append_char(out, c);
    }
    return rc;
}

static int append_step(const struct json *j, int node, struct buffer *out)
{
    const struct token *key = token_key(j, node);
    if (key == NULL) {
        size_t index = 0;
        for (int n = json_first(j, json_parent(j, node)); n != node; n = json_next(j, n))
            index++;
        return buffer_printf(out, "/%zu", index);
    }
    struct buffer text;
    buffer_init(&text, j->source.size);
    int rc = json_unescape(token_between_quotes(j, key), &text) ? 0 : FAULT_TOO_LARGE;
    if (rc == 0)
        rc = buffer_append_char(out, '/');
    if (rc == 0)
        rc = append_pointer_token(out, buffer_span(&text));
    buffer_fini(&text);
    return rc;
}

int json_pointer(const struct json *j, int node, struct buffer *out)
{
    size_t depth = 0;
    for (int n = node; json_parent(j, n) != JSON_NONE; n = json_parent(j, n))
        depth++;
    CLEANUP_FREE int *path = memory_new_array(depth + 1, sizeof *path);
    for (size_t i = depth; i > 0; i--) {
        path[i - 1] = node;
        node = json_parent(j, node);
    }
    int rc = 0;
    for (size_t i = 0; i < depth && rc == 0; i++)
        rc = append_step(j, path[i], out);
    return rc;
}

bool json_bool(const struct json *j, int node, bool *out)
{
    enum json_type type = json_type(j, node);
    if (type != JSON_TRUE && type != JSON_FALSE)
        return false;
    *out = type == JSON_TRUE;
    return true;
}

bool json_string(const struct json *j, int node, struct buffer *out)
{
    if (json_type(j, node) != JSON_STRING)
        return false;
    return json_unescape(token_between_quotes(j, &j->tokens[node]), out);
}

bool json_string_arena(const struct json *j, int node, struct arena *arena, struct span *out)
{
    if (json_type(j, node) != JSON_STRING)
        return false;
    struct span text;
    struct buffer unescaped;
    buffer_init(&unescaped, j->source.size);
    if (!json_string_plain(j, node, &text)) {
        (void)json_unescape(token_between_quotes(j, &j->tokens[node]), &unescaped);
        text = buffer_span(&unescaped);
    }
    text = arena_copy(arena, text);
    buffer_fini(&unescaped);
    if (span_is_absent(text))
        return false;
    *out = text;
    return true;
}

bool json_string_is(const struct json *j, int node, const char *text)
{
    return json_type(j, node) == JSON_STRING &&
           token_is(j, &j->tokens[node], span_from_string(text));
}

bool json_string_plain(const struct json *j, int node, struct span *out)
{
    if (json_type(j, node) != JSON_STRING || j->tokens[node].escaped)
        return false;
    *out = token_between_quotes(j, &j->tokens[node]);
    return true;
}
