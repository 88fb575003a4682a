// SPDX-License-Identifier: Apache-2.0
// Flattens files again and again: bench PROVIDER FILE... Prints bytes of output, CPU seconds, runs.
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

static int read_file(const char *path, struct buffer *in)
{
    char *room;
    size_t got = 1;
    FILE *file = fopen(path, "rb");
    while (file != NULL && got > 0) {
        if (buffer_reserve(in, 65536, &room) != 0)
            break;
        got = fread(room, 1, 65536, file);
        buffer_commit(in, got);
    }
    if (file == NULL || got > 0)
        return 1;
    return fclose(file);
}

// As the gateway does it: what a strict mode refuses is for the mode without.
static int flatten_one(struct span source, const struct provider *p, struct buffer *out)
{
    struct failure why = {0};
    buffer_clear(out);
    int rc = flatten(source, p, NULL, out, NULL, &why);
    if (rc == FAULT_UNSUPPORTED && p->otherwise != NULL)
        rc = flatten(source, p->otherwise, NULL, out, NULL, &why);
    if (rc != 0)
        fprintf(stderr, "%s\n", why.text);
    return rc;
}

int main(int argc, char **argv)
{
    const struct provider *p = argc > 2 ? provider_find(span_from_string(argv[1])) : NULL;
    size_t bytes = 0, count = (size_t)argc - 2;
    struct buffer out, *in = p != NULL ? calloc(count, sizeof *in) : NULL;
    if (in == NULL)
        return 2;
    for (size_t i = 0; i < count; i++) {
        buffer_init(&in[i], 64 << 20);
        if (read_file(argv[i + 2], &in[i]) != 0)
            return 2;
    }
    buffer_init(&out, 256 << 20);
    double start = cpu_seconds(), used = 0;
    int runs = 0;
    for (; used < 0.3 || runs < 3; runs++, used = cpu_seconds() - start)
        for (size_t i = 0; i < count; i++) {
            if (flatten_one(buffer_span(&in[i]), p, &out) != 0)
                return 1;
            bytes += buffer_size(&out);
        }
    printf("%zu %.6f %d\n", bytes, used, runs);
    return 0;
}
