// SPDX-License-Identifier: Apache-2.0
// What stands between two quotes, as text.
#include "gateway/lib/json/text.h"

#include "gateway/lib/json/json.h"
#include "gateway/lib/json/utf8.h"

enum { REPLACEMENT = 0xfffd };

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// `at` stands behind "\u". False where fewer than four digits follow.
static bool read_hex4(const char *at, const char *end, uint32_t *out)
{
    uint32_t code = 0;
    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return false;
        code = code << 4 | (uint32_t)digit;
    }
    *out = code;
    return true;
}

static uint32_t next_unicode_escape(const char **at, const char *end)
{
    uint32_t high, low;
    if (!read_hex4(*at, end, &high))
        return REPLACEMENT;
    *at += 4;
    if (high < 0xd800 || high > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return high;
    if (!read_hex4(*at + 2, end, &low) || low < 0xdc00 || low > 0xdfff)
        return high;
    *at += 6;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static uint32_t next_escape(const char **at, const char *end)
{
    char c = *at < end ? *(*at)++ : '\0';
    switch (c) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'u':
        return next_unicode_escape(at, end);
    default:
        return (unsigned char)c;
    }
}

static uint32_t next_utf8(const char **at, size_t size)
{
    const unsigned char *b = (const unsigned char *)*at;
    *at += size;
    if (size == 2)
        return (b[0] & 0x1fU) << 6 | (b[1] & 0x3fU);
    if (size == 3)
        return (b[0] & 0xfU) << 12 | (b[1] & 0x3fU) << 6 | (b[2] & 0x3fU);
    return (b[0] & 7U) << 18 | (b[1] & 0x3fU) << 12 | (b[2] & 0x3fU) << 6 | (b[3] & 0x3fU);
}

uint32_t text_next(const char **at, const char *end)
{
    unsigned char c = (unsigned char)**at;
    if (c == '\\') {
        (*at)++;
        return next_escape(at, end);
    }
    struct utf8_step step = utf8_step(*at, end);
    if (step.valid && step.size > 1)
        return next_utf8(at, step.size);
    *at += step.size;
    return step.valid ? c : REPLACEMENT;
}

bool text_equals(struct span raw, struct span wanted)
{
    const char *at = raw.data, *end = raw.data + raw.size;
    size_t used = 0;
    while (at < end) {
        char bytes[4];
        size_t size = utf8_encode(text_next(&at, end), bytes);
        if (wanted.size - used < size || memcmp(wanted.data + used, bytes, size) != 0)
            return false;
        used += size;
    }
    return used == wanted.size;
}

static bool is_surrogate(uint32_t code)
{
    return code >= 0xd800 && code <= 0xdfff;
}

bool json_unescape(struct span raw, struct buffer *out)
{
    size_t before = buffer_size(out);
    const char *at = raw.data, *end = raw.data + raw.size;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        const char *plain_end = slash != NULL ? slash : end;
        int rc = buffer_append(out, span_of(at, (size_t)(plain_end - at)));
        at = plain_end;
        if (rc == 0 && at < end) {
            char bytes[4];
            uint32_t code = text_next(&at, end);
            size_t size = utf8_encode(is_surrogate(code) ? REPLACEMENT : code, bytes);
            rc = buffer_append(out, span_of(bytes, size));
        }
        if (rc != 0) {
            buffer_truncate(out, before);
            return false;
        }
    }
    return true;
}
