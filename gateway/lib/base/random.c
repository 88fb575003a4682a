// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "gateway/lib/base/encode.h"

void random_bytes(void *out, size_t size)
{
    char *at = out;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort();
        at += got;
        size -= (size_t)got;
    }
}

void id_new(char out[ID_SIZE])
{
    unsigned char bytes[16];
    random_bytes(bytes, sizeof bytes);
    hex_encode(span_of(bytes, sizeof bytes), out);
}

void id_next(struct id_series *s, char out[ID_SIZE])
{
    unsigned char bytes[8];
    if (s->start[0] == '\0') {
        random_bytes(bytes, sizeof bytes);
        hex_encode(span_of(bytes, sizeof bytes), s->start);
    }
    memcpy(out, s->start, sizeof s->start - 1);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(s->next >> (56 - 8 * i));
    s->next++;
    hex_encode(span_of(bytes, sizeof bytes), out + sizeof s->start - 1);
}
