// SPDX-License-Identifier: Apache-2.0
// Values that are secret by the name they are given: in environments, INI, JSON, YAML, connection
// strings and headers. Source code gives such names to variables, types and calls, so a value
// counts only when it looks like one: no word, no expression, no placeholder.
#include "gateway/lib/base/memory.h"
#include "gateway/lib/scrub/inside.h"

enum { NAME_MAX_BYTES = 64, VALUE_MAX = 1024 };

// What a name ends with; separators ('_', '-', '.') are left out before the comparison.
static const struct {
    const char *text;
    bool alone; // only as a word of its own: "db_pass", never "compass"
} endings[] = {
    {"password", false},
    {"passwd", false},
    {"passphrase", false},
    {"pass", true},
    {"pwd", true},
    {"secret", false},
    {"token", false},
    {"apikey", false},
    {"accesskey", false},
    {"privatekey", false},
    {"secretkey", false},
    {"accountkey", false},
    {"authkey", false},
    {"signingkey", false},
    {"encryptionkey", false},
    {"secretkeybase", false},
    {"sharedaccesskey", false},
    {"masterkey", false},
};

struct field {
    struct span name, value;
    char separator;
    bool quoted, spaced, shouting; // `= "…"`, ` = …`, DB_PASSWORD
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_name(char c)
{
    return scrub_is_word(c) || c == '.';
}

static bool contains(struct span value, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= value.size; i++)
        if (span_same_nocase(value.data + i, word, size))
            return true;
    return false;
}

bool scrub_is_placeholder(struct span value)
{
    static const char *const words[] = {
        "example",     "changeme", "change-me", "change_me", "your-", "your_",
        "placeholder", "redacted", "xxxx",      "****",      "....",  "dummy",
        "sample",      "insert",   "replace",   "<",         "${",    "{{",
        "$(",          "%(",       "123456",    "foobar",    "fixme", "not-a-",
    };
    static const char *const whole[] = {"password", "passwd", "pass", "secret", "token", "pwd",
                                        "postgres", "root",   "user", "admin",  "test",  "pw",
                                        "guest",    "mysql",  "none", "null",   "true",  "false"};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (contains(value, words[i]))
            return true;
    for (size_t i = 0; i < ARRAY_COUNT(whole); i++)
        if (value.size == strlen(whole[i]) && span_same_nocase(value.data, whole[i], value.size))
            return true;
    for (size_t i = 1; i < value.size; i++)
        if (value.data[i] != value.data[0])
            return false;
    return true; // one character, over and over
}

static bool is_secret_name(struct span name)
{
    char text[NAME_MAX_BYTES + 1];
    size_t size = 0;
    for (size_t i = 0; i < name.size; i++)
        if (scrub_is_alnum(name.data[i]))
            text[size++] = lower(name.data[i]);
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        size_t n = strlen(endings[i].text);
        if (size < n || memcmp(text + size - n, endings[i].text, n) != 0)
            continue;
        if (!endings[i].alone || name.size == n || !scrub_is_alnum(name.data[name.size - n - 1]))
            return true;
    }
    return false;
}

// Words and numbered words joined by separators, as identifiers and slugs are: "access_token_v2".
static bool is_wordy(struct span v)
{
    size_t digits = 0, changes = 0;
    for (size_t i = 0; i < v.size; i++) {
        char c = v.data[i];
        if (!is_name(c))
            return false;
        if (c < '0' || c > '9')
            continue;
        digits++;
        if (i + 1 < v.size && scrub_is_alnum(v.data[i + 1]) &&
            !(v.data[i + 1] >= '0' && v.data[i + 1] <= '9'))
            changes++;
    }
    return digits <= 2 && changes == 0;
}

struct traits {
    bool digit, letter, mark, code;
};

static struct traits traits_of(struct span v)
{
    struct traits t = {0};
    for (size_t i = 0; i < v.size; i++) {
        char c = v.data[i];
        if (c >= '0' && c <= '9')
            t.digit = true;
        else if (scrub_is_alnum(c))
            t.letter = true;
        else if (strchr("()[]{};<>`\\", c) != NULL)
            t.code = true;
        else if (strchr("_-./:", c) == NULL)
            t.mark = true;
    }
    return t;
}

static bool is_secret_value(const struct field *f)
{
    struct span v = f->value;
    struct traits t = traits_of(v);
    bool environment = f->shouting && f->separator == '=' && !f->spaced;
    if (v.size < 6 || v.size > VALUE_MAX || t.code || scrub_is_placeholder(v) ||
        strchr("$%/.&*@", v.data[0]) != NULL || contains(v, "://") || memchr(v.data, ' ', v.size) ||
        span_starts_with(v, SPAN_LITERAL("0x")) || !t.letter)
        return false;
    if (environment && !f->quoted)
        return t.digit || t.mark || v.size >= 10;
    if (f->quoted)
        return (t.digit || t.mark) && !is_wordy(v);
    return v.size >= 8 && t.digit && !is_wordy(v) && (f->spaced ? v.size >= 16 : true);
}

static size_t skip_spaces(struct span w, size_t at)
{
    while (at < w.size && (w.data[at] == ' ' || w.data[at] == '\t'))
        at++;
    return at;
}

// Behind the name: `"`, spaces, one of = : := => and spaces. 0 where there is none.
static size_t read_separator(struct span w, size_t at, struct field *f)
{
    if (at < w.size && (w.data[at] == '"' || w.data[at] == '\''))
        at++;
    size_t behind = skip_spaces(w, at);
    f->spaced = behind > at;
    if (behind >= w.size || (w.data[behind] != '=' && w.data[behind] != ':'))
        return 0;
    f->separator = w.data[behind++];
    if (behind < w.size && (w.data[behind] == '=' || w.data[behind] == '>') &&
        !(f->separator == '=' && w.data[behind] == '='))
        behind++;
    return behind;
}

static bool read_quoted(struct span w, size_t at, struct field *f)
{
    size_t end = at + 1;
    while (end < w.size && end - at <= VALUE_MAX && w.data[end] != w.data[at] &&
           w.data[end] != '\n')
        end += w.data[end] == '\\' && end + 1 < w.size && w.data[end + 1] != '\n' ? 2 : 1;
    f->quoted = true;
    f->value = span_slice(w, at + 1, end);
    return end < w.size && w.data[end] == w.data[at];
}

static bool read_value(struct span w, size_t at, struct field *f)
{
    size_t start = skip_spaces(w, at);
    f->spaced = f->spaced || (start > at && f->separator == '=');
    if (start >= w.size)
        return false;
    if (w.data[start] == '"' || w.data[start] == '\'')
        return read_quoted(w, start, f);
    size_t end = start;
    while (end < w.size && end - start <= VALUE_MAX && (unsigned char)w.data[end] > ' ' &&
           strchr(",;\"'&", w.data[end]) == NULL)
        end++;
    f->value = span_slice(w, start, end);
    return end > start;
}

static bool is_shouting(struct span name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] >= 'a' && name.data[i] <= 'z')
            return false;
    return true;
}

static bool check_assignment(const void *row, struct span window, size_t at,
                             struct scrub_match *out)
{
    struct field f = {0};
    size_t from = at, to = at;
    (void)row;
    while (from > 0 && at - from < NAME_MAX_BYTES / 2 && is_name(window.data[from - 1]))
        from--;
    while (to < window.size && to - at < NAME_MAX_BYTES / 2 && is_name(window.data[to]))
        to++;
    f.name = span_slice(window, from, to);
    size_t value = is_secret_name(f.name) ? read_separator(window, to, &f) : 0;
    if (value == 0)
        return false;
    f.shouting = is_shouting(f.name);
    if (!read_value(window, value, &f) || !is_secret_value(&f))
        return false;
    size_t start = (size_t)(f.value.data - window.data);
    *out = (struct scrub_match){start, start + f.value.size, "secret", false};
    return true;
}

// "Bearer …" and "Basic …", behind which words of prose stand as well.
static bool check_scheme(const void *row, struct span window, size_t at, struct scrub_match *out)
{
    size_t size = strlen(row), start = at + size, end = start, digits = 0, upper = 0;
    if (window.size - at <= size || !span_same_nocase(window.data + at, row, size) ||
        (at > 0 && scrub_is_word(window.data[at - 1])))
        return false;
    for (; end < window.size && end - start < SCRUB_AHEAD / 2; end++) {
        char c = window.data[end];
        if (!scrub_is_word(c) && strchr("+/=.~", c) == NULL)
            break;
        digits += c >= '0' && c <= '9';
        upper += c >= 'A' && c <= 'Z';
    }
    struct span value = span_slice(window, start, end);
    *out = (struct scrub_match){start, end, "authorization", false};
    return value.size >= 16 && (digits > 0 || value.data[value.size - 1] == '=') &&
           digits + upper >= 2 && !is_wordy(value) && !scrub_is_placeholder(value);
}

void assignments_add(struct anchor_list *list)
{
    static const char *const names[] = {"pas", "pwd", "ecr", "oke", "key"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        anchor_add(list, names[i], true, NULL, check_assignment);
    anchor_add(list, "bea", true, "bearer ", check_scheme);
    anchor_add(list, "bas", true, "basic ", check_scheme);
}
