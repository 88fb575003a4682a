// SPDX-License-Identifier: Apache-2.0
// Flattens one file again and again: bench PROVIDER FILE. Prints bytes of output, CPU seconds,
// runs.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "schemas/flatten.h"

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct buffer in, out;
    char *room;
    size_t bytes = 0, got;
    if (argc != 3)
        return 2;
    const struct provider *p = provider_find(span_from_string(argv[1]));
    FILE *file = fopen(argv[2], "rb");
    if (p == NULL || file == NULL)
        return 2;
    buffer_init(&in, 64 << 20);
    buffer_init(&out, 256 << 20);
    do {
        if (buffer_reserve(&in, 65536, &room) != 0)
            return 1;
        got = fread(room, 1, 65536, file);
        buffer_commit(&in, got);
    } while (got > 0);
    double start = cpu_seconds(), used = 0;
    int runs = 0;
    for (; used < 1 || runs < 3; runs++, used = cpu_seconds() - start) {
        struct failure why = {0};
        buffer_clear(&out);
        if (flatten(buffer_span(&in), p, NULL, &out, NULL, &why) != 0) {
            fprintf(stderr, "%s\n", why.text);
            return 1;
        }
        bytes += buffer_size(&out);
    }
    printf("%zu %.6f %d\n", bytes, used, runs);
    return 0;
}
