// SPDX-License-Identifier: Apache-2.0
#include "workers/workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "workers/workspace/directory.h"

struct workspace {
    int root[WORKSPACE_ROOTS]; // owned, -1 for none
    bool openat2;
};

static const char *const root_names[WORKSPACE_ROOTS] = {"/workspace", "/inputs"};

static int open_root(struct workspace *ws, enum workspace_root root, const char *folder,
                     struct failure *why)
{
    ws->root[root] = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return ws->root[root] >= 0 ? 0 : failure_errno(why, "open %s", root_names[root]);
}

int workspace_open(const struct workspace_options *options, struct workspace **out,
                   struct failure *why)
{
    struct workspace *ws = memory_new(sizeof *ws);
    ws->root[WORKSPACE_MAIN] = ws->root[WORKSPACE_INPUTS] = -1;
    int rc = open_root(ws, WORKSPACE_MAIN, options->main_folder, why);
    if (rc == 0 && options->inputs_folder != NULL)
        rc = open_root(ws, WORKSPACE_INPUTS, options->inputs_folder, why);
    if (rc != 0) {
        workspace_close(ws);
        return rc;
    }
    ws->openat2 = !options->without_openat2 && directory_kernel_resolves(ws->root[WORKSPACE_MAIN]);
    *out = ws;
    return 0;
}

void workspace_close(struct workspace *ws)
{
    if (ws == NULL)
        return;
    for (int i = 0; i < WORKSPACE_ROOTS; i++)
        if (ws->root[i] >= 0)
            close(ws->root[i]);
    free(ws);
}

bool workspace_has_root(const struct workspace *ws, enum workspace_root root)
{
    return ws->root[root] >= 0;
}

const char *workspace_root_name(enum workspace_root root)
{
    return root_names[root];
}

int workspace_root_fd(const struct workspace *ws, enum workspace_root root)
{
    return ws->root[root];
}

bool workspace_uses_openat2(const struct workspace *ws)
{
    return ws->openat2;
}

// The part of an absolute path behind the root's name, absent where it lies elsewhere.
static struct span behind_root(struct span path, enum workspace_root root)
{
    struct span name = span_from_string(root_names[root]);
    if (!span_starts_with(path, name))
        return SPAN_NONE;
    struct span rest = span_slice(path, name.size, path.size);
    if (rest.size > 0 && rest.data[0] != '/')
        return SPAN_NONE;
    while (rest.size > 0 && rest.data[0] == '/')
        rest = span_slice(rest, 1, rest.size);
    return rest;
}

int workspace_path_parse(const struct workspace *ws, struct span argument,
                         struct workspace_path *out, struct failure *why)
{
    struct span rest = argument;
    out->root = WORKSPACE_MAIN;
    if (argument.size > 0 && argument.data[0] == '/') {
        rest = behind_root(argument, WORKSPACE_MAIN);
        if (span_is_absent(rest)) {
            rest = behind_root(argument, WORKSPACE_INPUTS);
            out->root = WORKSPACE_INPUTS;
        }
        if (span_is_absent(rest))
            return failure_set(why, FAULT_DENIED, "%.*s is outside /workspace and /inputs",
                               SPAN_ARGS(span_slice(argument, 0, 200)));
    }
    if (!workspace_has_root(ws, out->root))
        return failure_set(why, FAULT_NOT_FOUND, "there is no %s here", root_names[out->root]);
    if (memchr(rest.data, '\0', rest.size) != NULL)
        return failure_set(why, FAULT_INVALID, "the path has a NUL byte in it");
    if (!span_copy_string(rest, out->rest, sizeof out->rest))
        return failure_set(why, FAULT_INVALID, "the path is longer than %d bytes",
                           WORKSPACE_PATH_SIZE - 1);
    return 0;
}

void workspace_path_show(enum workspace_root root, const char *rest, char out[WORKSPACE_SHOWN_SIZE])
{
    if (root == WORKSPACE_MAIN)
        snprintf(out, WORKSPACE_SHOWN_SIZE, "%s", rest[0] != '\0' ? rest : ".");
    else
        workspace_path_canonical(root, rest, out);
}

void workspace_path_canonical(enum workspace_root root, const char *rest,
                              char out[WORKSPACE_SHOWN_SIZE])
{
    snprintf(out, WORKSPACE_SHOWN_SIZE, "%s%s%s", root_names[root], rest[0] != '\0' ? "/" : "",
             rest);
}
