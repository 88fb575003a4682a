// SPDX-License-Identifier: Apache-2.0
//
// A workspace in a temporary folder and one reader, for tests that call tools as the worker does:
// with JSON arguments, judged by the text of the answer.
#ifndef WRIST_TESTS_UNIT_WORKERS_TOOLS_BOX_H
#define WRIST_TESTS_UNIT_WORKERS_TOOLS_BOX_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/base/table.h"
#include "workers/tools/tool.h"
#include "workers/workspace/workspace.h"

struct box {
    char folder[64]; // holds workspace/ and inputs/
    struct workspace *ws;
    struct table *reads; // canonical path → digest, owned
    bool cancelled;
    struct tool_env env;
    struct tool_result result;
};

static inline enum tool_read_state box_was_read(void *ctx, struct span path,
                                                const unsigned char digest[TOOL_DIGEST_SIZE])
{
    struct box *b = ctx;
    const void *known = table_get(b->reads, path);
    if (known == NULL)
        return TOOL_READ_NEVER;
    return memcmp(known, digest, TOOL_DIGEST_SIZE) == 0 ? TOOL_READ_CURRENT : TOOL_READ_STALE;
}

static inline void box_note_read(void *ctx, struct span path,
                                 const unsigned char digest[TOOL_DIGEST_SIZE])
{
    struct box *b = ctx;
    unsigned char *copy = memory_new(TOOL_DIGEST_SIZE);
    memcpy(copy, digest, TOOL_DIGEST_SIZE);
    free(table_get(b->reads, path));
    table_put(b->reads, path, copy);
}

static inline bool box_is_cancelled(void *ctx)
{
    return ((struct box *)ctx)->cancelled;
}

static inline void box_forget_reads(struct box *b)
{
    struct span key;
    void *value;
    for (size_t at = 0; table_next(b->reads, &at, &key, &value);) {
        table_remove(b->reads, key);
        free(value);
    }
}

static inline const char *box_path(const struct box *b, const char *name)
{
    static char path[4][8192];
    static unsigned next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", b->folder, name);
    return out;
}

static inline void box_open_workspace(struct box *b, bool without_openat2)
{
    struct workspace_options options = {
        .main_folder = box_path(b, "workspace"),
        .inputs_folder = box_path(b, "inputs"),
        .without_openat2 = without_openat2,
    };
    struct failure why = {0};
    assert_int_equal(workspace_open(&options, &b->ws, &why), 0);
    b->env.workspace = b->ws;
}

static inline int box_setup(void **state)
{
    struct box *b = memory_new(sizeof *b);
    snprintf(b->folder, sizeof b->folder, "/tmp/wrist-box-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    assert_int_equal(mkdir(box_path(b, "workspace"), 0755), 0);
    assert_int_equal(mkdir(box_path(b, "inputs"), 0755), 0);
    b->reads = table_new();
    b->env = (struct tool_env){
        .clock = clock_system(),
        .was_read = box_was_read,
        .note_read = box_note_read,
        .is_cancelled = box_is_cancelled,
        .ctx = b,
    };
    box_open_workspace(b, false);
    tool_result_init(&b->result);
    *state = b;
    return 0;
}

static inline int box_remove_entry(const char *path, const struct stat *st, int kind,
                                   struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline int box_teardown(void **state)
{
    struct box *b = *state;
    tool_result_fini(&b->result);
    workspace_close(b->ws);
    box_forget_reads(b);
    table_free(b->reads);
    nftw(b->folder, box_remove_entry, 32, FTW_DEPTH | FTW_PHYS);
    free(b);
    return 0;
}

// A file below the box's folder, its directories included.
static inline void box_put_bytes(struct box *b, const char *name, struct span content)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", box_path(b, name));
    for (char *slash = strchr(path + strlen(b->folder) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    while (content.size > 0) {
        ssize_t n = write(fd, content.data, content.size);
        assert_true(n > 0);
        content = span_slice(content, (size_t)n, content.size);
    }
    close(fd);
}

static inline void box_put(struct box *b, const char *name, const char *content)
{
    box_put_bytes(b, name, span_from_string(content));
}

// What the file holds; the caller frees. Ends with a NUL.
static inline char *box_get(struct box *b, const char *name)
{
    FILE *f = fopen(box_path(b, name), "rbe");
    if (f == NULL)
        return NULL;
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    char *content = memory_new(size + 1);
    assert_int_equal(fread(content, 1, size, f), size);
    fclose(f);
    return content;
}

static inline void box_assert_holds(struct box *b, const char *name, const char *content)
{
    char *is = box_get(b, name);
    assert_non_null(is);
    assert_string_equal(is, content);
    free(is);
}

// Calls a tool and returns the text of its answer, until the next call.
static inline const char *box_call_span(struct box *b, const char *tool, struct span args)
{
    struct failure why = {0};
    struct json *doc;
    tool_result_fini(&b->result);
    tool_result_init(&b->result);
    assert_int_equal(json_parse(args, &json_limits_default, &doc, &why), 0);
    tool_call(tool_find(span_from_string(tool)), &b->env, doc, JSON_ROOT, &b->result);
    json_free(doc);
    buffer_append_char(&b->result.text, '\0');
    return buffer_span(&b->result.text).data;
}

static inline const char *box_call(struct box *b, const char *tool, const char *args)
{
    return box_call_span(b, tool, span_from_string(args));
}

static inline void box_ok(struct box *b, const char *tool, const char *args, const char *answer)
{
    const char *text = box_call(b, tool, args);
    assert_string_equal(text, answer);
    assert_false(b->result.is_error);
}

static inline void box_refused(struct box *b, const char *tool, const char *args, const char *part)
{
    const char *text = box_call(b, tool, args);
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
    assert_true(b->result.is_error);
}

static inline void box_contains(struct box *b, const char *tool, const char *args, const char *part)
{
    const char *text = box_call(b, tool, args);
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
    assert_false(b->result.is_error);
}

#define BOX_TEST(function) cmocka_unit_test_setup_teardown(function, box_setup, box_teardown)

#endif
