// SPDX-License-Identifier: Apache-2.0
#include "schemas/flatten.h"

#include <stdlib.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"

#include "schemas/check.h"
#include "schemas/flattener.h"
#include "schemas/names.h"
#include "schemas/output_keys.h"

enum {
    RECURSION_DEPTH = 3,
    EXPANSION_LEAST = 512 * 1024, // bytes of source that references may bring in
    EXPANSION_FACTOR = 4,         // or this many times the source
    WORK_MOST = 4 * 1000 * 1000,  // keywords read
    PROPERTY_LEAST = 5,           // bytes that one takes: `"":{}`
    VALUE_LEAST = 2,              // of an enum: `1,`
    SETTLE_MOST = 4,              // runs until nothing changes
    ARENA_FIRST = 96 * 1024,      // enough for most tools
};
static const size_t arena_limit = (size_t)8 << 30; // the work limits end long before

static struct span unescaped(struct flattener *f, struct span key)
{
    struct buffer text;
    buffer_init(&text, key.size);
    (void)json_unescape(key, &text);
    struct span copy = arena_copy(f->arena, buffer_span(&text));
    buffer_fini(&text);
    return copy;
}

// Keys that stay as they are, so that none is made that is one of them.
static void take_plain_keys(struct flattener *f)
{
    for (uint32_t i = 0; f->root != NULL && i < f->root->properties.count; i++) {
        struct span key = f->root->properties.list[i].key;
        if (name_is_plain_key(key))
            flattener_keep(&f->keys_taken, key, f);
    }
}

// The key that a property gets: at the root, some providers take plain ones only.
struct span renamed_key(struct flattener *f, struct span key, struct site s)
{
    static const struct name_rule rule = {.symbols = "_.-", .longest = 64};
    if (!s.root || !f->p->property_keys || f->options->keep_keys || name_is_plain_key(key))
        return key;
    struct span *known = table_get(f->renamed, key);
    if (known != NULL)
        return *known;
    struct flatten_result *r = f->result;
    if (f->renamed == NULL)
        take_plain_keys(f);
    known = flattener_alloc(f, sizeof *known);
    struct span text = unescaped(f, key);
    for (unsigned salt = 0; span_is_absent(*known) || table_get(f->keys_taken, *known) != NULL;
         salt++)
        *known = name_make(text, &rule, salt, f->arena);
    flattener_keep(&f->keys_taken, *known, f);
    flattener_keep(&f->renamed, key, known);
    flattener_lose(f, LOSS_RENAMED, JSON_NONE, "a property key");
    if (r->rename == NULL)
        r->rename = flattener_alloc_raw(f, FLATTEN_RENAMES_MAX * sizeof *r->rename);
    if (r->rename_count < FLATTEN_RENAMES_MAX)
        r->rename[r->rename_count++] = (struct flatten_rename){text, *known};
    return *known;
}

// False where what is written is too short to break a limit of the provider's.
static bool may_break_limits(const struct provider *p, size_t size)
{
    return p->strict || p->optional_most > 0 || p->unions_most > 0 ||
           (p->properties_most > 0 && size / PROPERTY_LEAST > p->properties_most) ||
           (p->enum_most > 0 && size / VALUE_LEAST > p->enum_most) ||
           (p->text_most > 0 && size > p->text_most);
}

// Limits count over the whole schema, so they are looked at last.
static int check_limits(struct flattener *f, struct span written, struct failure *why)
{
    struct findings *found;
    if (!may_break_limits(f->p, written.size))
        return 0;
    int rc = check_schema(written, f->p, &found, why);
    if (rc == 0 && found->refused > 0) {
        struct finding first = found->list[0];
        for (unsigned i = 0; i < found->count && !first.refused; i++)
            first = found->list[i];
        rc =
            failure_set(why, FAULT_UNSUPPORTED, "%s cannot say this: at \"%.*s\": %.*s", f->p->name,
                        SPAN_ARGS(span_slice(first.pointer, 0, 200)), SPAN_ARGS(first.rule));
    }
    findings_free(found);
    return rc;
}

static int run(struct flattener *f, struct span source, struct buffer *out, struct failure *why)
{
    int rc = document_open(source, f->arena, &f->d, why);
    if (rc != 0)
        return rc;
    f->j = document_json(f->d);
    f->keyword = document_keywords(f->d);
    f->counts_items = memmem(source.data, source.size, "\"unevaluatedItems\"", 18) != NULL;
    f->unsettled = f->counts_items; // it may be gone from what comes out
    size_t expansion = source.size * EXPANSION_FACTOR;
    f->expansion_left = expansion > EXPANSION_LEAST ? expansion : EXPANSION_LEAST;
    f->work_left = WORK_MOST;
    struct node *root = lower_root(f);
    if (f->refused)
        return why != NULL ? why->fault : FAULT_UNSUPPORTED;
    size_t before = buffer_size(out);
    rc = schema_node_write(root, out);
    if (rc != 0) {
        buffer_truncate(out, before);
        return failure_set(why, FAULT_TOO_LARGE, "the flattened schema is too large");
    }
    struct span all = buffer_span(out);
    rc = check_limits(f, span_slice(all, before, all.size), why);
    if (rc != 0)
        buffer_truncate(out, before);
    return rc;
}

// One run over one source. *unsettled tells that the outcome may be simplified further.
static int flatten_once(struct span source, const struct provider *p,
                        const struct flatten_options *options, struct buffer *out,
                        struct flatten_result *r, bool *unsettled, struct failure *why)
{
    struct flattener f = {.p = p, .options = options, .arena = r->arena, .result = r, .why = why};
    int rc = run(&f, source, out, why);
    *unsettled = f.unsettled;
    document_close(f.d);
    table_free(f.definition_of);
    table_free(f.inlined);
    table_free(f.names_taken);
    table_free(f.keys_taken);
    table_free(f.renamed);
    return rc;
}

// The arena of a flattening that is over, for the next one: most need no more memory than it has.
static struct arena *spare;

static struct flatten_result *result_new(void)
{
    struct flatten_result *r = memory_new(sizeof *r);
    r->arena = spare != NULL ? spare : arena_new_sized(arena_limit, ARENA_FIRST);
    spare = NULL;
    return r;
}

// What was taken apart (a union, an allOf) may have left something simpler than it is written:
// flattened again until nothing changes.
static int settle(const struct provider *p, const struct flatten_options *options,
                  struct buffer *out, size_t before, struct failure *why)
{
    bool unsettled = true;
    int rc = 0;
    for (int i = 0; i < SETTLE_MOST && rc == 0 && unsettled; i++) {
        struct buffer next;
        struct flatten_result *r = result_new();
        struct span now = buffer_span(out);
        now = span_slice(now, before, now.size);
        buffer_init(&next, out->limit);
        rc = flatten_once(now, p, options, &next, r, &unsettled, why);
        bool same = rc == 0 && span_equals(now, buffer_span(&next));
        unsettled = !same;
        if (rc == 0 && !same) {
            buffer_truncate(out, before);
            rc = buffer_append(out, buffer_span(&next));
        }
        buffer_fini(&next);
        flatten_result_free(r);
    }
    return rc;
}

// What results.h does to results is done to the schema of results.
static int rename_output_keys(struct buffer *out, size_t before, struct failure *why)
{
    struct buffer next;
    struct span all = buffer_span(out);
    buffer_init(&next, out->limit);
    int rc = output_keys_rename(span_slice(all, before, all.size), &next);
    if (rc == 0) {
        buffer_truncate(out, before);
        rc = buffer_append(out, buffer_span(&next));
    }
    buffer_fini(&next);
    return rc == 0 ? 0 : failure_set(why, rc, "the flattened schema is too large");
}

int flatten(struct span source, const struct provider *p, const struct flatten_options *options,
            struct buffer *out, struct flatten_result **result, struct failure *why)
{
    struct failure own;
    struct flatten_options chosen = options != NULL ? *options : (struct flatten_options){0};
    if (chosen.recursion_depth == 0)
        chosen.recursion_depth = RECURSION_DEPTH;
    struct flatten_result *r = result_new();
    size_t before = buffer_size(out);
    bool unsettled;
    why = why != NULL ? why : &own;
    int rc = flatten_once(source, p, &chosen, out, r, &unsettled, why);
    bool renames = chosen.kind == SCHEMA_OUTPUT && p->plain_results;
    chosen.kind = SCHEMA_INPUT; // it is an object by now
    if (rc == 0 && unsettled)
        rc = settle(p, &chosen, out, before, why);
    if (rc == 0 && renames)
        rc = rename_output_keys(out, before, why);
    if (rc != 0)
        buffer_truncate(out, before);
    if (result != NULL)
        *result = r;
    else
        flatten_result_free(r);
    return rc;
}

void flatten_result_free(struct flatten_result *r)
{
    if (r == NULL)
        return;
    if (spare == NULL) {
        arena_reset(r->arena);
        spare = r->arena;
    } else {
        arena_free(r->arena);
    }
    free(r);
}
