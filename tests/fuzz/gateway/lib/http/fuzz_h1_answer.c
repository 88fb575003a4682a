// SPDX-License-Identifier: Apache-2.0
// The parser as the client uses it, on an answer cut into pieces.
#include <stdlib.h>
#include <string.h>

#include "gateway/lib/http/h1_parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct answer {
    struct h1_parser parser;
    struct arena *arena;
    bool done;
};

static void take(struct answer *a, enum h1_event event)
{
    struct h1_head head;
    if (event == H1_HEAD && h1_parser_take_head(&a->parser, a->arena, &head) == 0) {
        for (size_t i = 0; i < head.header_count; i++)
            if (head.headers[i].name.size == 0)
                abort(); // a header always has a name
    } else if (event == H1_END) {
        h1_parser_next(&a->parser);
        arena_reset(a->arena);
    } else if (event == H1_BAD) {
        if (a->parser.error.status < 400 || a->parser.error.text == NULL)
            abort();
        a->done = true;
    }
}

static void feed(struct answer *a, char *bytes, size_t size)
{
    for (int rounds = 0; !a->done && rounds < 10000; rounds++) {
        size_t used;
        enum h1_event event = h1_parser_step(&a->parser, bytes, size, &used);
        if (used > size)
            abort();
        bytes += used;
        size -= used;
        take(a, event);
        if (event == H1_MORE || (event == H1_END && size == 0))
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct h1_limits limits = {4096, 20};
    struct answer a = {.arena = arena_new(64 * 1024)};
    if (size > 0 && size < 256 * 1024) {
        size_t piece = data[0] < 128 ? (size_t)data[0] + 1 : size;
        h1_parser_init(&a.parser, HTTP_RESPONSE, &limits);
        a.parser.bodyless = data[0] == 255;
        for (size_t at = 1; at < size && !a.done; at += piece) {
            size_t n = size - at < piece ? size - at : piece;
            char *copy = malloc(n); // exact, so that ASan sees what lies past it
            memcpy(copy, data + at, n);
            feed(&a, copy, n);
            free(copy);
        }
        if (!a.done)
            h1_parser_finish(&a.parser);
        h1_parser_fini(&a.parser);
    }
    arena_free(a.arena);
    return 0;
}
