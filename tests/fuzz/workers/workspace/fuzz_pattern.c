// SPDX-License-Identifier: Apache-2.0
// A pattern, a line end, a path.
#include "workers/workspace/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pattern_set set;
    struct span path = span_of(data, size);
    struct span pattern = span_split(&path, '\n');
    if (span_is_absent(path))
        path = SPAN_LITERAL("src/main.c");
    pattern_matches(pattern, path);
    if (pattern_set_parse(pattern, &set, NULL) == 0)
        pattern_set_matches(&set, path);
    pattern_set_fini(&set);
    return 0;
}
