// SPDX-License-Identifier: Apache-2.0
#include "schemas/names.h"

#include "gateway/lib/base/table.h"

enum { HASH_DIGITS = 8 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool takes_char(char c, const struct name_rule *rule)
{
    return is_letter(c) || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr(rule->symbols, c) != NULL);
}

static bool takes_first(char c, const struct name_rule *rule)
{
    return takes_char(c, rule) && (!rule->letter_first || is_letter(c) || c == '_');
}

bool name_fits(struct span name, const struct name_rule *rule)
{
    if (name.size == 0 || name.size > rule->longest || !takes_first(name.data[0], rule))
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (!takes_char(name.data[i], rule))
            return false;
    return true;
}

static const struct name_rule property_rule = {.symbols = "_.-", .longest = 64};

bool name_is_plain_key(struct span key)
{
    return name_fits(key, &property_rule);
}

// FNV-1a: the same in every process and release, since clients keep the names.
static uint32_t stable_hash(struct span text, unsigned salt)
{
    uint64_t h = 0xcbf29ce484222325U ^ salt;
    for (size_t i = 0; i < text.size; i++)
        h = (h ^ (unsigned char)text.data[i]) * 0x100000001b3U;
    return (uint32_t)(h ^ h >> 32);
}

struct span name_make(struct span text, const struct name_rule *rule, unsigned salt,
                      struct arena *arena)
{
    size_t most = rule->longest - HASH_DIGITS - 1, size = 0;
    char *name = arena_alloc(arena, rule->longest + 2);
    if (text.size == 0 || !takes_first(text.data[0], rule))
        if (text.size == 0 || takes_char(text.data[0], rule))
            name[size++] = '_';
    for (size_t i = 0; i < text.size && size < most; i++) {
        if (((unsigned char)text.data[i] & 0xc0) == 0x80)
            continue; // one '_' for each character
        name[size++] = takes_char(text.data[i], rule) ? text.data[i] : '_';
    }
    name[size++] = '_';
    uint32_t h = stable_hash(text, salt);
    for (int i = HASH_DIGITS - 1; i >= 0; i--)
        name[size++] = "0123456789abcdef"[h >> (4 * i) & 15];
    return span_of(name, size);
}

void names_map(struct tool_name *rows, size_t count, const struct provider *p, struct arena *arena)
{
    struct table *taken = table_new();
    for (size_t i = 0; i < count; i++) {
        rows[i].to = SPAN_NONE;
        if (!name_fits(rows[i].from, &p->names) || table_get(taken, rows[i].from) != NULL)
            continue;
        rows[i].to = rows[i].from;
        table_put(taken, rows[i].from, taken);
    }
    for (size_t i = 0; i < count; i++) {
        for (unsigned salt = 0; span_is_absent(rows[i].to); salt++) {
            struct span name = name_make(rows[i].from, &p->names, salt, arena);
            if (table_get(taken, name) != NULL)
                continue;
            rows[i].to = name;
            table_put(taken, name, taken);
        }
    }
    table_free(taken);
}
