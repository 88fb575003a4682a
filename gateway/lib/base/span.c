// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/base/span.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool span_same_nocase(const char *a, const char *b, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

bool span_starts_with(struct span s, struct span prefix)
{
    return s.size >= prefix.size && span_equals(span_of(s.data, prefix.size), prefix);
}

struct span span_slice(struct span s, size_t from, size_t to)
{
    if (to > s.size)
        to = s.size;
    if (from > to)
        from = to;
    return s.data == NULL ? s : span_of(s.data + from, to - from);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct span span_trim(struct span s)
{
    while (s.size > 0 && is_blank(s.data[0]))
        s = span_of(s.data + 1, s.size - 1);
    while (s.size > 0 && is_blank(s.data[s.size - 1]))
        s.size--;
    return s;
}

struct span span_split(struct span *rest, char separator)
{
    struct span all = *rest;
    const char *at = all.size > 0 ? memchr(all.data, separator, all.size) : NULL;
    if (at == NULL) {
        *rest = SPAN_NONE;
        return all;
    }
    size_t before = (size_t)(at - all.data);
    *rest = span_of(at + 1, all.size - before - 1);
    return span_of(all.data, before);
}

bool span_to_u64(struct span s, uint64_t *out)
{
    uint64_t value = 0;
    if (s.size == 0)
        return false;
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.data[i] - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool span_copy_string(struct span s, char *out, size_t out_size)
{
    if (s.size + 1 > out_size || (s.size > 0 && memchr(s.data, '\0', s.size) != NULL))
        return false;
    if (s.size > 0)
        memcpy(out, s.data, s.size);
    out[s.size] = '\0';
    return true;
}
