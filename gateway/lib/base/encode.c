// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/base/encode.h"

static const char hex_digits[] = "0123456789abcdef";
static const char url_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char standard_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void hex_encode(struct span bytes, char *out)
{
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        *out++ = hex_digits[c >> 4];
        *out++ = hex_digits[c & 15];
    }
    *out = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool hex_decode(struct span text, void *out, size_t out_size)
{
    unsigned char *to = out;
    if (text.size != out_size * 2)
        return false;
    for (size_t i = 0; i < out_size; i++) {
        int high = hex_value(text.data[2 * i]);
        int low = hex_value(text.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        to[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static size_t encode(const char *alphabet, struct span bytes, char *out)
{
    char *to = out;
    uint32_t bits = 0;
    int held = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        bits = bits << 8 | (unsigned char)bytes.data[i];
        for (held += 8; held >= 6; held -= 6)
            *to++ = alphabet[bits >> (held - 6) & 63];
    }
    if (held > 0)
        *to++ = alphabet[bits << (6 - held) & 63];
    *to = '\0';
    return (size_t)(to - out);
}

static int digit_value(const char *alphabet, char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == alphabet[62])
        return 62;
    return c == alphabet[63] ? 63 : -1;
}

static bool decode(const char *alphabet, struct span text, void *out, size_t *out_size)
{
    unsigned char *to = out;
    uint32_t bits = 0;
    int held = 0;
    if (text.size % 4 == 1)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        int value = digit_value(alphabet, text.data[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            *to++ = (unsigned char)(bits >> held);
        }
    }
    if ((bits & ((1U << held) - 1)) != 0)
        return false; // two spellings of one value would be two ids for one thing
    *out_size = (size_t)(to - (unsigned char *)out);
    return true;
}

size_t base64url_encode(struct span bytes, char *out)
{
    return encode(url_alphabet, bytes, out);
}

bool base64url_decode(struct span text, void *out, size_t *out_size)
{
    return decode(url_alphabet, text, out, out_size);
}

size_t base64_encode(struct span bytes, char *out)
{
    size_t size = encode(standard_alphabet, bytes, out);
    while (size % 4 != 0)
        out[size++] = '=';
    out[size] = '\0';
    return size;
}

bool base64_decode(struct span text, void *out, size_t *out_size)
{
    if (text.size % 4 != 0)
        return false;
    for (int i = 0; i < 2 && text.size > 0 && text.data[text.size - 1] == '='; i++)
        text.size--;
    return decode(standard_alphabet, text, out, out_size);
}

void percent_encode(struct span bytes, char *out)
{
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
        if (!is_plain) {
            *out++ = '%';
            *out++ = "0123456789ABCDEF"[c >> 4];
            *out++ = "0123456789ABCDEF"[c & 15];
        } else {
            *out++ = (char)c;
        }
    }
    *out = '\0';
}

bool percent_decode(struct span text, char *out, size_t *out_size)
{
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] != '%') {
            out[size++] = text.data[i];
            continue;
        }
        if (!hex_decode(span_slice(text, i + 1, i + 3), &out[size], 1))
            return false;
        size++;
        i += 2;
    }
    *out_size = size;
    return true;
}

struct span query_value(struct span query, const char *name)
{
    struct span value = SPAN_NONE;
    size_t size = strlen(name);
    while (!span_is_absent(query)) {
        struct span pair = span_split(&query, '&');
        if (span_starts_with(pair, span_from_string(name)) && pair.size > size &&
            pair.data[size] == '=')
            value = span_slice(pair, size + 1, pair.size);
    }
    return value;
}
