// SPDX-License-Identifier: Apache-2.0
// What every file of the flattener uses: memory, notes, keys.
#include "schemas/flattener.h"

#include <stdarg.h>
#include <stdio.h>

#include "gateway/lib/base/table.h"
#include "gateway/lib/json/text.h"
#include "gateway/lib/json/utf8.h"
#include "schemas/value.h"

static const struct {
    const char *name, *text;
} loss_rows[LOSS_COUNT] = {
#define X(name, narrows, text) [LOSS_##name] = {#name, text},
    LOSS_TABLE(X)
#undef X
};

const char *loss_name(enum loss row)
{
    return loss_rows[row].name;
}

// The arena's limit is far above what the work limits let be asked for.
void *flattener_alloc(struct flattener *f, size_t size)
{
    return arena_alloc(f->arena, size > 0 ? size : 1);
}

void *flattener_alloc_raw(struct flattener *f, size_t size)
{
    return arena_alloc_raw(f->arena, size > 0 ? size : 1);
}

void flattener_keep(struct table **t, struct span key, void *value)
{
    if (*t == NULL)
        *t = table_new();
    table_put(*t, key, value);
}

struct span flattener_printf(struct flattener *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    size_t room = (size_t)(size > 0 ? size : 0) + 1;
    char *text = flattener_alloc_raw(f, room);
    va_start(args, format);
    vsnprintf(text, room, format, args);
    va_end(args);
    return span_of(text, room - 1);
}

void flattener_lose(struct flattener *f, enum loss row, int node, const char *what)
{
    struct flatten_result *r = f->result;
    f->loss_total++;
    r->losses[row]++;
    if (!f->options->notes || r->note_count == FLATTEN_NOTES_MAX)
        return;
    if (r->note == NULL)
        r->note = flattener_alloc_raw(f, FLATTEN_NOTES_MAX * sizeof *r->note);
    struct buffer pointer;
    buffer_init(&pointer, 4096);
    if (node != JSON_NONE)
        (void)json_pointer(f->j, node, &pointer);
    struct flatten_note *n = &r->note[r->note_count++];
    n->row = row;
    n->pointer = arena_copy(f->arena, buffer_span(&pointer));
    n->text = arena_copy(f->arena, span_from_string(what));
    buffer_fini(&pointer);
}

void flattener_refuse(struct flattener *f, int node, const char *what)
{
    struct buffer pointer;
    if (f->refused)
        return;
    f->refused = true;
    buffer_init(&pointer, 4096);
    if (node != JSON_NONE)
        (void)json_pointer(f->j, node, &pointer);
    failure_set(f->why, FAULT_UNSUPPORTED, "%s cannot say this: at \"%.*s\": %s", f->p->name,
                SPAN_ARGS(span_slice(buffer_span(&pointer), 0, 200)), what);
    buffer_fini(&pointer);
}

static bool is_surrogate(uint32_t code)
{
    return code >= 0xd800 && code <= 0xdfff;
}

// One spelling of a key: no escape that is not needed, lone surrogates as they are.
struct span canonical_key(struct flattener *f, struct span raw)
{
    if (raw.size == 0 || memchr(raw.data, '\\', raw.size) == NULL)
        return raw;
    char *text = flattener_alloc_raw(f, raw.size * 6 + 1);
    size_t size = 0;
    for (const char *at = raw.data, *end = at + raw.size; at < end;) {
        const char *start = at;
        uint32_t code = text_next(&at, end);
        bool escape = code < 0x20 || is_surrogate(code);
        if (escape) {
            size += (size_t)snprintf(text + size, 7, "\\u%04x", code);
        } else if (code == '"' || code == '\\') {
            text[size++] = '\\';
            text[size++] = (char)code;
        } else if (*start != '\\') {
            memcpy(text + size, start, (size_t)(at - start));
            size += (size_t)(at - start);
        } else {
            size += utf8_encode(code, text + size);
        }
    }
    return span_of(text, size);
}

enum { LINEAR_ENTRIES = 8 };

struct entry *entries_find(const struct entries *e, struct span key)
{
    if (e->slots == NULL) {
        for (uint32_t i = 0; i < e->count; i++)
            if (span_equals(e->list[i].key, key))
                return &e->list[i];
        return NULL;
    }
    uint32_t at = (uint32_t)hash_bytes(2, key) & (e->slot_count - 1);
    for (; e->slots[at] != 0; at = (at + 1) & (e->slot_count - 1))
        if (span_equals(e->list[e->slots[at] - 1].key, key))
            return &e->list[e->slots[at] - 1];
    return NULL;
}

static void index_entries(struct flattener *f, struct entries *e)
{
    e->slot_count = e->capacity * 2;
    e->slots = flattener_alloc(f, e->slot_count * sizeof *e->slots);
    for (uint32_t i = 0; i < e->count; i++) {
        uint32_t at = (uint32_t)hash_bytes(2, e->list[i].key) & (e->slot_count - 1);
        while (e->slots[at] != 0)
            at = (at + 1) & (e->slot_count - 1);
        e->slots[at] = i + 1;
    }
}

struct entry *entries_add(struct flattener *f, struct entries *e, struct span key)
{
    struct entry *found = entries_find(e, key);
    if (found != NULL)
        return found;
    if (e->count == e->capacity) {
        uint32_t capacity = e->capacity > 0 ? e->capacity * 2 : LINEAR_ENTRIES;
        struct entry *list = flattener_alloc_raw(f, capacity * sizeof *list);
        if (e->count > 0)
            memcpy(list, e->list, e->count * sizeof *list);
        e->list = list;
        e->capacity = capacity;
        if (capacity > LINEAR_ENTRIES)
            index_entries(f, e);
    }
    e->list[e->count++] = (struct entry){.key = key};
    if (e->slots != NULL) {
        uint32_t at = (uint32_t)hash_bytes(2, key) & (e->slot_count - 1);
        while (e->slots[at] != 0)
            at = (at + 1) & (e->slot_count - 1);
        e->slots[at] = e->count;
    }
    return &e->list[e->count - 1];
}
