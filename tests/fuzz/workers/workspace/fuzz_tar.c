// SPDX-License-Identifier: Apache-2.0
// The first byte is the size of the pieces, the rest the stream.
#include "workers/workspace/tar.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t left; // of the file that is being read

static int member(void *ctx, const struct tar_member *m, struct failure *why)
{
    (void)ctx;
    (void)why;
    if (left != 0 || memchr(m->path.data, '\0', m->path.size) != NULL)
        abort();
    left = m->kind == TAR_FILE ? m->size : 0;
    return 0;
}

static int content(void *ctx, struct span bytes, struct failure *why)
{
    (void)ctx;
    (void)why;
    if (bytes.size > left)
        abort();
    left -= bytes.size;
    return 0;
}

static int end(void *ctx, struct failure *why)
{
    (void)ctx;
    (void)why;
    if (left != 0)
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tar_ops ops = {member, content, end};
    struct failure why;
    if (size == 0)
        return 0;
    size_t piece = data[0] == 0 ? size : data[0];
    struct span rest = span_of(data + 1, size - 1);
    struct tar *t = tar_new(&ops, NULL);
    int rc = 0;
    left = 0;
    while (rc == 0 && rest.size > 0) {
        rc = tar_feed(t, span_slice(rest, 0, piece), &why);
        rest = span_slice(rest, piece, rest.size);
    }
    if (rc == 0)
        tar_finish(t, &why);
    tar_free(t);
    return 0;
}
