// SPDX-License-Identifier: Apache-2.0
// A path, a line end, the text of a .gitignore.
#include "workers/workspace/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of(data, size);
    struct span path = span_split(&text, '\n');
    if (span_is_absent(text))
        return 0;
    struct ignore *outer = ignore_push_text(NULL, text, 0);
    struct ignore *inner = ignore_push_text(outer, text, path.size < 3 ? path.size : 3);
    ignore_covers(inner, path, false);
    ignore_covers(inner, path, true);
    ignore_pop(inner, NULL);
    return 0;
}
