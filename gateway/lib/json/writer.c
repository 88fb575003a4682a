// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/json/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/json/utf8.h"

void json_writer_init(struct json_writer *w, struct buffer *out)
{
    *w = (struct json_writer){.out = out};
}

int json_writer_finish(const struct json_writer *w)
{
    return w->fault;
}

static void put(struct json_writer *w, struct span bytes)
{
    if (w->fault == 0)
        w->fault = buffer_append(w->out, bytes);
}

static void begin_value(struct json_writer *w)
{
    if (w->comma)
        put(w, SPAN_LITERAL(","));
    w->comma = true;
}

static void open(struct json_writer *w, struct span brace)
{
    begin_value(w);
    put(w, brace);
    w->comma = false;
}

static void close(struct json_writer *w, struct span brace)
{
    put(w, brace);
    w->comma = true;
}

void json_object_open(struct json_writer *w)
{
    open(w, SPAN_LITERAL("{"));
}

void json_object_close(struct json_writer *w)
{
    close(w, SPAN_LITERAL("}"));
}

void json_array_open(struct json_writer *w)
{
    open(w, SPAN_LITERAL("["));
}

void json_array_close(struct json_writer *w)
{
    close(w, SPAN_LITERAL("]"));
}

static int escape_char(struct buffer *out, unsigned char c)
{
    static const char names[128][3] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f",
        ['\n'] = "\\n", ['\r'] = "\\r",  ['\t'] = "\\t"};
    if (names[c][0] != '\0')
        return buffer_append(out, span_of(names[c], 2));
    return buffer_printf(out, "\\u%04x", c);
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

// Escapes one character, or one bad part as U+FFFD, and moves behind it.
static int escape_one(struct buffer *out, const char **at, struct utf8_step step)
{
    int rc = !step.valid     ? buffer_append_string(out, "\xef\xbf\xbd")
             : step.size > 1 ? buffer_append(out, span_of(*at, step.size))
                             : escape_char(out, (unsigned char)**at);
    if (rc == 0)
        *at += step.size;
    return rc;
}

int json_escape_some(struct buffer *out, struct span text, size_t *used)
{
    const char *at = text.data, *end = text.data + text.size;
    int rc = 0;
    while (at < end && rc == 0) {
        const char *plain = at;
        while (plain < end && is_plain((unsigned char)*plain))
            plain++;
        rc = buffer_append(out, span_of(at, (size_t)(plain - at)));
        if (rc != 0)
            break;
        at = plain;
        struct utf8_step step = utf8_step(at, end);
        if (!step.complete)
            break;
        if (step.size > 0)
            rc = escape_one(out, &at, step);
    }
    *used = text.size > 0 ? (size_t)(at - text.data) : 0;
    return rc;
}

static void put_quoted(struct json_writer *w, struct span text)
{
    size_t used = 0;
    put(w, SPAN_LITERAL("\""));
    if (w->fault == 0)
        w->fault = json_escape_some(w->out, text, &used);
    if (used < text.size) // it ends inside a character
        put(w, SPAN_LITERAL("\xef\xbf\xbd"));
    put(w, SPAN_LITERAL("\""));
}

void json_write_key_span(struct json_writer *w, struct span key)
{
    begin_value(w);
    put_quoted(w, key);
    put(w, SPAN_LITERAL(":"));
    w->comma = false;
}

void json_write_key(struct json_writer *w, const char *key)
{
    json_write_key_span(w, span_from_string(key));
}

void json_write_string(struct json_writer *w, struct span text)
{
    begin_value(w);
    put_quoted(w, text);
}

void json_write_raw(struct json_writer *w, struct span json)
{
    begin_value(w);
    put(w, json);
}

void json_write_i64(struct json_writer *w, int64_t value)
{
    char text[24];
    int size = snprintf(text, sizeof text, "%" PRId64, value);
    json_write_raw(w, span_of(text, (size_t)size));
}

void json_write_u64(struct json_writer *w, uint64_t value)
{
    char text[24];
    int size = snprintf(text, sizeof text, "%" PRIu64, value);
    json_write_raw(w, span_of(text, (size_t)size));
}

void json_write_double(struct json_writer *w, double value)
{
    char text[40];
    int size = 0;
    if (!isfinite(value)) {
        if (w->fault == 0)
            w->fault = FAULT_INVALID;
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        size = snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    json_write_raw(w, span_of(text, (size_t)size));
}

void json_write_bool(struct json_writer *w, bool value)
{
    json_write_raw(w, value ? SPAN_LITERAL("true") : SPAN_LITERAL("false"));
}

void json_write_null(struct json_writer *w)
{
    json_write_raw(w, SPAN_LITERAL("null"));
}

void json_write_member(struct json_writer *w, const char *key, struct span text)
{
    if (span_is_absent(text))
        return;
    json_write_key(w, key);
    json_write_string(w, text);
}

void json_write_member_string(struct json_writer *w, const char *key, const char *text)
{
    json_write_member(w, key, span_from_string(text));
}

void json_write_member_i64(struct json_writer *w, const char *key, int64_t value)
{
    json_write_key(w, key);
    json_write_i64(w, value);
}

void json_write_member_bool(struct json_writer *w, const char *key, bool value)
{
    json_write_key(w, key);
    json_write_bool(w, value);
}
