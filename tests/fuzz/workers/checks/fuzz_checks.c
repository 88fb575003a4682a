// SPDX-License-Identifier: Apache-2.0
// What tools print, through every parser: the first byte says in what pieces it comes.
#include "workers/checks/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct parser *const parsers[] = {&parser_gotest,    &parser_junit,
                                                   &parser_cargo,     &parser_diagnostics,
                                                   &parser_lint_json, &parser_summary};
    if (size < 2)
        return 0;
    size_t piece = (size_t)data[0] + 1;
    for (size_t i = 0; i < sizeof parsers / sizeof parsers[0]; i++) {
        struct report r;
        report_init(&r);
        void *state = parsers[i]->make(&r);
        for (struct span rest = span_of(data + 1, size - 1); rest.size > 0;
             rest = span_slice(rest, piece, rest.size))
            parsers[i]->feed(state, span_slice(rest, 0, piece));
        parsers[i]->finish(state);
        report_fini(&r);
    }
    return 0;
}
