// SPDX-License-Identifier: Apache-2.0
// One reader who calls tools in a box as the worker does: with JSON arguments, judged by the text
// of the answer.
#ifndef WRIST_TESTS_UNIT_WORKERS_TOOLS_CALLER_H
#define WRIST_TESTS_UNIT_WORKERS_TOOLS_CALLER_H

#include "tests/unit/workers/workspace/box.h"

#include "gateway/lib/base/table.h"
#include "workers/tools/tool.h"

struct caller {
    struct table *reads; // canonical path → digest, owned
    bool cancelled;
    struct tool_env env;
    struct tool_result result;
};

static inline enum tool_read_state caller_was_read(void *ctx, struct span path,
                                                   const unsigned char digest[TOOL_DIGEST_SIZE])
{
    const struct caller *c = ctx;
    const void *known = table_get(c->reads, path);
    if (known == NULL)
        return TOOL_READ_NEVER;
    return memcmp(known, digest, TOOL_DIGEST_SIZE) == 0 ? TOOL_READ_CURRENT : TOOL_READ_STALE;
}

static inline void caller_note_read(void *ctx, struct span path,
                                    const unsigned char digest[TOOL_DIGEST_SIZE])
{
    struct caller *c = ctx;
    unsigned char *copy = memory_new(TOOL_DIGEST_SIZE);
    memcpy(copy, digest, TOOL_DIGEST_SIZE);
    free(table_get(c->reads, path));
    table_put(c->reads, path, copy);
}

static inline bool caller_is_cancelled(void *ctx)
{
    return ((struct caller *)ctx)->cancelled;
}

static inline int caller_setup(void **state)
{
    struct caller *c = memory_new(sizeof *c);
    box_setup(state);
    ((struct box *)*state)->caller = c;
    c->reads = table_new();
    c->env = (struct tool_env){
        .clock = clock_system(),
        .was_read = caller_was_read,
        .note_read = caller_note_read,
        .snapshots_fd = -1,
        .is_cancelled = caller_is_cancelled,
        .ctx = c,
    };
    tool_result_init(&c->result);
    return 0;
}

static inline int caller_teardown(void **state)
{
    struct caller *c = ((struct box *)*state)->caller;
    struct span key;
    void *value;
    for (size_t at = 0; table_next(c->reads, &at, &key, &value);)
        free(value);
    table_free(c->reads);
    tool_result_fini(&c->result);
    free(c);
    return box_teardown(state);
}

// Calls a tool and returns the text of its answer, until the next call.
static inline const char *box_call_span(struct box *b, const char *tool, struct span args)
{
    struct failure why = {0};
    struct json *doc;
    b->caller->env.workspace = b->ws;
    tool_result_fini(&b->caller->result);
    tool_result_init(&b->caller->result);
    assert_int_equal(json_parse(args, &json_limits_default, &doc, &why), 0);
    tool_call(tool_find(span_from_string(tool), false), &b->caller->env, doc, JSON_ROOT,
              &b->caller->result);
    json_free(doc);
    buffer_append_char(&b->caller->result.text, '\0');
    return buffer_span(&b->caller->result.text).data;
}

static inline const char *box_call(struct box *b, const char *tool, const char *args)
{
    return box_call_span(b, tool, span_from_string(args));
}

static inline void box_ok(struct box *b, const char *tool, const char *args, const char *answer)
{
    const char *text = box_call(b, tool, args);
    assert_string_equal(text, answer);
    assert_false(b->caller->result.is_error);
}

static inline void box_refused(struct box *b, const char *tool, const char *args, const char *part)
{
    const char *text = box_call(b, tool, args);
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
    assert_true(b->caller->result.is_error);
}

static inline void box_contains(struct box *b, const char *tool, const char *args, const char *part)
{
    const char *text = box_call(b, tool, args);
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
    assert_false(b->caller->result.is_error);
}

#define CALLER_TEST(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, caller_setup, caller_teardown)

#endif
