// SPDX-License-Identifier: Apache-2.0
// A workspace and inputs in a temporary folder, with room beside them for what must stay outside.
#ifndef WRIST_TESTS_UNIT_WORKERS_WORKSPACE_BOX_H
#define WRIST_TESTS_UNIT_WORKERS_WORKSPACE_BOX_H

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
#include "workers/workspace/workspace.h"

struct box {
    char folder[64]; // holds workspace/, inputs/ and whatever else a test puts there
    struct workspace *ws;
    struct caller *caller; // owned; only for tests of tools (tests/unit/workers/tools/caller.h)
};

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
}

static inline int box_setup(void **state)
{
    struct box *b = memory_new(sizeof *b);
    snprintf(b->folder, sizeof b->folder, "/tmp/wrist-box-XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    assert_int_equal(mkdir(box_path(b, "workspace"), 0755), 0);
    assert_int_equal(mkdir(box_path(b, "inputs"), 0755), 0);
    box_open_workspace(b, false);
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
    workspace_close(b->ws);
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

#define BOX_TEST(function) cmocka_unit_test_setup_teardown(function, box_setup, box_teardown)

#endif
