// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/json/json.h"

enum { FAR = 1 << 30 }; // an exponent that no 64-bit value reaches

// A number as its significant digits and a power of ten: ±digits × 10^exponent.
struct decimal {
    bool negative;
    int64_t exponent;
    struct span digits; // with at most one '.' among them
};

static int64_t read_exponent(struct span s)
{
    bool negative = s.size > 0 && s.data[0] == '-';
    int64_t value = 0;
    for (size_t i = 0; i < s.size; i++)
        if (s.data[i] >= '0' && s.data[i] <= '9' && value < FAR)
            value = value * 10 + (s.data[i] - '0');
    return negative ? -value : value;
}

static struct decimal split(struct span raw)
{
    struct decimal d = {.negative = raw.size > 0 && raw.data[0] == '-', .digits = raw};
    if (d.negative)
        d.digits = span_slice(raw, 1, raw.size);
    for (size_t i = 0; i < d.digits.size; i++) {
        if ((d.digits.data[i] | 0x20) != 'e')
            continue;
        d.exponent = read_exponent(span_slice(d.digits, i + 1, d.digits.size));
        d.digits.size = i;
        break;
    }
    const char *point = memchr(d.digits.data, '.', d.digits.size);
    if (point != NULL)
        d.exponent -= (int64_t)(d.digits.size - (size_t)(point - d.digits.data) - 1);
    return d;
}

static bool append_digit(uint64_t *value, unsigned digit)
{
    return !__builtin_mul_overflow(*value, 10U, value) &&
           !__builtin_add_overflow(*value, digit, value);
}

// The absolute value, where it is an integer below 2^64.
static bool magnitude(struct decimal d, uint64_t *out)
{
    size_t size = d.digits.size;
    while (size > 0 && (d.digits.data[size - 1] == '0' || d.digits.data[size - 1] == '.'))
        d.exponent += d.digits.data[--size] == '0';
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        if (d.digits.data[i] != '.' && !append_digit(&value, (unsigned)(d.digits.data[i] - '0')))
            return false;
    if (value == 0)
        d.exponent = 0;
    if (d.exponent < 0)
        return false;
    for (int64_t i = 0; i < d.exponent; i++)
        if (!append_digit(&value, 0))
            return false;
    *out = value;
    return true;
}

bool json_i64(const struct json *j, int node, int64_t *out)
{
    uint64_t value;
    if (json_type(j, node) != JSON_NUMBER)
        return false;
    struct decimal d = split(json_raw(j, node));
    if (!magnitude(d, &value))
        return false;
    if (value > (uint64_t)INT64_MAX + d.negative)
        return false;
    *out = d.negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool json_double(const struct json *j, int node, double *out)
{
    char small[64];
    if (json_type(j, node) != JSON_NUMBER)
        return false;
    struct span raw = json_raw(j, node);
    CLEANUP_FREE char *large = NULL;
    char *text = small;
    if (!span_copy_string(raw, small, sizeof small))
        text = large = memory_copy_span(raw);
    double value = strtod(text, NULL);
    if (!isfinite(value))
        return false;
    *out = value;
    return true;
}
