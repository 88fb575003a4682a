// SPDX-License-Identifier: Apache-2.0
// The arguments of Grep as they come from a brain, run over a small workspace.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "workers/tools/tool.h"
#include "workers/workspace/workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char sample[] = "int main(void)\n{\n\treturn 0;\n}\n\xff\xfe bytes\r\n\xc3\xa4 end";

static char folder[] = "/tmp/wrist-fuzz-XXXXXX";
static char path[64];

static void remove_sample(void)
{
    unlink(path);
    rmdir(folder);
}

static struct workspace *open_sample(void)
{
    struct workspace *ws;
    const struct workspace_options options = {.main_folder = folder};
    if (mkdtemp(folder) == NULL)
        abort();
    snprintf(path, sizeof path, "%s/main.c", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, sample, sizeof sample - 1) < 0)
        abort();
    close(fd);
    if (workspace_open(&options, &ws, NULL) != 0)
        abort();
    atexit(remove_sample);
    return ws;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct workspace *ws;
    const struct json_limits limits = {.bytes = 1 << 20, .tokens = 4096, .depth = 16};
    struct json *doc;
    struct tool_result result;
    if (ws == NULL)
        ws = open_sample();
    if (json_parse(span_of(data, size), &limits, &doc, NULL) != 0)
        return 0;
    const struct tool_env env = {.workspace = ws, .clock = clock_system()};
    tool_result_init(&result);
    tool_call(tool_find(SPAN_LITERAL("Grep"), false), &env, doc, JSON_ROOT, &result);
    tool_result_fini(&result);
    json_free(doc);
    return 0;
}
