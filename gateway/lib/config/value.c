// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/config/value.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>

#include "gateway/lib/base/memory.h"

struct unit {
    const char *name;
    int64_t factor;
};
// Largest first: that is how values are written back.
static const struct unit size_units[] = {
    {"TiB", 1LL << 40}, {"GiB", 1LL << 30}, {"MiB", 1LL << 20},
    {"KiB", 1LL << 10}, {"B", 1},           {"", 1},
    {NULL, 0},
};
static const struct unit duration_units[] = {
    {"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"m", 60000},
    {"s", 1000},     {"ms", 1},      {NULL, 0},
};

static const char *const kind_texts[] = {
#define X(kind, text) text,
    KEY_KIND_TABLE(X)
#undef X
};

void value_range(const struct key *k, int64_t *least, int64_t *most)
{
    *least = k->least;
    *most = k->most != 0 ? k->most : INT64_MAX;
}

static const struct unit *units_of(const struct key *k)
{
    return k->kind == KEY_SIZE ? size_units : duration_units;
}

static int write_quantity(const struct key *k, int64_t value, struct buffer *out)
{
    const struct unit *u = units_of(k);
    if (k->kind == KEY_INTEGER || value == 0)
        return buffer_printf(out, "%lld", (long long)value);
    // "1d" and "16MiB", but "90s" and not a fraction of a minute.
    while (u->factor > 1 && value % u->factor != 0)
        u++;
    return buffer_printf(out, "%lld%s", (long long)(value / u->factor), u->name);
}

static int write_words(const struct key *k, struct buffer *out)
{
    int rc = buffer_append_string(out, "one of ");
    for (size_t i = 0; k->words[i] != NULL && rc == 0; i++)
        rc = buffer_printf(out, "%s%s", i > 0 ? ", " : "", k->words[i]);
    return rc;
}

static int write_range(const struct key *k, struct buffer *out)
{
    int64_t least, most;
    value_range(k, &least, &most);
    int rc = 0;
    if (least != 0 || most != INT64_MAX) {
        rc = buffer_append_string(out, " from ");
        if (rc == 0)
            rc = write_quantity(k, least, out);
    }
    if (rc == 0 && most != INT64_MAX)
        rc = buffer_append_string(out, " to ");
    if (rc == 0 && most != INT64_MAX)
        rc = write_quantity(k, most, out);
    return rc;
}

int value_write_expectation(const struct key *k, struct buffer *out)
{
    if (k->kind == KEY_ENUM || k->kind == KEY_WORD)
        return write_words(k, out);
    if (k->accepts != NULL && k->kind != KEY_STRINGS)
        return buffer_append_string(out, k->expected);
    int rc = buffer_append_string(out, kind_texts[k->kind]);
    bool ranged = k->kind == KEY_INTEGER || k->kind == KEY_SIZE || k->kind == KEY_DURATION;
    return rc == 0 && ranged ? write_range(k, out) : rc;
}

void value_expectation(const struct key *k, char *out, size_t out_size)
{
    struct buffer text;
    buffer_init(&text, 1024);
    value_write_expectation(k, &text);
    snprintf(out, out_size, "%.*s", SPAN_ARGS(buffer_span(&text)));
    buffer_fini(&text);
}

static int refuse(const struct key *k, struct span got, struct failure *why)
{
    char expected[320], shown[64];
    size_t size = 0;
    value_expectation(k, expected, sizeof expected);
    if (k->kind == KEY_STRINGS) // one of them is wrong
        snprintf(expected, sizeof expected, "%s", k->accepts != NULL ? k->expected : "a string");
    if (k->secret)
        return failure_set(why, FAULT_INVALID, "expected %s, got something else (not shown)",
                           expected);
    for (size_t i = 0; i < got.size && size < sizeof shown - 1; i++)
        shown[size++] = iscntrl((unsigned char)got.data[i]) ? '?' : got.data[i];
    shown[size] = '\0';
    return failure_set(why, FAULT_INVALID, "expected %s, got `%s`", expected, shown);
}

static bool parse_integer(struct span text, int64_t *out)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    uint64_t value;
    struct span digits = span_slice(text, negative ? 1 : 0, text.size);
    // A leading zero is octal in one YAML and decimal in another.
    if (digits.size > 1 && digits.data[0] == '0')
        return false;
    if (!span_to_u64(digits, &value) || value > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool parse_quantity(const struct unit *units, struct span text, int64_t *out)
{
    size_t digits = 0;
    int64_t number;
    while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    if (!parse_integer(span_slice(text, 0, digits), &number))
        return false;
    struct span unit = span_trim(span_slice(text, digits, text.size));
    for (const struct unit *u = units; u->name != NULL; u++)
        if (span_is(unit, u->name)) {
            if (number > INT64_MAX / u->factor)
                return false;
            *out = number * u->factor;
            return true;
        }
    *out = 0;
    return number == 0 && unit.size == 0;
}

static int parse_number(const struct key *k, struct span text, bool quoted, int64_t *field,
                        struct failure *why)
{
    int64_t value, least, most;
    bool good;
    value_range(k, &least, &most);
    if (k->kind == KEY_INTEGER)
        good = !quoted && parse_integer(text, &value);
    else
        good = parse_quantity(units_of(k), text, &value);
    if (!good || value < least || value > most)
        return refuse(k, text, why);
    *field = value;
    return 0;
}

static int parse_bool(const struct key *k, struct span text, bool quoted, bool *field,
                      struct failure *why)
{
    bool is_true = span_is(text, "true");
    if (quoted || (!is_true && !span_is(text, "false")))
        return refuse(k, text, why);
    *field = is_true;
    return 0;
}

static int parse_word(const struct key *k, struct span text, void *field, struct failure *why)
{
    for (unsigned i = 0; k->words[i] != NULL; i++) {
        if (!span_is(text, k->words[i]))
            continue;
        if (k->kind == KEY_ENUM)
            *(unsigned *)field = i;
        else if (!span_copy_string(text, field, k->size))
            break;
        return 0;
    }
    return refuse(k, text, why);
}

bool name_is_valid(const char *text)
{
    return text[0] != '-' && text[0] != '\0' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static bool port_is_valid(const char *text)
{
    int64_t port;
    return parse_integer(span_from_string(text), &port) && port >= 0 && port <= 65535;
}

// The shapes that gateway/lib/net/address reads; that one has the last word when listening.
static bool address_is_valid(const char *text)
{
    unsigned char binary[16];
    char host[64];
    const char *colon = strrchr(text, ':');
    if (strncmp(text, "unix:", 5) == 0)
        return text[5] == '/';
    if (strncmp(text, "fd:", 3) == 0)
        return port_is_valid(text + 3);
    if (colon == NULL || !port_is_valid(colon + 1))
        return false;
    bool six = text[0] == '[' && colon > text + 1 && colon[-1] == ']';
    struct span inside =
        six ? span_of(text + 1, (size_t)(colon - text) - 2) : span_of(text, (size_t)(colon - text));
    return span_copy_string(inside, host, sizeof host) &&
           inet_pton(six ? AF_INET6 : AF_INET, host, binary) == 1;
}

static bool is_plain_text(struct span text)
{
    for (size_t i = 0; i < text.size; i++)
        if (iscntrl((unsigned char)text.data[i]))
            return false;
    return true;
}

static bool has_right_shape(const struct key *k, const char *text)
{
    bool may_be_empty = k->fallback != NULL && k->fallback[0] == '\0' && k->kind != KEY_STRINGS;
    if (text[0] == '\0')
        return may_be_empty;
    if (k->accepts != NULL)
        return k->accepts(text);
    switch (k->kind) {
    case KEY_NAME:
        return name_is_valid(text);
    case KEY_PATH:
        return text[0] == '/';
    case KEY_ADDRESS:
        return address_is_valid(text);
    default:
        return true;
    }
}

static int parse_text(const struct key *k, struct span text, char *field, size_t size,
                      struct failure *why)
{
    if (text.size >= size)
        return failure_set(why, FAULT_INVALID, "expected at most %zu bytes, got %zu", size - 1,
                           text.size);
    if (!is_plain_text(text) || !span_copy_string(text, field, size) ||
        !has_right_shape(k, field)) {
        field[0] = '\0';
        return refuse(k, text, why);
    }
    return 0;
}

static int parse_item(const struct key *k, struct span text, char **field, struct failure *why)
{
    char item[1024];
    int rc = parse_text(k, text, item, sizeof item, why);
    if (rc == 0)
        *field = memory_copy_string(item);
    return rc;
}

int value_parse(const struct key *k, struct span text, bool quoted, void *field,
                struct failure *why)
{
    switch (k->kind) {
    case KEY_BOOL:
        return parse_bool(k, text, quoted, field, why);
    case KEY_INTEGER:
    case KEY_SIZE:
    case KEY_DURATION:
        return parse_number(k, text, quoted, field, why);
    case KEY_ENUM:
    case KEY_WORD:
        return parse_word(k, text, field, why);
    case KEY_STRINGS:
        return parse_item(k, text, field, why);
    default:
        return parse_text(k, text, field, k->size, why);
    }
}

static bool needs_quotes(struct span text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    if (text.size == 0 || text.data[0] == '-' || span_is(text, "null") || span_is(text, "~"))
        return true;
    for (size_t i = 0; i < text.size; i++) {
        bool colon = text.data[i] == ':' && i > 0 && i + 1 < text.size;
        if (!colon && strchr(plain, text.data[i]) == NULL)
            return true;
    }
    return false;
}

int value_write_string(struct span text, struct buffer *out)
{
    if (!needs_quotes(text))
        return buffer_append(out, text);
    int rc = buffer_append_char(out, '"');
    for (size_t i = 0; i < text.size && rc == 0; i++) {
        if (text.data[i] == '"' || text.data[i] == '\\')
            rc = buffer_append_char(out, '\\');
        if (rc == 0)
            rc = buffer_append_char(out, text.data[i]);
    }
    return rc != 0 ? rc : buffer_append_char(out, '"');
}

int value_format(const struct key *k, const void *field, struct buffer *out)
{
    switch (k->kind) {
    case KEY_BOOL:
        return buffer_append_string(out, *(const bool *)field ? "true" : "false");
    case KEY_INTEGER:
    case KEY_SIZE:
    case KEY_DURATION:
        return write_quantity(k, *(const int64_t *)field, out);
    case KEY_ENUM:
        return buffer_append_string(out, k->words[*(const unsigned *)field]);
    case KEY_STRINGS:
        return value_write_string(span_from_string(*(char *const *)field), out);
    default:
        return value_write_string(span_from_string(field), out);
    }
}
