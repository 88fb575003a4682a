// SPDX-License-Identifier: Apache-2.0
// Any bytes, flattened for every provider: `check` accepts what comes out, and flattening it again
// changes nothing.
#include <stdio.h>
#include <stdlib.h>

#include "gateway/lib/json/json.h"
#include "schemas/check.h"
#include "schemas/flatten.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const struct provider *p, const char *what, struct span first, struct span second)
{
    fprintf(stderr, "%s: %s\n1: %.*s\n2: %.*s\n", p->name, what, SPAN_ARGS(first),
            SPAN_ARGS(second));
    abort();
}

static void must_be_accepted(const struct provider *p, struct span text)
{
    struct findings *found;
    struct failure why = {0};
    if (check_schema(text, p, &found, &why) != 0)
        fail(p, why.text, text, SPAN_NONE);
    if (found->refused > 0)
        for (unsigned i = 0; i < found->count; i++)
            if (found->list[i].refused)
                fail(p, found->list[i].rule.data, text, found->list[i].pointer);
    findings_free(found);
}

static void flatten_twice(struct span source, const struct provider *p,
                          const struct flatten_options *options)
{
    struct buffer first, second;
    struct failure why = {0};
    buffer_init(&first, 64 << 20);
    buffer_init(&second, 64 << 20);
    if (flatten(source, p, options, &first, NULL, &why) == 0) {
        must_be_accepted(p, buffer_span(&first));
        if (flatten(buffer_span(&first), p, options, &second, NULL, &why) != 0)
            fail(p, why.text, buffer_span(&first), SPAN_NONE);
        if (!span_equals(buffer_span(&first), buffer_span(&second)))
            fail(p, "a second flatten changes it", buffer_span(&first), buffer_span(&second));
    }
    buffer_fini(&first);
    buffer_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct flatten_options input = {.kind = SCHEMA_INPUT};
    for (size_t i = 0; provider_list[i] != NULL; i++)
        flatten_twice(span_of(data, size), provider_list[i], &input);
    return 0;
}
