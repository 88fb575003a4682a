// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/control/fields.h"

#include <string.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/base/memory.h"

enum { SECRET_MOST = 64, TEXT_MOST = 4096 };

static void write_field(const struct field *f, const void *at, struct json_writer *w)
{
    char hex[2 * SECRET_MOST + 1];
    switch (f->kind) {
    case FIELD_ID:
    case FIELD_HASH:
    case FIELD_NAME:
    case FIELD_TEXT:
        if (!f->optional || *(const char *)at != '\0')
            json_write_member_string(w, f->name, at);
        break;
    case FIELD_BYTES:
        hex_encode(span_of(at, f->size), hex);
        json_write_member_string(w, f->name, hex);
        memory_wipe(hex, sizeof hex);
        break;
    case FIELD_I64:
        json_write_member_i64(w, f->name, *(const int64_t *)at);
        break;
    case FIELD_WORD:
        json_write_member_string(w, f->name, f->words[*(const unsigned *)at]);
        break;
    }
}

void fields_write_value(const struct fields *f, const void *from, struct json_writer *w)
{
    json_object_open(w);
    for (size_t i = 0; i < f->count; i++)
        write_field(&f->row[i], (const char *)from + f->row[i].offset, w);
    json_object_close(w);
}

int fields_write(const struct fields *f, const void *from, struct buffer *out)
{
    struct json_writer w;
    json_writer_init(&w, out);
    fields_write_value(f, from, &w);
    return json_writer_finish(&w);
}

static bool is_hex(const char *text, size_t digits)
{
    return strspn(text, "0123456789abcdef") == digits && text[digits] == '\0';
}

static bool is_name(const char *text)
{
    return text[0] != '-' && text[0] != '\0' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static const char *expectation(const struct field *f)
{
    static const char *const texts[] = {
        [FIELD_ID] = "32 lower-case hex digits",
        [FIELD_HASH] = "64 lower-case hex digits",
        [FIELD_NAME] = "a name of a-z, 0-9 and -",
        [FIELD_TEXT] = "a string",
        [FIELD_BYTES] = "bytes in hex",
        [FIELD_I64] = "a whole number",
        [FIELD_WORD] = "a known word",
    };
    return texts[f->kind];
}

static bool read_text(const struct field *f, struct span value, char *to)
{
    if (!span_copy_string(value, to, f->size))
        return false;
    if (f->optional && value.size == 0)
        return true;
    switch (f->kind) {
    case FIELD_ID:
    case FIELD_HASH:
        return is_hex(to, f->size - 1);
    case FIELD_NAME:
        return is_name(to);
    default:
        return true;
    }
}

static bool read_word(const struct field *f, struct span value, unsigned *to)
{
    for (unsigned i = 0; f->words[i] != NULL; i++)
        if (span_is(value, f->words[i])) {
            *to = i;
            return true;
        }
    return false;
}

static bool read_string(const struct field *f, const struct json *j, int node, void *to)
{
    struct buffer value;
    bool ok = false;
    buffer_init(&value, TEXT_MOST);
    if (json_string(j, node, &value)) {
        struct span text = buffer_span(&value);
        if (f->kind == FIELD_BYTES)
            ok = hex_decode(text, to, f->size);
        else if (f->kind == FIELD_WORD)
            ok = read_word(f, text, to);
        else
            ok = read_text(f, text, to);
    }
    if (f->kind == FIELD_BYTES && value.data != NULL)
        memory_wipe(value.data, value.capacity);
    buffer_fini(&value);
    return ok;
}

static bool read_field(const struct field *f, const struct json *j, int node, void *to)
{
    int64_t number;
    if (node == JSON_NONE && f->optional)
        return true;
    if (f->kind != FIELD_I64)
        return read_string(f, j, node, to);
    if (!json_i64(j, node, &number) || number < f->least)
        return false;
    *(int64_t *)to = number;
    return true;
}

int fields_read_node(const struct fields *f, const struct json *j, int node, void *to,
                     size_t to_size, struct failure *why)
{
    memset(to, 0, to_size);
    if (json_type(j, node) != JSON_OBJECT)
        return failure_set(why, FAULT_PARSE, "%s: expected an object", f->what);
    for (size_t i = 0; i < f->count; i++) {
        const struct field *row = &f->row[i];
        if (read_field(row, j, json_get(j, node, row->name), (char *)to + row->offset))
            continue;
        memory_wipe(to, to_size);
        return failure_set(why, FAULT_INVALID, "%s: %s: expected %s", f->what, row->name,
                           expectation(row));
    }
    return 0;
}

int fields_parse(const struct fields *f, struct span json, void *to, size_t to_size,
                 struct failure *why)
{
    static const struct json_limits limits = {.bytes = 64 << 10, .tokens = 4096, .depth = 16};
    struct json *j;
    memset(to, 0, to_size);
    int rc = json_parse(json, &limits, &j, why);
    if (rc != 0) {
        failure_prefix(why, "%s", f->what);
        return rc;
    }
    rc = fields_read_node(f, j, JSON_ROOT, to, to_size, why);
    json_free(j);
    return rc;
}
