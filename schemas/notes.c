// SPDX-License-Identifier: Apache-2.0
// What is told to the model in words: hints in descriptions, and the notes around a union.
#include "gateway/lib/json/writer.h"
#include "schemas/build.h"
#include "schemas/gather.h"
#include "schemas/value.h"

enum { HINTS_MAX = 24, HINT_SIZE_MAX = 300 };

void hint_add(struct flattener *f, struct view *v, struct span text)
{
    unsigned count = 0;
    for (const struct hint *h = v->hints; h != NULL; h = h->next, count++)
        if (span_equals(h->text, text))
            return;
    if (count == HINTS_MAX || text.size == 0)
        return;
    struct hint *h = flattener_alloc(f, sizeof *h);
    h->text = text;
    if (v->last_hint != NULL)
        v->last_hint->next = h;
    else
        v->hints = h;
    v->last_hint = h;
}

// Cut at a character's start.
static struct span cut(struct span text, size_t most)
{
    if (text.size <= most)
        return text;
    while (most > 0 && ((unsigned char)text.data[most] & 0xc0) == 0x80)
        most--;
    return span_of(text.data, most);
}

// The value compact, without quotes where it is one plain string.
static struct span words_of(struct flattener *f, int node)
{
    struct span plain;
    struct buffer text;
    if (json_string_plain(f->j, node, &plain))
        return cut(plain, HINT_SIZE_MAX);
    if (json_string_arena(f->j, node, f->arena, &plain))
        return cut(plain, HINT_SIZE_MAX);
    if (node == JSON_NONE)
        return SPAN_LITERAL("null");
    buffer_init(&text, HINT_SIZE_MAX);
    bool whole = value_write(f->j, node, &text) == 0; // up to the limit
    struct span out = arena_copy(f->arena, buffer_span(&text));
    buffer_fini(&text);
    return whole ? out : flattener_printf(f, "%.*s…", SPAN_ARGS(out));
}

void hint_value(struct flattener *f, struct view *v, const char *name, int node)
{
    struct span words = words_of(f, node);
    hint_add(f, v, flattener_printf(f, "%s: %.*s", name, SPAN_ARGS(words)));
}

void hint_parts(struct flattener *f, struct view *v, const char *name, const struct part *parts)
{
    for (; parts != NULL; parts = parts->next) {
        if (parts->any != NULL) {
            hint_parts(f, v, name, parts->any->branch[0]);
            continue;
        }
        int type = json_get(f->j, parts->node, "type");
        bool only_type =
            type != JSON_NONE && json_next(f->j, json_first(f->j, parts->node)) == JSON_NONE;
        hint_value(f, v, name, only_type ? type : parts->node);
    }
}

static bool contains(struct span text, struct span part)
{
    return part.size == 0 ||
           (text.size >= part.size && memmem(text.data, text.size, part.data, part.size) != NULL);
}

static struct span as_json(struct flattener *f, struct span text)
{
    struct buffer out;
    struct json_writer w;
    buffer_init(&out, text.size * 6 + 16);
    json_writer_init(&w, &out);
    json_write_string(&w, text);
    struct span copy = arena_copy(f->arena, buffer_span(&out));
    buffer_fini(&out);
    return span_is_absent(copy) ? SPAN_LITERAL("\"\"") : copy;
}

// The description with what is to be told behind it: "text (hint; hint)". A hint that stands there
// already is not said again, so that flattening twice changes nothing.
struct span description_text(struct flattener *f, const struct view *v)
{
    int node = v->text[KW_DESCRIPTION];
    struct span said = SPAN_LITERAL("");
    struct span raw = node != JSON_NONE ? json_raw(f->j, node) : SPAN_NONE;
    bool escapes = node != JSON_NONE && !json_string_plain(f->j, node, &said) &&
                   memmem(raw.data, raw.size, "\\u", 2) != NULL;
    if (v->hints == NULL && !escapes)
        return raw;
    if (node != JSON_NONE)
        (void)json_string_arena(f->j, node, f->arena, &said);
    struct buffer text;
    buffer_init(&text, said.size + (HINTS_MAX + 1) * 4200);
    buffer_append(&text, said);
    bool open = false;
    for (const struct hint *h = v->hints; h != NULL; h = h->next) {
        if (contains(said, h->text))
            continue;
        if (!open && said.size > 0)
            buffer_append_string(&text, " (");
        else if (open)
            buffer_append_string(&text, "; ");
        open = true;
        buffer_append(&text, h->text);
    }
    if (open && said.size > 0)
        buffer_append_char(&text, ')');
    struct span out =
        buffer_size(&text) > 0 || node != JSON_NONE ? as_json(f, buffer_span(&text)) : SPAN_NONE;
    buffer_fini(&text);
    return out;
}

static void put_note(struct building *g, enum keyword k)
{
    struct flattener *f = g->f;
    int node = g->v->text[k];
    if (node == JSON_NONE)
        return;
    bool null_default = k == KW_DEFAULT && json_type(f->j, node) == JSON_NULL;
    if (null_default && !f->p->keeps[KW_ALL_OF] &&
        ((g->v->typed && !(g->types & TYPE_NULL)) || f->p->null_style == NULL_FLAG))
        return;
    if (f->p->keeps[k])
        builder_raw(&g->b, k, compact(f, node));
    else if (k != KW_TITLE && k != KW_DISCRIMINATOR && !null_default)
        hint_value(f, g->v, keyword_name(k), node);
}

static void put_mark(struct building *g, enum keyword k, bool on, const char *word)
{
    if (!on)
        return;
    if (g->f->p->keeps[k])
        builder_raw(&g->b, k, SPAN_LITERAL("true"));
    else
        hint_add(g->f, g->v, span_from_string(word));
}

bool build_note_member(struct building *g, enum keyword k)
{
    switch (k) {
    case KW_CONTENT_ENCODING:
    case KW_CONTENT_MEDIA_TYPE:
    case KW_TITLE:
    case KW_DEFAULT:
    case KW_EXAMPLE:
    case KW_EXAMPLES:
        put_note(g, k);
        return true;
    case KW_DEPRECATED:
        put_mark(g, k, g->v->deprecated, "deprecated");
        return true;
    case KW_READ_ONLY:
        put_mark(g, k, g->v->read_only, "read-only");
        return true;
    case KW_WRITE_ONLY:
        put_mark(g, k, g->v->write_only, "write-only");
        return true;
    case KW_DESCRIPTION: // its place; what it says is known last
        builder_raw(&g->b, KW_DESCRIPTION, SPAN_NONE);
        g->description_at = g->b.count;
        return true;
    default:
        return false;
    }
}

static bool is_union(struct node *n)
{
    return schema_node_member(n, KW_ANY_OF) != NULL || schema_node_member(n, KW_ONE_OF) != NULL;
}

static void drop_member(struct builder *b, enum keyword k)
{
    for (unsigned i = 0; i < b->count; i++)
        if (b->member[i].keyword == k) {
            memmove(&b->member[i], &b->member[i + 1], (b->count - i - 1) * sizeof b->member[0]);
            b->count--;
            return;
        }
}

// The notes of a view as members, in its order: those in front of what is no note, then the rest.
static void list_notes(struct building *g, struct builder *front, struct builder *back)
{
    bool behind = false;
    for (unsigned i = 0; i < g->v->order_count; i++) {
        enum keyword k = (enum keyword)g->v->order[i];
        if (!gather_is_note(k)) {
            behind = behind || (k != KW_COMMENT && k != KW_ID);
            continue;
        }
        if (k == KW_DESCRIPTION || g->done[k])
            continue;
        g->done[k] = true;
        g->b.count = 0;
        build_note_member(g, k);
        struct builder *to = behind ? back : front;
        if (g->b.count > 0)
            to->member[to->count++] = g->b.member[0];
    }
}

// The description goes where the source has it, else behind everything.
static void place_description(struct building *g, struct builder *front, struct builder *back)
{
    struct span text = description_text(g->f, g->v);
    if (span_is_absent(text))
        return;
    struct builder *to = back;
    unsigned at = 0;
    bool behind = false, found = false;
    for (unsigned i = 0; i < g->v->order_count && !found; i++) {
        enum keyword k = (enum keyword)g->v->order[i];
        found = k == KW_DESCRIPTION;
        if (!gather_is_note(k) && !behind) {
            behind = true;
            at = 0;
        } else if (!found && gather_is_note(k) && g->f->p->keeps[k] && g->v->text[k] != JSON_NONE) {
            at++;
        }
    }
    to = found && !behind ? front : back;
    if (!found || at > to->count)
        at = to->count;
    memmove(&to->member[at + 1], &to->member[at], (to->count - at) * sizeof to->member[0]);
    to->count++;
    to->member[at] = (struct member){.keyword = KW_DESCRIPTION, .kind = MEMBER_RAW};
    to->member[at].as.raw = text;
}

// Where nothing may stand beside anyOf, the notes go to its first branch.
static struct node *notes_on_branch(struct flattener *f, struct view *v, struct node *n,
                                    struct site s)
{
    n = node_own(f, n);
    struct member *m = schema_node_member(n, KW_ANY_OF);
    struct member *inner = schema_node_member(m->as.list[0], KW_DESCRIPTION);
    int value = v->text[KW_DEFAULT];
    if (value != JSON_NONE && json_type(f->j, value) != JSON_NULL)
        hint_value(f, v, "default", value);
    v->text[KW_DEFAULT] = v->text[KW_TITLE] = v->text[KW_EXAMPLE] = JSON_NONE;
    if (inner != NULL && v->text[KW_DESCRIPTION] == JSON_NONE && v->hints == NULL)
        return n;
    if (inner != NULL) {
        struct json *j;
        struct span text;
        if (json_parse(inner->as.raw, NULL, &j, NULL) == 0) {
            if (json_string_arena(j, JSON_ROOT, f->arena, &text))
                hint_add(f, v, text);
            json_free(j);
        }
    }
    m->as.list[0] = with_notes(f, v, m->as.list[0], s);
    // With the notes it may have become the same as another one.
    uint32_t left = 1;
    for (uint32_t i = 1; i < m->count; i++)
        if (schema_node_hash(m->as.list[i]) != schema_node_hash(m->as.list[0]))
            m->as.list[left++] = m->as.list[i];
    m->count = left;
    n->hashed = false;
    return left == 1 ? m->as.list[0] : n;
}

static void tell_default(struct flattener *f, struct view *v)
{
    int value = v->text[KW_DEFAULT];
    if (value != JSON_NONE && json_type(f->j, value) != JSON_NULL)
        hint_value(f, v, "default", value);
    v->text[KW_DEFAULT] = JSON_NONE;
}

struct node *with_notes(struct flattener *f, struct view *v, struct node *n, struct site s)
{
    if (f->p->union_bare && is_union(n))
        return notes_on_branch(f, v, n, s);
    if (f->p->union_described && is_union(n))
        tell_default(f, v);
    struct building *g = building_take(f);
    g->v = v;
    g->s = s;
    g->types = v->types;
    struct builder front, back;
    front.count = back.count = 0;
    list_notes(g, &front, &back);
    place_description(g, &front, &back);
    struct builder *out = &g->b;
    out->count = n->count;
    memcpy(out->member, n->members, n->count * sizeof *n->members);
    for (unsigned i = 0; i < front.count; i++)
        drop_member(out, (enum keyword)front.member[i].keyword);
    for (unsigned i = 0; i < back.count; i++)
        drop_member(out, (enum keyword)back.member[i].keyword);
    memmove(&out->member[front.count], out->member, out->count * sizeof out->member[0]);
    memcpy(out->member, front.member, front.count * sizeof out->member[0]);
    out->count += front.count;
    memcpy(&out->member[out->count], back.member, back.count * sizeof out->member[0]);
    out->count += back.count;
    struct node *with = schema_node_new(f, out);
    with->takes_null = n->takes_null;
    with->is_null = n->is_null;
    building_give(f, g);
    return with;
}
