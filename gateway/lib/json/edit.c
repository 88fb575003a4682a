// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/json/edit.h"

// source[from, to) gives way to `bytes`, and a comma where members follow an inserted one.
struct splice {
    size_t from, to;
    struct span bytes;
    bool comma;
};

void json_edit_init(struct json_edit *e, const struct json *doc)
{
    e->doc = doc;
    e->count = 0;
}

static int note(struct json_edit *e, enum json_change_kind kind, int node, struct span bytes)
{
    if (json_type(e->doc, node) == JSON_ABSENT)
        return FAULT_INVALID;
    if (e->count == JSON_EDIT_MAX)
        return FAULT_TOO_LARGE;
    e->change[e->count++] = (struct json_change){kind, node, bytes};
    return 0;
}

int json_edit_replace(struct json_edit *e, int node, struct span json)
{
    return note(e, JSON_REPLACE, node, json);
}

int json_edit_delete(struct json_edit *e, int node)
{
    if (json_parent(e->doc, node) == JSON_NONE)
        return FAULT_INVALID;
    return note(e, JSON_DELETE, node, SPAN_NONE);
}

int json_edit_insert_member(struct json_edit *e, int object, struct span member)
{
    if (json_type(e->doc, object) != JSON_OBJECT)
        return FAULT_INVALID;
    return note(e, JSON_INSERT, object, member);
}

static size_t node_start(const struct json *j, int node)
{
    return (size_t)(json_raw(j, node).data - json_source(j).data);
}

static size_t node_end(const struct json *j, int node)
{
    return node_start(j, node) + json_raw(j, node).size;
}

static bool is_deleted(const struct json_edit *e, int node)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->change[i].kind == JSON_DELETE && e->change[i].node == node)
            return true;
    return false;
}

// Behind a sibling that stays, the comma before goes too; in front of all that stay, the one
// behind.
static struct splice deletion(const struct json_edit *e, int node)
{
    const struct json *j = e->doc;
    bool behind_one = false;
    size_t from = json_member_start(j, node);
    int previous = JSON_NONE;
    for (int n = json_first(j, json_parent(j, node)); n != node; n = json_next(j, n)) {
        behind_one = behind_one || !is_deleted(e, n);
        previous = n;
    }
    if (behind_one)
        return (struct splice){node_end(j, previous), node_end(j, node), SPAN_NONE, false};
    int next = json_next(j, node);
    size_t to = next != JSON_NONE ? json_member_start(j, next) : node_end(j, node);
    return (struct splice){from, to, SPAN_NONE, false};
}

// `at` is the change's place among the changes: a later insertion into the same object follows it.
static struct splice insertion(const struct json_edit *e, size_t at)
{
    int object = e->change[at].node;
    size_t from = node_start(e->doc, object) + 1;
    bool comma = false;
    for (size_t i = at + 1; i < e->count && !comma; i++)
        comma = e->change[i].kind == JSON_INSERT && e->change[i].node == object;
    for (int n = json_first(e->doc, object); n != JSON_NONE && !comma; n = json_next(e->doc, n))
        comma = !is_deleted(e, n);
    return (struct splice){from, from, e->change[at].bytes, comma};
}

static struct splice resolve(const struct json_edit *e, size_t at)
{
    const struct json_change *c = &e->change[at];
    if (c->kind == JSON_DELETE)
        return deletion(e, c->node);
    if (c->kind == JSON_INSERT)
        return insertion(e, at);
    return (struct splice){node_start(e->doc, c->node), node_end(e->doc, c->node), c->bytes, false};
}

// By place; insertions at one place keep their order and come before what is cut there.
static void sort_in(struct splice *list, size_t count, struct splice s)
{
    size_t at = count;
    while (at > 0 && (list[at - 1].from > s.from || (list[at - 1].from == s.from &&
                                                     s.to == s.from && list[at - 1].to > s.from))) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = s;
}

int json_edit_write(const struct json_edit *e, struct buffer *out)
{
    struct splice list[JSON_EDIT_MAX];
    struct span source = json_source(e->doc);
    size_t before = buffer_size(out), at = 0;
    for (size_t i = 0; i < e->count; i++)
        sort_in(list, i, resolve(e, i));
    int rc = 0;
    for (size_t i = 0; i < e->count && rc == 0; i++) {
        if (list[i].from < at)
            rc = FAULT_INVALID;
        if (rc == 0)
            rc = buffer_append(out, span_slice(source, at, list[i].from));
        if (rc == 0)
            rc = buffer_append(out, list[i].bytes);
        if (rc == 0 && list[i].comma)
            rc = buffer_append_char(out, ',');
        at = list[i].to;
    }
    if (rc == 0)
        rc = buffer_append(out, span_slice(source, at, source.size));
    if (rc != 0)
        buffer_truncate(out, before);
    return rc;
}
