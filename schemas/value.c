// SPDX-License-Identifier: Apache-2.0
#include "schemas/value.h"

#include "gateway/lib/base/random.h"
#include "schemas/keyword.h"

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15U;
    return h ^ (h >> 32);
}

uint64_t hash_bytes(uint64_t seed, struct span bytes)
{
    static uint64_t secret;
    if (secret == 0)
        random_bytes(&secret, sizeof secret);
    uint64_t h = mix(secret, seed ^ bytes.size), word;
    size_t at = 0;
    for (; bytes.size - at >= 8; at += 8) {
        memcpy(&word, bytes.data + at, 8);
        h = mix(h, word);
    }
    word = 0;
    if (bytes.size > at)
        memcpy(&word, bytes.data + at, bytes.size - at);
    return mix(mix(h, word), secret);
}

// A number as sign, significant digits without zeros at either end, and a power of ten.
struct normal {
    bool negative;
    struct span digits; // a '.' may stand among them
    int64_t power;
};

static struct normal normalize(struct span raw)
{
    struct normal n = {.negative = raw.data[0] == '-'};
    struct span m = span_slice(raw, n.negative, raw.size);
    for (size_t i = 0; i < m.size; i++) {
        if ((m.data[i] | 0x20) != 'e')
            continue;
        bool minus = m.data[i + 1] == '-';
        for (size_t k = i + 1; k < m.size; k++)
            if (m.data[k] >= '0' && m.data[k] <= '9' && n.power < (1 << 30))
                n.power = n.power * 10 + (m.data[k] - '0');
        n.power = minus ? -n.power : n.power;
        m.size = i;
    }
    const char *point = memchr(m.data, '.', m.size);
    if (point != NULL)
        n.power -= (int64_t)(m.size - (size_t)(point - m.data) - 1);
    while (m.size > 0 && (m.data[m.size - 1] == '0' || m.data[m.size - 1] == '.'))
        n.power += m.data[--m.size] == '0';
    while (m.size > 0 && (m.data[0] == '0' || m.data[0] == '.'))
        m = span_slice(m, 1, m.size);
    n.digits = m;
    if (m.size == 0)
        n = (struct normal){.digits = m};
    return n;
}

static bool digits_equal(struct span a, struct span b)
{
    size_t i = 0, k = 0;
    for (;; i++, k++) {
        i += i < a.size && a.data[i] == '.';
        k += k < b.size && b.data[k] == '.';
        if (i >= a.size || k >= b.size)
            return i >= a.size && k >= b.size;
        if (a.data[i] != b.data[k])
            return false;
    }
}

static bool numbers_equal(struct span a, struct span b)
{
    struct normal x = normalize(a), y = normalize(b);
    return x.negative == y.negative && x.power == y.power && digits_equal(x.digits, y.digits);
}

static uint64_t number_hash(struct span raw)
{
    struct normal n = normalize(raw);
    uint64_t h = mix(n.negative, (uint64_t)n.power);
    for (size_t i = 0; i < n.digits.size; i++)
        if (n.digits.data[i] != '.')
            h = mix(h, (unsigned char)n.digits.data[i]);
    return h;
}

static struct span text_of(struct span raw, struct buffer *scratch)
{
    if (memchr(raw.data, '\\', raw.size) == NULL)
        return raw;
    json_unescape(raw, scratch);
    return buffer_span(scratch);
}

static uint64_t text_hash(struct span raw)
{
    struct buffer scratch;
    buffer_init(&scratch, raw.size);
    uint64_t h = hash_bytes(1, text_of(raw, &scratch));
    buffer_fini(&scratch);
    return h;
}

static bool texts_equal(struct span a, struct span b)
{
    struct buffer x, y;
    if (span_equals(a, b))
        return true;
    buffer_init(&x, a.size);
    buffer_init(&y, b.size);
    bool same = span_equals(text_of(a, &x), text_of(b, &y));
    buffer_fini(&x);
    buffer_fini(&y);
    return same;
}

static struct span inside_quotes(struct span raw)
{
    return span_slice(raw, 1, raw.size - 1);
}

uint64_t value_hash(const struct json *j, int node)
{
    uint64_t h = json_type(j, node);
    switch (json_type(j, node)) {
    case JSON_NUMBER:
        return mix(h, number_hash(json_raw(j, node)));
    case JSON_STRING:
        return mix(h, text_hash(inside_quotes(json_raw(j, node))));
    case JSON_ARRAY:
        JSON_EACH(child, j, node)
        h = mix(h, value_hash(j, child));
        return h;
    case JSON_OBJECT:
        JSON_EACH(child, j, node)
        h += mix(text_hash(json_key_raw(j, child)), value_hash(j, child));
        return h;
    default:
        return mix(h, 7);
    }
}

static bool objects_equal(const struct json *j, int a, int b)
{
    struct buffer key;
    size_t count = json_count(j, a);
    // A look-up walks. Past a few members the seeded hash, equal by now, has to do.
    if (count > 32)
        return count == json_count(j, b) && value_hash(j, a) == value_hash(j, b);
    bool same = count == json_count(j, b);
    buffer_init(&key, json_raw(j, a).size);
    for (int n = json_first(j, a); same && n != JSON_NONE; n = json_next(j, n)) {
        buffer_clear(&key);
        json_unescape(json_key_raw(j, n), &key);
        int other = json_get_span(j, b, buffer_span(&key));
        same = other != JSON_NONE && value_equal(j, n, other);
    }
    buffer_fini(&key);
    return same;
}

bool value_equal(const struct json *j, int a, int b)
{
    enum json_type type = json_type(j, a);
    if (type != json_type(j, b))
        return false;
    if (type == JSON_NUMBER)
        return numbers_equal(json_raw(j, a), json_raw(j, b));
    if (type == JSON_STRING)
        return texts_equal(inside_quotes(json_raw(j, a)), inside_quotes(json_raw(j, b)));
    if (type == JSON_OBJECT)
        return objects_equal(j, a, b);
    if (type != JSON_ARRAY)
        return true;
    int x = json_first(j, a), y = json_first(j, b);
    while (x != JSON_NONE && y != JSON_NONE && value_equal(j, x, y)) {
        x = json_next(j, x);
        y = json_next(j, y);
    }
    return x == JSON_NONE && y == JSON_NONE;
}

unsigned value_type(const struct json *j, int node)
{
    switch (json_type(j, node)) {
    case JSON_NULL:
        return TYPE_NULL;
    case JSON_TRUE:
    case JSON_FALSE:
        return TYPE_BOOLEAN;
    case JSON_NUMBER:
        return normalize(json_raw(j, node)).power >= 0 ? TYPE_INTEGER : TYPE_NUMBER;
    case JSON_STRING:
        return TYPE_STRING;
    case JSON_ARRAY:
        return TYPE_ARRAY;
    case JSON_OBJECT:
        return TYPE_OBJECT;
    default:
        return 0;
    }
}

int value_write(const struct json *j, int node, struct buffer *out)
{
    enum json_type type = json_type(j, node);
    if (type != JSON_OBJECT && type != JSON_ARRAY)
        return buffer_append(out, json_raw(j, node));
    bool object = type == JSON_OBJECT;
    int rc = buffer_append_char(out, object ? '{' : '[');
    JSON_EACH(child, j, node)
    {
        if (rc == 0 && child != json_first(j, node))
            rc = buffer_append_char(out, ',');
        if (rc == 0 && object) {
            struct span key = json_key_raw(j, child); // its quotes stand around it
            rc = buffer_append(out, span_of(key.data - 1, key.size + 2));
            rc = rc == 0 ? buffer_append_char(out, ':') : rc;
        }
        if (rc == 0)
            rc = value_write(j, child, out);
    }
    return rc == 0 ? buffer_append_char(out, object ? '}' : ']') : rc;
}

struct value_set value_set_new(const struct json *j, struct arena *arena, size_t count)
{
    uint32_t slots = 4;
    while (slots < count * 2)
        slots *= 2;
    struct value_set s = {j, arena_alloc(arena, slots * sizeof(int)), slots};
    memset(s.slots, 0xff, slots * sizeof(int)); // JSON_NONE
    return s;
}

static int *value_set_slot(const struct value_set *s, int node)
{
    uint32_t at = (uint32_t)value_hash(s->j, node) & (s->slot_count - 1);
    while (s->slots[at] != JSON_NONE && !value_equal(s->j, s->slots[at], node))
        at = (at + 1) & (s->slot_count - 1);
    return &s->slots[at];
}

bool value_set_has(const struct value_set *s, int node)
{
    return *value_set_slot(s, node) != JSON_NONE;
}

bool value_set_add(struct value_set *s, int node)
{
    int *slot = value_set_slot(s, node);
    bool new = *slot == JSON_NONE;
    if (new)
        *slot = node;
    return new;
}
