// SPDX-License-Identifier: Apache-2.0
// Any bytes as a tool's result for Gemini: what comes out is JSON, is accepted, and stays.
#include <stdlib.h>

#include "gateway/lib/json/json.h"
#include "schemas/check.h"
#include "schemas/results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer first, second;
    struct findings *found;
    buffer_init(&first, 64 << 20);
    buffer_init(&second, 64 << 20);
    if (results_rewrite(span_of(data, size), &first, NULL) == 0) {
        must(check_result(buffer_span(&first), &found, NULL) == 0);
        must(found->refused == 0);
        findings_free(found);
        must(results_rewrite(buffer_span(&first), &second, NULL) == 0);
        must(span_equals(buffer_span(&first), buffer_span(&second)));
    }
    buffer_clear(&first);
    struct json *j;
    if (results_rewrite_call(span_of(data, size), true, &first, NULL) == 0) {
        must(json_parse(buffer_span(&first), NULL, &j, NULL) == 0);
        json_free(j);
    }
    buffer_fini(&first);
    buffer_fini(&second);
    return 0;
}
